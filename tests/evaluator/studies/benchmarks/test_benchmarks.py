"""Benchmarks measure what they say: equal scores, exactly the distinct calls, equal results again. No seconds."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from evaluator.cli.bench import check_claims
from evaluator.cli.main import app
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.options import ExecutionSettings, prepare
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.language_models.chat.trial_server import ServerSettings
from evaluator.planners.named import planner_named
from evaluator.rewards import ExecutedRewards
from evaluator.studies.benchmarks.chain import measure_chain
from evaluator.studies.benchmarks.chat import measure_chat
from evaluator.studies.benchmarks.execution import ExecutionReport
from evaluator.studies.benchmarks.reliability import Cost, ReliabilityReport, measure_reliability
from evaluator.studies.benchmarks.rewards import measure_rewards, plans_of

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.full
@pytest.mark.timeout(900)  # loads every expert and scorer several times, on machines that may be busy
def test_the_engine_makes_exactly_the_distinct_calls_and_scores_as_the_baseline(tmp_path):
    out = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", "bench", "execution", "--tasks", "7,61,98", "--samples", "1",
         "--output", str(out)],
        cwd=ROOT, capture_output=True, text=True, timeout=800, check=True,
    )  # fmt: skip
    report = json.loads(out.read_text())
    phases = report["phases"]
    assert report["calls_are_distinct_nodes"] is True
    assert report["same_scores"] is True
    assert report["same_results"] is True
    assert report["same_in_process"] is True
    assert phases["process"]["calls"] == {}
    assert phases["cold"]["start"] > 0
    assert phases["cold"]["whole_overhead_share"] > phases["cold"]["overhead_share"]
    assert phases["cold"]["calls"] == report["distinct_calls"]
    assert sum(phases["released"]["calls"].values()) >= sum(phases["cold"]["calls"].values())
    assert phases["again"]["calls"] == {}
    assert phases["cold"]["loads"] == len(report["distinct_calls"])
    assert {phase["scored"] for phase in phases.values()} == {3}
    assert set(report["ratios"]) == {
        f"{name}_{by}" for name in ("cold", "second", "process", "again") for by in ("wall", "cpu")
    }
    assert "Expert calls" in done.stdout


@pytest.mark.full
@pytest.mark.timeout(300)
def test_tool_plans_are_measured_against_calls_one_after_the_other_and_with_any_second_planner(tmp_path):
    out = tmp_path / "report.json"
    tasks = "image_detection/0,count_object/0,compound_instructions/0"
    done = CliRunner().invoke(
        app,
        ["bench", "execution", "--suite", "toolworld", "--tasks", tasks, "--samples", "2", "--second", "no-op",
         "--output", str(out)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text())
    assert report["same_scores"] is report["calls_are_distinct_nodes"] is True
    released, cold = report["phases"]["released"], report["phases"]["cold"]
    plans = [suite_of("toolworld").task(key).gold for key in tasks.split(",")]
    assert sum(released["calls"].values()) == 2 * sum(len(plan.steps) for plan in plans)
    assert released["loads"] == len(released["calls"])
    assert sum(cold["calls"].values()) < sum(released["calls"].values())
    assert report["phases"]["second"]["what"].endswith(": no-op")
    assert report["phases"]["second"]["calls"] == {}


def test_a_second_planner_that_there_is_not_is_refused():
    done = CliRunner().invoke(app, ["bench", "execution", "--suite", "toolworld", "--second", "nothing"])
    assert done.exit_code == 2
    assert "there is no bundled planner 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("only", "said"), [("second", "second and again need cold"), ("cold,process", "process needs second")]
)
def test_phases_that_cannot_be_are_refused(only, said):
    done = CliRunner().invoke(app, ["bench", "execution", "--only", only])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_a_claim_that_does_not_hold_is_named_and_ends_the_command_with_1(capsys):
    report = ExecutionReport(conditions={}, same_scores=True, same_results=False)
    with pytest.raises(typer.Exit) as caught:
        check_claims(report.claims)
    assert caught.value.exit_code == 1
    said = capsys.readouterr()
    assert said.err == "planarena: this does not hold: running again gives byte-equal results\n"
    assert said.out.splitlines() == [
        "the cold run makes each distinct call once: not measured",
        "scores are those of the released structure: yes",
        "running again gives byte-equal results: NO",
        "a new process gives byte-equal results: not measured",
    ]


CHAIN_TASKS = ("count_object/9", "image_segmentation/3", "video_classification/0", "compound_instructions/5")
"""One that a correction makes right, one that needs none, one whose answers are not as expected, one of two parts."""


@pytest.fixture(scope="module")
def setting():
    return Setting(split="validation", profile="lilliput", samples=2, open_store=MemoryStore)


@pytest.fixture(scope="module")
def report(setting):
    prepared = episode_of("toolworld").prepared(suite=suite_of("toolworld"), setting=setting)
    return measure_chain(prepared=prepared, planner="controlllm/adaptive", tasks=CHAIN_TASKS)


@pytest.mark.full
def test_as_planned_the_score_is_that_of_an_evaluation(report, setting):
    suite = suite_of("toolworld")
    evaluator = episode_of("toolworld").evaluator(suite=suite, setting=setting)
    records = evaluator.run(planner=planner_named(name="controlllm/adaptive", suite=suite), tasks=CHAIN_TASKS)
    scores = [record.score for record in records]
    assert report.ways["as planned"].score == pytest.approx(sum(scores) / len(scores), abs=1e-6)


@pytest.mark.full
def test_a_correction_makes_one_request_better_and_none_worse(report):
    assert report.better == ("count_object/9",)
    assert report.worse == ()
    # One of the two samples shows blue squares, of which the plan as it is counts none.
    assert report.corrections == {
        "found nothing, arguments: helped": 1,
        "found nothing, next solution: did not help": 2,
        "found nothing, back to the solution that ran": 1,
    }
    planned, corrected = report.ways.values()
    assert corrected.score == pytest.approx(planned.score + 1 / 8)
    assert (planned.every_subtask_made, corrected.every_subtask_made) == (1, 1)


@pytest.mark.full
def test_answers_that_are_not_expected_score_0_either_way(report):
    assert [way.answers_as_expected for way in report.ways.values()] == [0.75, 0.75]


@pytest.mark.full
def test_the_second_way_runs_only_what_changed(report):
    planned, corrected = report.ways.values()
    assert corrected.calls < planned.calls / 2


def test_the_command_refuses_a_planner_without_a_chain():
    found = CliRunner().invoke(app, ["bench", "chain", "--suite", "toolworld", "--planner", "controlllm/none"])
    assert found.exit_code == 2
    assert "there is no strategy 'controlllm/none'" in found.stderr


@pytest.mark.full
def test_all_requests_are_answered_and_refusals_are_tried_again_and_cost_none():
    report = measure_chat(count=80, server=ServerSettings(latency_seconds=0.05, capacity=4), highest=64)
    assert (report.failed, report.progress["answered"]) == (0, 80)
    assert report.progress["retried"] > 0
    assert report.ideal_seconds == 80 / 4 * 0.05
    assert report.to_json()["ratio"] == report.ratio


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


def test_plans_are_the_gold_plan_and_those_that_lack_a_step():
    found = [(key, json.loads(plan)) for key, plan in plans_of(suite=SUITE, tasks=["0", "7"])]
    for key in ("0", "7"):
        gold, *others = [plan for task, plan in found if task == key]
        assert len(gold["steps"]) == len(SUITE.task(key).gold.steps)
        assert all(len(plan["steps"]) < len(gold["steps"]) for plan in others)
    assert len(found) > 2


@pytest.mark.full
def test_all_plans_are_scored_in_each_phase_and_executed_in_all_but_the_last(tmp_path, monkeypatch):
    executed, rewards_of = [], ExecutedRewards.of

    def counted(self, proposals):
        before = self.executed
        rewards = rewards_of(self, proposals)
        executed.append(self.executed - before)
        return rewards

    monkeypatch.setattr(ExecutedRewards, "of", counted)
    settings = ExecutionSettings(profile="lilliput", split="validation", samples=2, store=str(tmp_path / "unused"))
    report = measure_rewards(prepared=prepare(suite=SUITE, settings=settings), tasks=["155", "0", "84"])
    plans = set(plans_of(suite=SUITE, tasks=["155", "0", "84"]))
    assert report.conditions["plans"] == len(plans)
    assert {name: phase.plans for name, phase in report.phases.items()} == dict.fromkeys(
        ("cold", "stored", "warm", "repeated"), len(plans)
    )
    assert sum(executed) == 3 * len(plans)
