"""Suites that judge plans, from submission to the board: nothing is executed."""

import dataclasses
import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import AnonymousUser

from evaluator.engine.store import MemoryStore
from evaluator.episodes import Setting
from evaluator.planners.bundled import bundled_names
from evaluator.records import Reason
from evaluator.suites import episode_of, suite_of
from evaluator.suites.hidden import HIDDEN
from evaluator.suites.toolbench.judging import judge_digest
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.library import Library, NotReadyError
from leaderboard.evaluations.gold import withheld_from
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_submission
from tests.leaderboard.planning import REAL, make_clumsy_evaluation, make_toolmini
from tests.leaderboard.serving import server
from tests.rings import usual

PLANNERS = ["gold", "random-valid", "no-op", "gold-minus-one", "ask-everything", "controlllm/greedy"]


@pytest.mark.django_db
def test_profile_and_samples_do_not_matter_and_shards_are_larger(settings):
    settings.EVALUATOR = REAL
    settings.PLANNING_TASKS_PER_SHARD = 50
    evaluation = make_submission(suite=make_toolmini()).evaluations.get()
    conditions = (evaluation.profile, evaluation.profile_digest, evaluation.split, evaluation.samples)
    assert conditions == ("none", judge_digest(), "all", 1)
    assert [len(shard.task_keys) for shard in evaluation.shards.order_by("number")] == [50, 50, 20]
    assert (evaluation.tasks_total, evaluation.tasks_not_run) == (120, 0)


def test_tasks_without_a_goal_are_not_run_and_say_why():
    suite = suite_of("toolmini")
    lost = dataclasses.replace(suite.tasks[3], gold=None, goal=None, uncovered="no gold decomposition is known")
    asked = dataclasses.replace(suite, tasks=(*suite.tasks[:3], lost))
    reasons = episode_of("toolmini").not_run(suite=asked, setting=Setting())
    assert list(reasons) == [lost.key]
    reason, text = reasons[lost.key]
    assert reason is Reason.NO_GOAL
    assert text.endswith("no gold decomposition is known.")


def test_a_suite_whose_files_are_gone_is_said_in_a_sentence():
    with pytest.raises(NotReadyError, match="suite unheard-of at present"):
        Library().not_run_reasons(suite="unheard-of", profile="none", split="all")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", usual(PLANNERS, of=["gold"]))
def test_a_bundled_planner_comes_to_the_board_through_a_real_worker(settings, tmp_path, launcher, name):
    settings.EVALUATOR = REAL
    settings.STORE_DIR = tmp_path / "store"
    suite = make_toolmini()
    evaluation = make_submission(suite=suite, name=name, bundled_name=name).evaluations.get()
    sweep()
    with server() as url:
        worker = Worker(
            client=ApiClient(url=url, token=settings.WORKER_TOKEN),
            runner=EvaluatorRunner(store=MemoryStore(), device="cpu"),
            name="w",
            idle_seconds=0.0,
        )
        assert worker.run() == 0
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    snapshot = latest_snapshot(suite=suite)
    assert snapshot is not None
    (row,) = snapshot.content["rows"]
    lacking = {"efficiency"} if row["metrics"]["SE"]["mean"] == 0 else set()
    assert set(row["metrics"]) == {column["key"] for column in suite.metrics} - lacking
    means = {key: metric["mean"] for key, metric in row["metrics"].items()}
    if name == "gold":
        assert (means["SE"], means["IR"], means["NR"], means["HR"], means["CR"]) == (1, 0, 1, 0, 1)
    elif name in bundled_names():
        assert means["SE"] < 0.3
    else:
        assert 0.3 < means["SE"] < 1
    assert row["metrics"]["SE"]["low"] < row["metrics"]["SE"]["high"]
    assert snapshot.content["coverage"] == {"run": 120, "total": 120}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "discloses"),
    [("gold", True), ("parrot", True), ("gold-minus-one", True), ("ask-everything", False), ("no-op", False)],
)
def test_plans_that_give_gold_away_are_withheld_while_a_split_is_hidden(settings, name, discloses):
    evaluation = make_submission(suite=make_toolmini(), name=name, bundled_name=name).evaluations.get()
    assert not withheld_from(reader=AnonymousUser(), evaluation=evaluation).plan
    settings.SPLIT = HIDDEN
    assert withheld_from(reader=AnonymousUser(), evaluation=evaluation).plan == discloses


@pytest.mark.django_db
def test_indicators_reach_the_row_and_a_missing_plan_counts_as_the_worst(settings, launcher):
    settings.EVALUATOR = REAL
    evaluation = make_clumsy_evaluation()
    rows = {result.task.key: result for result in TaskResult.objects.select_related("task")}
    assert rows["image_detection/0"].indicators["HR"] == 1
    assert rows["image_detection/1"].indicators["IR"] == 1
    assert rows["QA/0"].indicators["NR"] == 0
    assert (rows["count_object/0"].outcome, rows["count_object/0"].indicators) == ("planner_fault", {})
    means = {key: round(metric["mean"] * 120) for key, metric in evaluation.summary["metrics"].items()}
    assert {name: means[name] for name in ("IR", "HR", "NR")} == {"IR": 3, "HR": 3, "NR": 118}


@pytest.mark.django_db
def test_boards_of_both_kinds_have_usual_conditions_of_their_own(settings, launcher):
    settings.EVALUATOR = REAL
    evaluation = make_clumsy_evaluation()
    usual = Snapshot.objects.get()
    other = Snapshot.objects.create(
        suite=evaluation.suite, profile=settings.PROFILE, profile_digest="a" * 64, split=settings.SPLIT,
        samples=settings.SAMPLES, number=usual.number + 1, content={"rows": []}, digest="b" * 64,
    )  # fmt: skip
    assert latest_snapshot(suite=evaluation.suite) == usual != other


@pytest.mark.full
def test_judging_loads_no_torch(tmp_path):
    program = (
        "import sys, json; from evaluator.engine.store import MemoryStore; from gpu_jobs.runner import EvaluatorRunner;"
        "from gpu_jobs.attempt_secrets import HeldLease; from evaluator.suites import suite_of;"
        "from evaluator.suites.toolbench.judging import judge_digest; from tests.fakes.api import LEASE;"
        "from evaluator.suites.hidden import data_digest; data = data_digest(source='', split='all');"
        "lease = HeldLease.model_validate({**LEASE, 'suite': 'toolmini', 'suite_digest': suite_of('toolmini').digest,"
        "'profile': 'none', 'profile_digest': judge_digest(), 'split': 'all', 'data_digest': data,"
        "'tasks': ['QA/0', 'QA/1']});"
        "records = list(EvaluatorRunner(store=MemoryStore(), device='cpu').run(lease));"
        "print(sorted(record.score for record in records), 'torch' in sys.modules)"
    )
    environment = {**os.environ, "PLANARENA_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[1.0, 1.0] False", done.stderr
