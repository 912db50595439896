"""Responses of the chain as a strategy: asked for once its plan has run, scored by what ran, absent elsewhere."""

import json
from dataclasses import replace

import pytest

from evaluator.controlllm.optional_columns import RESPONSE_COLUMNS
from evaluator.controlllm.response_columns import MOST_CHARACTERS
from evaluator.controlllm.strategies.strategy import ChainControlLLM
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.strategy import Draft
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.breaker import CircuitBreaker
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.named import planner_named
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from tests.evaluator.planners.test_endpoint import endpoint

SUITE = suite_of("toolworld")
KEYS = [column.key for column in RESPONSE_COLUMNS]
TASK = "count_object/0"
SEED = HiddenSeed("5" * 64, season="s1")


class Promising:
    """Gives one plan with the promise of a response, which ends as a test wants."""

    name = "promising"
    is_outside = False

    def __init__(self, reply, *, end):
        self.reply, self.end = reply, end

    def plan(self, request):
        return self.reply

    def responds_to(self, reply):
        return True

    def respond(self, ran):
        return self.end


def record_of(planner, *, tasks=(TASK,), split="validation"):
    hidden = SEED if split == HIDDEN else None
    setting = Setting(profile="lilliput", samples=1, split=split, hidden=hidden, open_store=MemoryStore)
    evaluator = episode_of("toolworld").evaluator(suite=SUITE, setting=setting)
    return list(evaluator.run(planner=planner, tasks=list(tasks)))


class Saying(ChainControlLLM):
    """Says what a test wants."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def respond(self, ran):
        return Draft(plan=self.text(ran))
        yield


def test_the_chain_responds_to_its_results_and_is_right_about_them():
    (record,) = record_of(planner_named(name="controlllm/chain", suite=SUITE))
    assert record.outcome is Outcome.SCORED, record.reason_text
    assert [record.indicators[key] for key in KEYS] == [1, 1, 1], record.explanations
    assert "result-1.txt" in record.planner_notes["response"]
    summary = summarise(suite=SUITE, results=[TaskScore.of(record)])["metrics"]
    assert [summary[key]["mean"] for key in KEYS] == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (lambda ran: "There are 987654 of them; see result-1.txt.", "faithful"),
        (lambda ran: "Done.", "complete"),
        (lambda ran: "I used dub_video for result-1.txt.", "claims_only_what_ran"),
    ],
)
def test_a_wrong_response_costs_its_own_score_and_changes_no_other(text, wrong):
    (right,) = record_of(planner_named(name="controlllm/chain", suite=SUITE))
    (record,) = record_of(StrategyPlanner(strategy=Saying(text)))
    assert {key for key in KEYS if record.indicators[key] == 0} == {wrong}
    assert record.score == right.score


def test_an_endless_response_is_cut_and_one_that_fails_or_is_empty_counts_as_0():
    (record,) = record_of(StrategyPlanner(strategy=Saying(lambda ran: "x" * 10_000)))
    assert len(record.planner_notes["response"]) == MOST_CHARACTERS
    for missing, why in ((lambda ran: 1 / 0, "There is no response"), (lambda ran: " \n", "The response is empty")):
        (record,) = record_of(StrategyPlanner(strategy=Saying(missing)))
        assert record.outcome is Outcome.SCORED
        assert [record.indicators[key] for key in KEYS] == [0, 0, 0]
        assert why in record.explanations["faithful"]


def test_all_strategies_of_controlllm_respond_and_anchors_do_not():
    (record,) = record_of(planner_named(name="controlllm/greedy", suite=SUITE))
    assert [record.indicators[key] for key in KEYS] == [1, 1, 1], record.explanations
    (record,) = record_of(planner_named(name="gold", suite=SUITE))
    assert not record.indicators.keys() & {*KEYS}


PLAN = plan_to_json(SUITE.task(TASK).gold)


def record_by_endpoint(said, *, responds=True, header=None, split="validation", plan=PLAN):
    """The record of an endpoint behind a breaker, as workers ask it, and the requests that it got."""
    answer = 200, json.dumps({"plan": plan, "responds": responds}).encode()
    with endpoint(answer, said) as (url, seen):
        settings = EndpointSettings(url=url, timeout_seconds=5, allow_private=True, header=header, tries=1)
        client = EndpointPlanner(settings, sleep=lambda seconds: None)
        (record,) = record_of(CircuitBreaker(client), split=split)
        client.close()
    return record, seen


def as_answer(**said):
    return 200, json.dumps(said).encode()


def test_an_endpoint_that_wants_to_gets_its_results_and_is_scored():
    said = as_answer(response="There are 987654 of them: result-1.txt.", usage={"prompt_tokens": 9})
    record, (_, asked) = record_by_endpoint(said)
    assert (record.outcome, record.score) == (Outcome.SCORED, 1)
    assert [record.indicators[key] for key in KEYS] == [0, 1, 1]
    assert record.planner_notes["response"].startswith("There are 987654")
    assert record.planner.prompt_tokens == 9
    assert asked["task"]["id"] == TASK
    assert "plan" not in asked
    assert len(asked["ran"]["calls"]) == len(PLAN["steps"])
    assert asked["ran"]["results"].keys() == {"result-1.txt"}


@pytest.mark.parametrize("responds", [False, "yes", 1, None])
def test_an_endpoint_that_does_not_want_to_is_not_asked(responds):
    record, seen = record_by_endpoint(as_answer(response="x"), responds=responds)
    assert len(seen) == 1
    assert record.outcome is Outcome.SCORED
    assert not record.indicators.keys() & {*KEYS}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (as_answer(response={"a": 1}), "response"),
        (as_answer(response="\x00"), "NUL"),
        (as_answer(plan=[]), "response"),
        ((200, b"[" * 100_000), "not JSON"),
        ((200, b'{"response": "' + b"x" * 2_000_000 + b'"}'), "1024 KiB"),
        ((500, b"{}"), "500"),
        ((302, b"", {"Location": "http://127.0.0.1/"}), "redirect"),
    ],
)
def test_a_hostile_response_counts_as_0_and_costs_no_score(said, why):
    record, _ = record_by_endpoint(said)
    assert (record.outcome, record.score) == (Outcome.SCORED, 1)
    assert why in record.explanations["faithful"]
    summary = summarise(suite=SUITE, results=[TaskScore.of(record)])["metrics"]
    assert [summary[key]["mean"] for key in KEYS] == [0, 0, 0]


def test_what_a_response_that_fails_took_counts():
    reply = PlannerReply(plan=PLAN, call=PlannerCall(seconds=1.0, prompt_tokens=5))
    call = PlannerCall(seconds=2.0, prompt_tokens=7, completion_tokens=3)
    failed = PlannerError(reason=Reason.INVALID_RESPONSE, message="No.", call=call)
    (record,) = record_of(Promising(reply, end=failed))
    assert record.indicators["faithful"] == 0
    assert (record.planner.seconds, record.planner.prompt_tokens, record.planner.completion_tokens) == (3, 12, 3)


def test_no_endpoint_gets_results_of_hidden_data_and_models_on_the_worker_do():
    hidden = suite_on_split(suite=SUITE, split=HIDDEN, hidden_seed=SEED.secret)
    plan = plan_to_json(hidden.task(TASK).gold)
    record, seen = record_by_endpoint(as_answer(response="x"), split=HIDDEN, plan=plan)
    assert record.outcome is Outcome.SCORED, record.reason_text
    assert len(seen) == 1
    assert not record.indicators.keys() & {*KEYS}
    call = PlannerCall(seconds=1.0)
    here = Promising(PlannerReply(plan=plan, call=call), end=PlannerReply(plan="x", call=call))
    (record,) = record_of(here, split=HIDDEN)
    assert record.indicators.keys() >= {*KEYS}


def test_an_endpoint_s_secret_is_taken_out_of_its_response():
    secret = "Bearer s3cr3t-of-the-owner"
    record, _ = record_by_endpoint(as_answer(response=f"use {secret}"), header=SecretHeader("X-Key", secret))
    assert "s3cr3t" not in record.model_dump_json()


def test_the_columns_change_no_digest():
    without = replace(SUITE, metrics=tuple(column for column in SUITE.metrics if column.key not in KEYS))
    assert without.digest == SUITE.digest
