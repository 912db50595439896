"""The threshold of the adaptive strategy, scores that depend on the step, and what the solution expert is asked."""

import json
from functools import partial

import pytest

from evaluator.controlllm.benchmarks import measure_search
from evaluator.controlllm.strategies import ranking
from evaluator.controlllm.strategies.planning import plan_by_asking, plan_offline
from evaluator.controlllm.strategies.search import SearchStep, adaptive, exhaustive
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM
from evaluator.core.suites.registry import suite_of
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from tests.evaluator.controlllm.strategies.tog_factories import ALL, TOOLBOX, converse, kinds, subtask, tools

HIGHLIGHT = subtask(
    "Detect all objects, select the boxes of the otter, draw them.",
    domains=("image-perception", "image-editing"), returns="image", image="river.png", text="otter",
)  # fmt: skip

MASK = subtask("Segment the otter and select its mask.", returns="mask", image="river.png", text="otter")


def paths(planned):
    return {tuple(tool.name for tool in path) for path in planned.searching.result.paths}


def test_a_lower_threshold_finds_what_a_higher_one_finds_and_more():
    found = [
        paths(plan_offline(subtasks=[HIGHLIGHT], toolbox=TOOLBOX, choose=AdaptiveControlLLM(option=least).choose())[0])
        for least in ("1", "2", "3")
    ]
    assert found[0] > found[2]
    assert found[0] >= found[1] >= found[2]
    everything = plan_offline(subtasks=[HIGHLIGHT], toolbox=TOOLBOX, choose=exhaustive)[0]
    assert found[0] == paths(everything)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("controlllm/adaptive@", "must be followed by options: threshold=3"),
        ("controlllm/adaptive@0", "threshold is '0': it must be a number from 1 to 5"),
        ("controlllm/adaptive@nan", "threshold is 'nan'"),
        ("controlllm/adaptive@three", "threshold is 'three'"),
        ("controlllm/beam@3", "controlllm/beam has no option: leave '@3' out"),
        ("controlllm/adaptiv@3", "did you mean 'controlllm/adaptive'?"),
    ],
)
def test_what_is_no_threshold_is_refused(name, sentence):
    with pytest.raises(PlannerNameError) as error:
        planner_named(name=name, suite=suite_of("toolmini"))
    assert sentence in str(error.value)


@pytest.mark.full
def test_the_ablation_has_a_row_and_a_column_for_each_threshold():
    report = measure_search(
        suite=suite_of("toolmini"), gold=False, strategies=("beam", "adaptive"), thresholds=(2, 3, 3.5)
    )
    assert {name: row.threshold for name, row in report.figures.items()} == {
        "beam": None, "adaptive@2": 2, "adaptive": 3, "adaptive@3.5": 3.5,
    }  # fmt: skip
    rates = {name: row.indicators["SE"] for name, row in report.figures.items()}
    assert rates["adaptive@2"] >= rates["adaptive"] >= rates["adaptive@3.5"]


# --- scores that depend on the step -------------------------------------------------------------------------------


def at(*path: str, idle=(), missing=()):
    return SearchStep(path=tools(*path), idle=frozenset(kinds(*idle)), missing=frozenset(kinds(*missing)))


def test_at_a_node_a_tool_that_closes_the_gap_of_types_becomes_a_candidate():
    scores = {tool.name: 2.0 for tool in ALL} | {"image_cropping": 4.5}
    step = at("object_detection", idle=("bbox",), missing=("image",))
    found = ranking.assess_step(step, scores=scores, tools=ALL)
    assert found["highlight_object_on_image"] == ranking.CLOSES_THE_GAP
    assert found["image_cropping"] == 4.5
    assert found["text_to_image"] == 2.0


# --- what the solution expert is asked ----------------------------------------------------------------------------


def judged_by_model(choose):
    """The solutions that a model is asked about."""
    asked = []

    def answer(call):
        if call.messages[0].content.startswith("You judge"):
            asked.append(call.messages[-1].content.split("Solution:\n")[1])
        return json.dumps({"thought": "t", "score": 3})

    (planned,), rounds = converse(plan_by_asking(request="r", subtasks=[MASK], toolbox=TOOLBOX, choose=choose), answer)
    return asked, planned, rounds


def test_the_exhaustive_strategy_has_all_solutions_judged_in_one_round():
    asked, planned, rounds = judged_by_model(exhaustive)
    assert len(asked) == len(planned.searching.result.paths) > ranking.MOST_JUDGED
    assert planned.judged == planned.notes()["solutions_judged"] == len(asked)
    assert len(asked) == len(set(asked)) == len(rounds[0])


def test_the_others_have_15_judged():
    asked, planned, _ = judged_by_model(partial(adaptive, least=1))
    assert len(planned.searching.result.paths) > ranking.MOST_JUDGED
    assert len(asked) == planned.judged == ranking.MOST_JUDGED
