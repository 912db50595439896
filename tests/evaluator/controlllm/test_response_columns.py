"""Responses of the chain as a strategy: asked for once its plan has run, scored by what ran, absent elsewhere."""

from dataclasses import replace

import pytest

from evaluator.controlllm.optional_columns import RESPONSE_COLUMNS
from evaluator.controlllm.response_columns import MOST_CHARACTERS
from evaluator.controlllm.strategies.strategy import ChainControlLLM
from evaluator.core.records import Outcome
from evaluator.core.strategy import Draft
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.named import planner_named
from evaluator.scoring.metrics.aggregate import TaskScore, summarise

SUITE = suite_of("toolworld")
KEYS = [column.key for column in RESPONSE_COLUMNS]
TASK = "count_object/0"


def record_of(planner, *, tasks=(TASK,)):
    setting = Setting(profile="lilliput", samples=1, split="validation", open_store=MemoryStore)
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


def test_an_endless_response_is_cut_and_one_that_fails_leaves_the_columns_out():
    (record,) = record_of(StrategyPlanner(strategy=Saying(lambda ran: "x" * 10_000)))
    assert len(record.planner_notes["response"]) == MOST_CHARACTERS
    (record,) = record_of(StrategyPlanner(strategy=Saying(lambda ran: 1 / 0)))
    assert record.outcome is Outcome.SCORED
    assert not record.indicators.keys() & {*KEYS}
    assert "There is no response" in record.explanations["faithful"]


def test_other_planners_are_not_asked():
    for name in ("gold", "controlllm/greedy"):
        (record,) = record_of(planner_named(name=name, suite=SUITE))
        assert not record.indicators.keys() & {*KEYS}


def test_the_columns_change_no_digest():
    without = replace(SUITE, metrics=tuple(column for column in SUITE.metrics if column.key not in KEYS))
    assert without.digest == SUITE.digest
