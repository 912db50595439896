"""Verifying what researchers' own workers measured: a random sample of the tasks is run again, and compared.

    own evaluation completed -> sample drawn -> further evaluation (`verifies` the own one), leased by the operator's
    workers only -> it ends, in whatever way -> compared -> the own evaluation is ranked, or says why it is not; or a
    larger sample is drawn, if the first one leans to the owner's side

The further evaluation is like any other to the queue; lists, boards, quotas and mails leave it out. The sample is drawn
when all results are in, so that nobody can know before which tasks will be run again. Who asks again after a failure
that is not the planner's gets the same sample: an owner who takes their planner away when they see the tasks gains
nothing by it. Only staff get another sample.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from evaluator.core.records import Outcome
from leaderboard.catalog.library import RunConditions
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.states import explain
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.messages.notices import tell_verdict
from leaderboard.people.models import User
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.operators import is_operator
from leaderboard.queue import comparing
from leaderboard.queue.entering import queue_tasks
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.models import OwnWorkerRun, Verification, VerificationVerdict
from leaderboard.queue.publishing import publish_again

MOST_IN_A_DAY = 3
"""How often a verification of one evaluation may be asked for in 24 hours; the one that comes by itself is none."""
CLOSER_LOOK = 3
"""How many times as many tasks are run again where the first sample leans to the owner's side."""
DISTRUST = timedelta(days=30)
"""For how long all tasks are run again of a user whose results were found wrong."""
_COMPARABLE = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT})
_WHY_IMPOSSIBLE: Mapping[str, str] = {
    EvaluationReason.CANARY_FAILED: "the planner answered neither canary task.",
    EvaluationReason.NO_WORKER: "no worker of this site took the tasks.",
    EvaluationReason.STALLED: "no task finished within the time limit.",
}
"""Reasons for which the further evaluation ended without results, as the end of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a verification came to."""

    verdict: VerificationVerdict
    detail: str
    """The end of a sentence."""
    comparison: dict[str, Any] | None = None


def draw(*, evaluation: Evaluation, results: Sequence[TaskResult], closer: bool = False) -> list[str]:
    """Keys of a random sample of the tasks that ended with a plan or a fault of the planner.

    Those with a score come first: the canary is one of the first tasks, and a planner that answered it to its owner
    has to answer it here. What the owner accepted as the planner's fault is left out: nobody claims a result for it.

    Args:
        evaluation: the owner's.
        results: of all its tasks.
        closer: draw `CLOSER_LOOK` times as many.
    """
    possible = _comparable(results)
    size = _size(evaluation=evaluation, possible=len(possible), closer=closer)
    # Not from a seed: who could compute the sample would forge the other tasks.
    chosen = secrets.SystemRandom().sample(possible, k=size)
    chosen.sort(key=lambda row: (row.outcome != Outcome.SCORED, row.task.position))
    return [row.task.key for row in chosen]


def _comparable(results: Sequence[TaskResult]) -> list[TaskResult]:
    return [row for row in results if row.outcome in _COMPARABLE and not row.accepted]


def _size(*, evaluation: Evaluation, possible: int, closer: bool) -> int:
    """How many of the possible tasks are sampled."""
    if _is_distrusted(evaluation.submission.submitted_by_id):
        return possible
    return min(possible, settings.VERIFY_TASKS * (CLOSER_LOOK if closer else 1))


def _is_distrusted(owner_id: int) -> bool:
    """Whether something that this user measured was found wrong a short while ago, and nobody has confirmed it since.

    Of such a user all tasks are run again: submitting forged results so often that one sample overlooks them must not
    be a way to the board.
    """
    wrong = Verification.objects.filter(
        verdict=VerificationVerdict.DISAGREES,
        settled_at__gte=timezone.now() - DISTRUST,
        evaluation__submission__submitted_by=owner_id,
        evaluation__verifies__own_worker_run__verified_by=None,
    )
    return wrong.exists()


def begin(*, evaluation: Evaluation, tasks: Sequence[str], ordered_by: User | None = None) -> Evaluation:
    """Queue the further evaluation that runs these tasks again.

    Before: within the transaction that completed the evaluation, or has locked it; no verification of it is open.
    After: the further evaluation is `queued` with its shards, under the conditions of the first one.
    """
    again = queue_tasks(
        submission=evaluation.submission,
        suite=evaluation.suite,
        conditions=RunConditions.of(evaluation),
        keys=tasks,
        tasks_total=len(tasks),
        verifies=evaluation,
        priority=evaluation.priority,
    )
    Verification.objects.create(evaluation=again, tasks=list(tasks), ordered_by=ordered_by)
    return again


def order(*, user: User, evaluation: Evaluation) -> Evaluation:
    """Ask for a verification: as the owner if there was none or it could not be carried out, as staff at any time.

    Before: nothing; several may ask at once.
    After: exactly one verification is open, and the evaluation says so.

    Raises:
        NotPossibleError: it is not possible now; nothing was changed.
    """
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if why := why_not(user=user, evaluation=current):
            raise NotPossibleError(why)
        tasks = _sample_for(user=user, evaluation=current)
        if not tasks:
            raise NotPossibleError("No task of this evaluation ended with a result that could be compared.")
        again = begin(evaluation=current, tasks=tasks, ordered_by=user)
        if not _is_verified(current):
            _say_awaiting(current, count=len(tasks))
    return again


def why_not(*, user: User, evaluation: Evaluation) -> str:
    """Why this user may not ask for a verification of this evaluation now, as a sentence; empty if they may."""
    # Of an evaluation that was read with it, or that was locked, this is as it stands.
    run = getattr(evaluation, "own_worker_run", None)
    if evaluation.verifies_id is not None or run is None:
        return "Only evaluations on a self-hosted worker can be verified."
    if evaluation.state != EvaluationState.COMPLETED:
        return "Only a completed evaluation can be verified."
    latest = latest_of(evaluation)
    if latest is not None and latest.verdict == VerificationVerdict.OPEN:
        return "A verification is in progress."
    if is_operator(user):
        return ""
    if run.verified_by_id is not None:
        return "This evaluation is verified."
    if latest is not None and latest.verdict == VerificationVerdict.DISAGREES:
        return "The verification did not confirm the results. Only operators can request another one."
    since = timezone.now() - timedelta(days=1)
    asked = Verification.objects.filter(
        evaluation__verifies=evaluation, ordered_by__isnull=False, created__gte=since
    ).count()
    if asked >= MOST_IN_A_DAY:
        return f"{MOST_IN_A_DAY} verifications of this evaluation were asked for in the last 24 hours: try again later."
    return ""


def latest_of(evaluation: Evaluation) -> Verification | None:
    """The newest verification of an evaluation."""
    return Verification.objects.filter(evaluation__verifies=evaluation).order_by("-created", "-pk").first()


def _sample_for(*, user: User, evaluation: Evaluation) -> list[str]:
    latest = latest_of(evaluation)
    if latest is not None and not is_operator(user):
        return list(latest.tasks)
    return draw(evaluation=evaluation, results=_results(evaluation))


def _results(evaluation: Evaluation) -> list[TaskResult]:
    return list(evaluation.results.select_related("task").order_by("task__position"))


def _is_verified(evaluation: Evaluation) -> bool:
    return OwnWorkerRun.objects.filter(evaluation=evaluation, verified_by__isnull=False).exists()


def open_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these further evaluations that wait for their verdict."""
    found = Verification.objects.filter(pk__in=evaluation_ids, verdict=VerificationVerdict.OPEN)
    return frozenset(found.values_list("pk", flat=True))


def unsettled() -> list[UUID]:
    """The further evaluations that have ended and whose consequences were not drawn yet."""
    ended = [state.value for state in states.FINAL]
    found = Verification.objects.filter(verdict=VerificationVerdict.OPEN, evaluation__state__in=ended)
    return list(found.order_by("created").values_list("pk", flat=True))


def settle(evaluation_id: UUID) -> bool:
    """Draw the consequences of a further evaluation that has ended.

    Before: nothing is assumed; another process may have been faster.
    After: its verdict stands, the evaluation that it verifies says so and is on the board or not, and its owner is
    told, all in one transaction (True); or there was nothing to do and nothing changed (False).
    """
    related = "evaluation__verifies__suite", "evaluation__submission__planner"
    found = Verification.objects.select_related(*related).filter(pk=evaluation_id).first()
    if found is None or found.verdict != VerificationVerdict.OPEN or found.evaluation.state not in states.FINAL:
        return False
    # Both evaluations are final, so that nothing changes what is read here.
    ending = _ending(found)
    own = _own_of(found)
    with transaction.atomic():
        lock_evaluation(own.pk)
        changed = Verification.objects.filter(pk=found.pk, verdict=VerificationVerdict.OPEN).update(
            verdict=ending.verdict, detail=ending.detail, comparison=ending.comparison, settled_at=timezone.now()
        )
        if changed:
            _draw_consequences(own=own, verification=found, ending=ending)
    return bool(changed)


def _own_of(verification: Verification) -> Evaluation:
    """The evaluation that is verified."""
    own = verification.evaluation.verifies
    assert own is not None
    return own


def _draw_consequences(*, own: Evaluation, verification: Verification, ending: Ending) -> None:
    was_verified = _is_verified(own)
    if ending.verdict == VerificationVerdict.UNDECIDED:
        _look_closer(own=own, verification=verification)
        return
    if ending.verdict == VerificationVerdict.IMPOSSIBLE and was_verified:
        # Staff had a verified one run again: a failure that is not the planner's takes nothing back.
        return
    agrees = ending.verdict == VerificationVerdict.AGREES
    OwnWorkerRun.objects.filter(evaluation=own).update(verified_by=verification if agrees else None)
    explain(own.pk, source=EvaluationState.COMPLETED, reason=_REASONS[ending.verdict], detail=ending.detail)
    if agrees or was_verified:
        publish_again(Evaluation.runs.select_related("suite", "submission__planner").get(pk=own.pk))
    tell_verdict(evaluation_id=own.pk, agrees=agrees)


def _look_closer(*, own: Evaluation, verification: Verification) -> None:
    """Queue a larger sample, drawn anew."""
    tasks = draw(evaluation=own, results=_results(own), closer=True)
    begin(evaluation=own, tasks=tasks, ordered_by=verification.ordered_by)
    if not _is_verified(own):
        _say_awaiting(own, count=len(tasks))


def _say_awaiting(own: Evaluation, *, count: int) -> None:
    explain(own.pk, source=EvaluationState.COMPLETED, reason=EvaluationReason.AWAITING_VERIFICATION, count=count)


_REASONS: Mapping[str, EvaluationReason] = {
    VerificationVerdict.AGREES: EvaluationReason.VERIFIED,
    VerificationVerdict.DISAGREES: EvaluationReason.VERIFICATION_FAILED,
    VerificationVerdict.IMPOSSIBLE: EvaluationReason.NOT_VERIFIABLE,
}


def _ending(verification: Verification) -> Ending:
    again = verification.evaluation
    if again.state != EvaluationState.COMPLETED:
        return _impossible(_why_impossible(again))
    own = _measured(evaluation=_own_of(verification), tasks=verification.tasks)
    theirs = _measured(evaluation=again, tasks=verification.tasks)
    if lost := [task for task in verification.tasks if task not in own or task not in theirs]:
        return _impossible(f"the records of {len(lost)} tasks are not in the store any more.")
    comparison = comparing.compare(
        own=[own[task] for task in verification.tasks],
        again=[theirs[task] for task in verification.tasks],
        repeatable=kind_of(again.submission.planner).repeatable,
    )
    if comparison.leans and _more_tasks_than(verification):
        verdict, detail = VerificationVerdict.UNDECIDED, comparing.leaning(comparison)
    else:
        verdict = VerificationVerdict.AGREES if comparison.agrees else VerificationVerdict.DISAGREES
        detail = comparing.sentence(comparison)
    return Ending(verdict=verdict, detail=detail, comparison=comparison.as_json())


def _more_tasks_than(verification: Verification) -> bool:
    """Whether a closer look would have more tasks than this one had."""
    own = _own_of(verification)
    possible = len(_comparable(_results(own)))
    return _size(evaluation=own, possible=possible, closer=True) > len(verification.tasks)


def _impossible(detail: str) -> Ending:
    return Ending(verdict=VerificationVerdict.IMPOSSIBLE, detail=detail)


def _why_impossible(again: Evaluation) -> str:
    if again.reason == EvaluationReason.NOT_RUN_AGAIN:
        return again.reason_text[:1000]
    return _WHY_IMPOSSIBLE.get(again.reason, "this site could not run it.")


def _measured(*, evaluation: Evaluation, tasks: Sequence[str]) -> dict[str, comparing.Measured]:
    """What the stored records of these tasks say; those that are gone are left out."""
    store = server_store(split=evaluation.split)
    ranked_by = primary_metric(evaluation.suite)["key"]
    rows = TaskResult.objects.filter(evaluation=evaluation, task__key__in=tasks, outcome__in=list(_COMPARABLE))
    found = {}
    for task, digest in rows.values_list("task__key", "record_digest"):
        record = read_record(store=store, digest=digest)
        if record is not None:
            found[task] = comparing.measured(record=record, ranked_by=ranked_by)
    return found
