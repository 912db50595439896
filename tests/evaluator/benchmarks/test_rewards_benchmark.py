"""The benchmark of rewards scores what it says, and each phase finds what the one before it left."""

import json

import pytest

from evaluator.benchmarks.rewards import measure_rewards, plans_of
from evaluator.cli.execution_settings import ExecutionSettings, prepare
from evaluator.rewards import ExecutedRewards
from evaluator.suites import suite_of

SUITE = suite_of("openagi")


def test_plans_are_the_gold_plan_and_those_that_lack_a_step():
    found = [(key, json.loads(plan)) for key, plan in plans_of(suite=SUITE, tasks=["0", "7"])]
    for key in ("0", "7"):
        gold, *others = [plan for task, plan in found if task == key]
        assert len(gold["steps"]) == len(SUITE.task(key).gold.steps)
        assert all(len(plan["steps"]) < len(gold["steps"]) for plan in others)
    assert len(found) > 2


@pytest.mark.full
def test_all_plans_are_scored_in_each_phase_and_executed_in_all_but_the_last(tmp_path, monkeypatch):
    executed, execute = [], ExecutedRewards._execute

    def counted(self, batch):
        executed.append(len(batch))
        execute(self, batch)

    monkeypatch.setattr(ExecutedRewards, "_execute", counted)
    settings = ExecutionSettings(profile="lilliput", split="validation", samples=2, store=str(tmp_path / "unused"))
    report = measure_rewards(prepared=prepare(suite=SUITE, settings=settings), tasks=["155", "0", "84"])
    plans = set(plans_of(suite=SUITE, tasks=["155", "0", "84"]))
    assert report.conditions["plans"] == len(plans)
    assert {name: phase.plans for name, phase in report.phases.items()} == dict.fromkeys(
        ("cold", "stored", "warm", "repeated"), len(plans)
    )
    assert sum(executed) == 3 * len(plans)
