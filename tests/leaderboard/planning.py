"""Evaluations on toolmini by the real judge, through the services and without HTTP."""

from collections.abc import Hashable, Mapping, Sequence

import pytest

from evaluator.controlllm.toolbench import judging
from evaluator.controlllm.toolbench.goals import goal
from evaluator.controlllm.toolbench.goals.parts import Action, Asking, Object, Saying
from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Verdict
from evaluator.core.planner import Planner
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import JudgementEvaluator
from evaluator.scoring.arbiters.base import Question, Settled
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from tests.fakes.planners import ClumsyPlanner
from tests.leaderboard.factories import make_submission

MISTAKES = {
    "image_detection/0": "false",
    "image_detection/1": "irrelevant",
    "QA/0": "nothing",
    "count_object/0": "garbage",
}
WANTED, WHY = "What is <b>wanted</b>?", "“wanted” is not in the lexicon"
REAL = "leaderboard.catalog.library.Library"
"""The setting EVALUATOR that these evaluations need."""


def make_toolmini() -> Suite:
    """toolmini, registered."""
    register_suite(suite_of("toolmini"))
    return Suite.objects.get(slug="toolmini", current=True)


def make_questions_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rules and the network know of no question and no prompt whether it is the wanted one."""

    def says(*, text: str, pattern: Object | Action | Asking | Saying) -> Verdict | Pair:
        if not isinstance(pattern, Asking | Saying):
            return decide(text=text, pattern=pattern)
        return Pair(kind="question", wanted=WANTED, given=text, why=WHY)

    decide = goal.says
    monkeypatch.setattr(goal, "says", says)
    silence_network(monkeypatch)


class SilentNetwork:
    """Leaves every pair undecided."""

    def settle(self, questions: Sequence[Question]) -> list[Settled]:
        return [Settled(verdict="undecided") for _ in questions]


def silence_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the shipped network settle nothing."""
    monkeypatch.setattr(judging, "shipped_network", SilentNetwork)


def run_evaluation(evaluation: Evaluation, *, planner: Planner) -> Evaluation:
    """Work off every shard as a worker would, to the published board."""
    sweep()
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        records = _judged(planner, suite=suite_of(evaluation.suite.slug), tasks=lease.tasks)
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
        leases.complete(lease.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    return evaluation


def _judged(planner: Planner, *, suite: LibrarySuite, tasks: Sequence[str]) -> list[ResultRecord]:
    """The records of these tasks; those of a clumsy planner are made once in a process by each judge."""
    judge = JudgementEvaluator(suite=suite, judge=ToolJudge())
    if type(planner) is not ClumsyPlanner:
        return list(judge.run(planner=planner, tasks=tasks))
    # What tests let the judge do otherwise.
    patched = (goal.says, judging.shipped_network, ToolJudge.__call__, ToolJudge.digest)
    key = (suite.digest, tuple(tasks), tuple(sorted(planner.mistakes.items())), patched)
    if key not in _KEPT:
        _KEPT[key] = list(judge.run(planner=planner, tasks=tasks))
    return [record.model_copy(deep=True) for record in _KEPT[key]]


_KEPT: dict[Hashable, list[ResultRecord]] = {}


def make_clumsy_evaluation(
    *,
    user: User | None = None,
    mistakes: Mapping[str, str] = MISTAKES,
    name: str = "clumsy",
    bundled_name: str = "controlllm/adaptive",
) -> Evaluation:
    """A published evaluation of a planner that makes these mistakes."""
    submission = make_submission(suite=make_toolmini(), user=user, name=name, bundled_name=bundled_name)
    evaluation = submission.evaluations.get()
    planner = ClumsyPlanner(suite=suite_of("toolmini"), mistakes=dict(mistakes))
    return run_evaluation(evaluation, planner=planner)
