"""Suites that judge plans, from submission to the board: nothing is executed."""

import dataclasses
import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import AnonymousUser

from evaluator.core.records import Reason
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.library import Library, NotReadyError
from leaderboard.evaluations.visibility import withheld_from
from tests.leaderboard.factories import make_submission
from tests.leaderboard.planning import REAL, make_clumsy_evaluation, make_toolmini


@pytest.mark.django_db
def test_profile_and_samples_do_not_matter_and_shards_are_larger(settings):
    settings.EVALUATOR = REAL
    settings.PLANNING_TASKS_PER_SHARD = 50
    evaluation = make_submission(suite=make_toolmini()).evaluations.get()
    conditions = (evaluation.profile, evaluation.profile_digest, evaluation.split, evaluation.samples)
    assert conditions == ("none", episode_of("toolmini").rules_digest("none"), "all", 1)
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
        "import sys, json; from evaluator.execution.engine.store import MemoryStore;"
        "from gpu_jobs.runner import EvaluatorRunner;"
        "from gpu_jobs.planners import HeldLease; from evaluator.core.suites.registry import suite_of;"
        "from evaluator.episodes.base import episode_of; from tests.fakes.api import LEASE;"
        "from evaluator.core.suites.hidden import data_digest; data = data_digest(source='', split='all');"
        "lease = HeldLease.model_validate({**LEASE, 'suite': 'toolmini', 'suite_digest': suite_of('toolmini').digest,"
        "'profile': 'none', 'profile_digest': episode_of('toolmini').rules_digest('none'), 'split': 'all',"
        "'data_digest': data,"
        "'tasks': ['QA/0', 'QA/1']});"
        "records = list(EvaluatorRunner(store=MemoryStore(), device='cpu').run(lease));"
        "print(sorted(record.score for record in records), 'torch' in sys.modules)"
    )
    environment = {**os.environ, "PLANARENA_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[1.0, 1.0] False", done.stderr
