"""The planners that a site runs for anybody: nothing among them needs a network, and no other name is taken."""

import pytest

from evaluator.planners.bundled import bundled_names
from evaluator.planners.language_models.shipped import shipped_folder, shipped_names
from evaluator.planners.offline import offline_planner, offline_planners
from evaluator.planners.strategies.registry import PlannerNameError, strategies
from evaluator.suites import suite_of


def test_they_are_the_bundled_ones_and_the_strategies_that_need_no_model():
    found = offline_planners()
    without = {name for name, entry in strategies().items() if not entry.needs}
    assert "controlllm/adaptive" in without
    assert {*bundled_names(), *without} <= found.keys()
    assert all(planner.description and planner.group for planner in found.values())


@pytest.mark.parametrize(
    "name", ["hugginggpt:chat:http://127.0.0.1/v1#m", "controlllm/greedy:dir:/etc", "hugginggpt", "", "silver"]
)
def test_other_names_are_refused_whatever_they_name(name):
    with pytest.raises(PlannerNameError, match="there is no bundled planner"):
        offline_planner(name=name, suite=suite_of("toolmini"))


def test_a_suite_that_a_planner_does_not_understand_is_refused():
    with pytest.raises(PlannerNameError, match="does not understand requests of openagi"):
        offline_planner(name="controlllm/adaptive", suite=suite_of("openagi"))


def test_a_shipped_language_model_is_offered_with_the_strategies_that_it_was_trained_for():
    # Not twice under the bare name and the variant's that it stands for.
    shipped = {shipped_folder(name): name for name in reversed(shipped_names()) if shipped_folder(name).is_dir()}
    wanted = {f"openagi/{strategy}:{model}" for strategy in ("constrained", "nonlinear") for model in shipped.values()}
    assert {name for name in offline_planners() if ":" in name and not name.startswith("lumos/")} == wanted
