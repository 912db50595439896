"""The cost of a profile is counted as what it is: all runs, without the planner's own time."""

import json
import time

import pytest

from evaluator.benchmarks.reliability import Cost, ReliabilityReport, measure_reliability
from evaluator.cli.execution_settings import ExecutionSettings, prepare
from evaluator.planners.named import planner_named
from evaluator.suites import episode_of, suite_of

SUITE = suite_of("openagi")


def cost(cpu):
    return Cost(cpu=cpu, planner_cpu=0.0, calls=1)


@pytest.mark.parametrize(("cpu", "holds"), [(2.5, True), (2.6, False)])
def test_the_claim_is_about_the_processor_time_of_all_runs(cpu, holds):
    report = ReliabilityReport(evaluation=cost(1.0), profile=cost(cpu), conditions={})
    assert (report.ratio, list(report.claims.values())) == (cpu, [holds])
    document = json.loads(json.dumps(report.to_json()))
    assert (document["ratio"], list(document["claims"].values()), document["profile"]["cpu"]) == (cpu, [holds], cpu)


class Laborious:
    """Works for every plan."""

    name = "laborious"

    def __init__(self):
        self._inner = planner_named(name="gold", suite=SUITE)

    def plan(self, request):
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
        return self._inner.plan(request)


@pytest.mark.full
def test_runs_that_repeat_the_plans_call_no_expert_again_and_the_planner_does_not_count(tmp_path):
    settings = ExecutionSettings(profile="lilliput", split="public", samples=1, store=str(tmp_path / "unused"))
    report = measure_reliability(
        prepared=prepare(suite=SUITE, settings=settings), episode=episode_of("openagi"), planner=Laborious(),
        tasks=["0", "84"], runs=3,
    )  # fmt: skip
    assert report.profile.calls == report.evaluation.calls > 0
    assert report.evaluation.planner_cpu >= 2 * 0.01
    # Two tasks in three runs, and in those of the perturbations that apply.
    assert report.profile.planner_cpu >= 6 * 0.01
    assert report.profile.cpu >= report.evaluation.cpu > 0
