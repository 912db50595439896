"""Turns against a real HTTP server: what is sent, what is tried again, and what is a planner's fault."""

import json

import pytest

from evaluator.core.records import Outcome, Reason
from evaluator.core.transcripts import StopReason
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from tests.evaluator.episodes.turns.toy import evaluator
from tests.evaluator.planners.test_endpoint import endpoint, planner


def body(**answer: object) -> tuple[int, bytes]:
    return 200, json.dumps(answer).encode()


def run(url: str, **options: object):
    (record,) = evaluator().run(planner=planner(url, **options), tasks=["4"])
    return record


def test_an_endpoint_that_acts_in_turns_is_asked_until_it_answers():
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    with endpoint(body(actions="R1 = Add(4, 4)", usage=usage), body(answer="R1", usage=usage)) as (url, seen):
        record = run(url)
    assert (record.outcome, record.score) == (Outcome.SCORED, 1.0)
    assert record.planner is not None
    assert record.planner.prompt_tokens == 10
    first, second = seen
    assert first["version"] == "planner/1"
    assert (first["role"], first["formulation"], first["history"]) == ("joint", "integrated", [])
    assert first["limits"]["turns_left"] == first["limits"]["turns"]
    assert second["history"][0]["feedback"] == "R1 = 8"
    assert first["task"]["request"] == "What is twice 4?"


def test_an_endpoint_that_cannot_be_reached_is_no_fault_of_the_planner():
    with endpoint(body(actions="R1 = Add(4, 4)"), (503, b"")) as (url, _):
        record = run(url)
    assert (record.outcome, record.reason) == (Outcome.INFRA_FAULT, Reason.ENDPOINT_UNAVAILABLE)
    assert record.transcripts[0].turns[0].actions[0].outputs == {"R1": "8"}


def test_an_endpoint_of_whole_plans_goes_on_working():
    with endpoint(body(plan="R1 = Add(2, 2); R2 = Add(R1, 4)", reason="", alternatives=[])) as (url, seen):
        record = run(url)
    assert len(seen) == 1
    assert (record.score, record.transcripts[0].stop) == (1.0, StopReason.COMPLETED)


def test_a_turn_whose_answer_was_lost_is_asked_again_with_the_same_key():
    answers = (503, b""), body(actions="R1 = Add(4, 4)"), (503, b""), (503, b""), body(stop=True)
    with endpoint(*answers) as (url, seen):
        record = run(url)
    keys = [request["key"] for request in seen]
    assert record.score == 1.0
    assert (keys[0], keys[2]) == (keys[1], keys[4])
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (body(), "a turn is answered with one of stop, subgoal"),
        (body(plan=None, answer=None), "this answer has none of them"),
        (body(actions=["R1"]), "actions: "),
        ((200, b"R1 = Add(4, 4)"), "is not JSON"),
    ],
)
def test_an_answer_that_is_no_turn_is_the_planners_fault(answer: tuple[int, bytes], message: str):
    with endpoint(answer) as (url, _):
        record = run(url)
    assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, Reason.INVALID_RESPONSE)
    assert message in record.reason_text


def test_a_null_plan_alone_abstains_and_its_reason_is_kept():
    with endpoint(body(plan=None, reason="No tool adds.")) as (url, seen):
        record = run(url)
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, Reason.ABSTAINED, 0.0)
    assert record.plan_received == {"plan": None, "reason": "No tool adds."}
    assert len(seen) == 1


def test_a_secret_that_is_repeated_stays_out_of_the_transcript():
    secret = "Bearer abcdefgh-very-secret"
    for answer in (body(answer=secret), (400, secret.encode())):
        with endpoint(answer) as (url, _):
            settings = EndpointSettings(url=url, allow_private=True, header=SecretHeader("Authorization", secret))
            (record,) = evaluator().run(planner=EndpointPlanner(settings), tasks=["4"])
        assert "very-secret" not in record.model_dump_json()


def test_an_endpoint_that_plans_and_grounds_in_turn_says_so_in_its_first_answer():
    answers = (
        body(formulation="iterative", text="Subgoal 1: Add."), body(actions="R1 = Add(4, 4)"), body(stop=True),
    )  # fmt: skip
    with endpoint(*answers) as (url, seen):
        record = run(url)
    said = [(one["formulation"], one["role"], one["subgoals"]) for one in seen]
    assert said == [
        ("integrated", "joint", []), ("iterative", "ground", ["Add."]), ("iterative", "plan", []),
    ]  # fmt: skip
    assert (record.score, record.transcripts[0].formulation) == (1.0, "iterative")
    assert [turn.subgoals for turn in record.transcripts[0].turns] == [["Add."], []]


def test_an_endpoint_that_plans_in_one_pass_gets_all_its_subgoals_to_ground():
    answers = body(formulation="onepass", subgoals=["Add.", "Answer."]), body(actions="R1 = Add(4, 4)")
    with endpoint(*answers) as (url, seen):
        record = run(url)
    assert [(one["formulation"], one["role"]) for one in seen] == [("integrated", "joint"), ("onepass", "ground")]
    assert seen[1]["subgoals"] == ["Add.", "Answer."]
    assert (record.score, record.transcripts[0].stop) == (1.0, StopReason.COMPLETED)


def test_a_formulation_that_nobody_knows_is_named():
    with endpoint(body(formulation="backwards", stop=True)) as (url, _):
        record = run(url)
    assert record.reason is Reason.INVALID_RESPONSE
    assert "formulation: Input should be 'onepass', 'iterative' or 'integrated'." in record.reason_text
