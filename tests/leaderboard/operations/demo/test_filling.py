"""What the demo puts on the boards of all suites."""

import io

import pytest
from rich.console import Console

from evaluator.core.suites.registry import suite_of
from evaluator.planners.bundled import BUNDLED, each_once
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.operations.demo import starting
from leaderboard.operations.management.commands.demo import names_for
from leaderboard.planners.data import NAME
from tests.leaderboard.planning import REAL


def test_without_a_choice_each_board_has_its_anchors_once_and_chosen_ones_are_where_they_are_anchors():
    floors = ["gold-minus-one", "parrot", "ask-everything"]
    for suite, own in (("openagi", []), ("toolmini", floors), ("lumos-mini", ["majority"]), ("svamp", ["last-number"])):
        assert names_for(suite=suite, chosen=()) == ["gold", "random-valid", "no-op", *own] == list(each_once(suite))
    assert names_for(suite="openagi", chosen=["no-op", "parrot"]) == ["no-op"]
    assert names_for(suite="toolmini", chosen=["no-op", "parrot"]) == ["no-op", "parrot"]


def test_two_strategies_join_the_anchors_unless_all_planners_are_anchors():
    for suite in ("openagi", "toolmini", "toolworld", "lumos-mini", "openagi-turns", "toolworld-turns"):
        found = starting.strategies_of(suite)
        assert len(set(found)) == starting.STRATEGIES
        assert not BUNDLED.keys() & set(found)
    assert starting.strategies_of("toolmini") == ["controlllm/greedy", "controlllm/trained"], "cheapest first"
    assert starting.strategies_of("arc-mini") == []
    assert {"identity", "arc-search"} < set(each_once("arc-mini"))


def filled() -> list[tuple[str, str]]:
    return list(Evaluation.objects.order_by("created").values_list("suite__slug", "submission__planner__name"))


@pytest.mark.django_db
def test_cheap_boards_get_a_ranked_planner_and_gold_plans_first_and_the_rest_follows_by_its_cost(settings, launcher):
    """As the demo does it, with the longest names of strategies."""
    settings.EVALUATOR, settings.SAMPLES = REAL, 12
    slugs = ("toolworld", "toolmini-abstain", "lumos-mini", "openagi", "toolmini", "arc-mini")
    for slug in slugs:
        register_suite(suite_of(slug))
    suites = list(Suite.objects.filter(current=True))
    starting.fill_boards(console=Console(file=io.StringIO(), width=200), suites=suites)
    order = filled()
    assert order[:6] == [
        ("toolmini", "controlllm/greedy"), ("toolmini", "gold"),
        ("toolmini-abstain", "controlllm/greedy"), ("toolmini-abstain", "gold"),
        ("openagi", "gold"), ("openagi", "openagi/nonlinear:lilliput-planner/finetuned"),
    ]  # fmt: skip
    assert {suite for suite, _ in order[-5:]} == {"toolworld"}
    costs = [entry.seconds for entry in starting.queue_order(suites)]
    assert costs[6:] == sorted(costs[6:])
    assert "lumos/iterative" in {name for _, name in order}
    assert all(len(name) <= NAME.longest for _, name in order)


@pytest.mark.django_db
class TestFilling:
    @pytest.fixture(autouse=True)
    def suites(self, settings, launcher):
        settings.EVALUATOR = REAL
        for slug in ("openagi", "toolmini"):
            register_suite(suite_of(slug))

    def fill(self) -> str:
        output = io.StringIO()
        self.evaluations = starting.fill_boards(
            console=Console(file=output, width=200), suites=list(Suite.objects.filter(current=True))
        )
        return output.getvalue()

    def test_each_suite_gets_them_once(self):
        self.fill()
        wanted = {
            (suite, name)
            for suite in ("toolmini", "openagi")
            for name in (*each_once(suite), *starting.strategies_of(suite))
        }
        assert len(filled()) == len(wanted)
        assert set(filled()) == wanted
        first = self.evaluations
        self.fill()
        assert self.evaluations == first

    def test_a_suite_that_is_not_ready_is_named_and_left_out(self, monkeypatch):
        submit = starting.submit_anchors

        def refuse(*, suite, names):
            if suite == "toolmini":
                raise NotReadyError(suite=suite, why="no model")
            return submit(suite=suite, names=names)

        monkeypatch.setattr(starting, "submit_anchors", refuse)
        assert "toolmini is left out" in self.fill()
        assert set(Evaluation.objects.values_list("suite__slug", flat=True)) == {"openagi"}
