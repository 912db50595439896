"""Whoever runs a worker of their own can send anything: what no evaluator makes is refused or left out."""

import json
from typing import Any

import pytest
from django.test import Client

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, TaskResult
from leaderboard.operations.models import ToolUsage
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers import finishing, logs
from tests.leaderboard.factories import make_lease, make_record, make_submission
from tests.leaderboard.platform.api.helpers import ApiClient, lease_request, worker_client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
URL = "https://planner.example.org/secret/path"


def leased(**planner: Any) -> tuple[dict, ApiClient, str]:
    evaluation = make_submission(**planner).evaluations.get()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.LAUNCHING)
    told = worker_client().post("worker/lease/", lease_request()).json()
    return told, ApiClient(told["token"]), f"worker/attempts/{told['attempt']}/"


def sent(change: dict[str, Any], *, by: tuple[dict, ApiClient, str] | None = None):
    """The answer to results of which the first has this change, of a new lease unless one is given."""
    told, worker, path = by or leased()
    results = [make_record(task, suite=told["suite"]).model_dump(mode="json") for task in told["tasks"]]
    results[0] |= change
    return worker.post_bytes(f"{path}results/", json.dumps({"results": results}).encode(), "application/json")


SAMPLE: dict[str, Any] = {"index": 0, "score": 0.5, "inputs": {}, "reference": None, "answer": None, "steps": []}
STEP: dict[str, Any] = {
    "step": "s1", "tool": "A", "expert": "e", "key": "k", "inputs": {}, "outputs": {}, "cached": False, "seconds": -1.0,
}  # fmt: skip
ANSWER: dict[str, Any] = {"metric": "BERT", "score": 7.0, "reference": None, "answer": None}


ODD = [
    ({"plan": {"steps": [{"tool": "A"}], "answers": []}}, "`plan` is not a plan/1: steps.0.id"),
    ({"plan": ["A"]}, "`plan` is not a plan/1"),
    ({"plan": {"steps": [{"id": "a", "tool": "A", "inputs": {"x": 1}}], "answers": []}}, "steps.0.inputs.x"),
    ({"plan": {"steps": [{"id": "a", "tool": "A"}] * 1001, "answers": []}}, "at most 1000"),
    ({"indicators": {str(number): 1.0 for number in range(31)}}, "more than 30 indicators"),
    ({"indicators": {"a" * 41: 1.0}}, "more than 40 characters"),
    ({"explanations": {"goal": "x" * (8 * 1024 * 1024)}}, "a record has at most 8388608"),
    ({"samples": [SAMPLE] * 100}, "it has 100 samples; the evaluation has"),
    ({"samples": [SAMPLE | {"steps": [STEP]}]}, "something took -1.0 seconds"),
    ({"planner": {"seconds": -5.0}}, "something took -5.0 seconds"),
    ({"score": 0.9, "samples": [SAMPLE]}, "its score is 0.9; the mean of its samples is 0.5"),
    ({"score": 0.5, "samples": [SAMPLE, SAMPLE]}, "its samples are not numbered from 0, each once"),
    ({"samples": [SAMPLE | {"further": [ANSWER]}]}, "a score is 7.0; scores are in [-1, 1]"),
]
"""What is odd about a record, and what is said."""


def test_a_record_that_no_evaluator_makes_is_refused_with_a_sentence():
    by = leased()
    for change, said in ODD:
        answer = sent(change, by=by)
        assert answer.status_code == 400, said
        (problem,) = answer.json()["errors"]["results"]
        assert problem.startswith("task 0: ")
        assert said in problem
    assert not TaskResult.objects.exists()


def test_a_number_of_tokens_that_is_none_costs_no_result():
    # An endpoint tells it, so that a worker of the site may well send it.
    for tokens in (-1, 2**31, 10**30):
        assert sent({"planner": {"seconds": 1.0, "prompt_tokens": tokens, "completion_tokens": 7}}).status_code == 200
    rows = TaskResult.objects.filter(task__key="0").values_list("prompt_tokens", "completion_tokens")
    assert list(rows) == [(None, 7)] * 3


def test_a_tool_s_name_with_a_nul_is_kept_and_shown():
    step = {"id": "a", "tool": "A\x00B", "inputs": {}, "outputs": {}}
    assert sent({"plan": {"steps": [step], "answers": []}}).status_code == 200
    row = TaskResult.objects.get(task__key="0")
    assert row.plan_summary == "A\N{REPLACEMENT CHARACTER}B"
    assert Client().get(f"/evaluations/{row.evaluation_id}/tasks/0/").status_code == 200


@pytest.mark.parametrize("odd", ["a\x00b", "1e999", "\ud800", [[[[]]]] * 3])
def test_provenance_that_cannot_be_kept_stops_no_result_and_the_level_of_a_line_is_kept_as_text(odd):
    told, worker, path = leased()
    results = [make_record(task, suite=told["suite"]).model_dump(mode="json") for task in told["tasks"]]
    nested: Any = odd
    for _ in range(40 if isinstance(odd, list) else 0):
        nested = [nested]
    log = {"first": 0, "lines": [{"at": 1.0, "level": "IN\x00FO", "text": "hello"}]}
    body = json.dumps({"results": results, "log": log, "provenance": {"device": nested}}).replace('"1e999"', "1e999")
    assert worker.post_bytes(f"{path}finish/", body.encode(), "application/json").status_code == 200
    assert Evaluation.objects.get().provenance["workers"] == []
    (line,) = logs.tail(Evaluation.objects.get())
    assert (line.level, line.text) == ("IN\N{REPLACEMENT CHARACTER}FO", "hello")


def test_why_a_worker_gave_up_tells_neither_tokens_nor_the_planner_s_address(settings):
    submission = make_submission(kind="endpoint", bundled_name="", endpoint_url=URL)
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    lease = make_lease(submission.evaluations.get())
    detail = f"ConnectError: {URL} with {settings.WORKER_TOKEN}, Authorization: Bearer abcdefghijkl\x00"
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail=detail)
    public = Evaluation.objects.get().reason_text
    for text in (public, Attempt.objects.get().reason):
        assert "ConnectError: the endpoint" in text
        assert not [secret for secret in ("example.org", settings.WORKER_TOKEN, "abcdefghijkl") if secret in text]


def test_why_a_worker_gave_up_hidden_tasks_is_for_staff():
    make_submission()
    Evaluation.objects.update(state=EvaluationState.LAUNCHING, split="hidden")
    lease = make_lease(Evaluation.objects.get())
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="ValueError: the answer is a cat")
    assert "cat" not in Evaluation.objects.get().reason_text
    assert "cat" in Attempt.objects.get().reason


@pytest.mark.parametrize(("worker", "counted"), [("w", ["A"]), ("own:w", [])])
def test_names_of_tools_that_an_own_worker_makes_up_are_no_metrics(worker, counted):
    make_submission()
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    lease = make_lease(Evaluation.objects.get(), worker=worker)
    sample = SAMPLE | {"steps": [STEP | {"seconds": 1.0}]}
    record = make_record("0", suite=lease.evaluation.suite.slug).model_dump(mode="json") | {"samples": [sample]}
    finishing.deliver(attempt_id=lease.attempt.pk, records=[ResultRecord(**record)], store=MemoryStore())
    assert [usage.tool for usage in ToolUsage.objects.all()] == counted


def test_usage_of_impossible_roles_and_numbers_is_left_out():
    usage = {"calls": 1, "seconds": -1.0, "prompt_tokens": 2**40, "completion_tokens": 3}
    call = {"seconds": 1.0, "roles": {"decompose": usage, "<b>": usage, "a" * 99: usage}}
    assert sent({"planner": call}).status_code == 200
    (found,) = TaskResult.objects.exclude(role_usage={}).values_list("role_usage", flat=True)
    assert found == {"decompose": {"calls": 1, "completion_tokens": 3}}
