"""What results of ARC are grouped by, and what feedback gained."""

import json

import pytest

from evaluator.arc.columns import FACETS, labels
from evaluator.core.turns import TurnResponse
from tests.evaluator.arc.small import MIRROR, TASK, evaluator, judged
from tests.evaluator.episodes.turns.toy import Answers

SAME = "def transform_grid(grid):\n    return grid"
FAILS = "def transform_grid(grid):\n    return vertical_flip(grid)[9]"


def played(*responses):
    left = list(responses)
    with evaluator() as made:
        (record,) = made.run(planner=Answers(lambda _: left.pop(0)), tasks=[TASK.key])
    return record


def tries(*programs, tool="Program"):
    name_of_input = {"Program": "program", "View": "view"}[tool]
    steps = [
        {"id": f"s{place}", "tool": tool, "inputs": {name_of_input: program}, "outputs": {"x": name}}
        for place, (name, program) in enumerate(programs)
    ]
    return TurnResponse(steps=steps)


def test_a_solution_after_a_failed_try_is_a_gain_by_feedback():
    record = played(tries(("R1", SAME)), tries(("R2", MIRROR)), TurnResponse(answer="R2"))
    assert record.indicators["by_feedback"] == 1.0
    assert labels(record)["reached"] == ["solved_by_feedback"]


@pytest.mark.parametrize(
    "responses",
    [
        [tries(("R1", MIRROR)), tries(("R2", SAME)), TurnResponse(answer="R2, R1")],
        [tries(("R1", SAME), ("R2", MIRROR)), TurnResponse(answer="R1, R2")],
        [TurnResponse(actions="R1 = horizontal_flip(INPUT); R2 = vertical_flip(R1)"), TurnResponse(answer="R1")],
        [tries(("R1", MIRROR + "  # " + "x" * 5000)), TurnResponse(answer="R1")],
    ],
    ids=["first", "same turn", "steps", "long"],
)
def test_a_solution_from_the_first_tries_is_none(responses):
    record = played(*responses)
    assert (record.score, record.indicators["by_feedback"]) == (1.0, 0.0)
    assert labels(record)["reached"] == ["solved"]


def test_labels_name_helpers_views_and_errors():
    record = played(
        tries(("R1", "objects_diag, more_info"), tool="View"), tries(("R2", FAILS)), TurnResponse(answer="R2")
    )
    assert labels(record) == {
        "reached": ["nowhere"], "failure": ["error"], "helper": ["vertical_flip"], "view": ["objects_diag"],
    }  # fmt: skip
    assert set(labels(record)) <= {facet.name for facet in FACETS.filters}


def test_views_of_the_agents_that_wrote_an_answer_count():
    agents = [
        {"view": "objects_diag+pixels", "replies": [{"program": SAME}, {"program": MIRROR}]},
        {"view": "objects", "replies": [{"program": SAME}]},
        {"view": "objects_by_row", "replies": "nonsense"},
    ]
    record = judged(MIRROR).model_copy(update={"planner_notes": {"agents": agents}})
    assert labels(record)["view"] == ["grid", "objects_diag", "pixels"]


@pytest.mark.parametrize("answer", ["{", "7", "[1]", json.dumps([{"content": None, "tests": 7}]), None])
def test_no_record_is_refused(answer):
    record = judged(MIRROR)
    transcript = record.transcripts[0].model_copy(update={"answer": answer})
    found = labels(record.model_copy(update={"transcripts": [transcript], "planner_notes": {"agents": [3, {}]}}))
    assert not {"helper", "failure"} & set(found)
    assert labels(record.model_copy(update={"transcripts": []})) == {}
