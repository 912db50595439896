"""Verification of results of self-hosted workers: a random sample of the tasks is run again and compared.

    self-hosted evaluation completed -> sample drawn -> second evaluation (`verifies` the first), leased by operators'
    workers only -> it ends -> compared -> the first evaluation is ranked, or explains why not; or a larger sample is
    drawn, if the first sample favours the owner

The queue treats the second evaluation like any other; lists, boards, quotas and emails exclude it. The sample is drawn
when all results have arrived, so that nobody knows earlier which tasks will be run again. A request after a failure
that was not the planner's gets the same sample, so that owners gain nothing by making the planner unavailable when they
see the tasks. Only staff get a new sample.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evaluator.core.records import Outcome
from leaderboard.catalog.library import RunConditions, library
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, TaskResult
from leaderboard.evaluations.results.devices import UNKNOWN_CLASS, computing_classes_of, devices_of
from leaderboard.evaluations.results.differing import differ
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.states import explain
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.messages.notices import notify_of_verdict
from leaderboard.people.models import User
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.operators import is_operator
from leaderboard.queue import comparing
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.models import OwnWorkerRun, Verification, VerificationVerdict
from leaderboard.queue.publishing import publish_again
from leaderboard.queue.shards import queue_tasks

MOST_IN_A_DAY = 3
"""Requested verifications of one evaluation in 24 hours; the automatic one does not count."""
CLOSER_LOOK = 3
"""Factor by which the sample grows if the first one favours the owner."""
DISTRUST = timedelta(days=30)
"""How long all tasks of a user are run again after results were contradicted."""
_COMPARABLE = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT})
_WHY_IMPOSSIBLE: Mapping[str, str] = {
    EvaluationReason.CANARY_FAILED: "the planner answered neither canary task.",
    EvaluationReason.NO_WORKER: "no worker of this site took the tasks.",
    EvaluationReason.OTHER_RULES: "this site asks or scores otherwise since it was upgraded.",
    EvaluationReason.STALLED: "no task finished within the time limit.",
}
"""Why the second evaluation ended without results, as the end of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Outcome of a verification."""

    verdict: VerificationVerdict
    detail: str
    """The end of a sentence."""
    comparison: dict[str, Any] | None = None


def draw(*, evaluation: Evaluation, results: Sequence[TaskResult], closer: bool = False) -> list[str]:
    """Keys of a random sample of the tasks that ended with a plan or a fault of the planner.

    Scored tasks come first: the canary is among the first tasks, and a planner that answered it for its owner has to
    answer it here. Faults that the owner accepted are excluded: they claim no result.

    Args:
        evaluation: the self-hosted evaluation.
        results: of all its tasks.
        closer: draw `CLOSER_LOOK` times as many.
    """
    possible = _comparable(results)
    size = _size(evaluation=evaluation, possible=len(possible), closer=closer)
    # Not from a seed: a predictable sample would allow forging the other tasks.
    chosen = secrets.SystemRandom().sample(possible, k=size)
    chosen.sort(key=lambda row: (row.outcome != Outcome.SCORED, row.task.position))
    return [row.task.key for row in chosen]


def _comparable(results: Sequence[TaskResult]) -> list[TaskResult]:
    return [row for row in results if row.outcome in _COMPARABLE and not row.accepted]


def _size(*, evaluation: Evaluation, possible: int, closer: bool) -> int:
    """Size of the sample.

    All tasks if results of this user were contradicted recently and not confirmed since: repeated submissions of forged
    results must not reach the board because one sample misses them.
    """
    wrong = Verification.objects.filter(
        verdict=VerificationVerdict.DISAGREES,
        settled_at__gte=timezone.now() - DISTRUST,
        evaluation__submission__submitted_by=evaluation.submission.submitted_by_id,
        evaluation__verifies__own_worker_run__verified_by=None,
    )
    if wrong.exists():
        return possible
    return min(possible, settings.VERIFY_TASKS * (CLOSER_LOOK if closer else 1))


def begin(*, evaluation: Evaluation, tasks: Sequence[str], ordered_by: User | None = None) -> Evaluation:
    """Queue the second evaluation, which runs these tasks again.

    Before: within the transaction that completed the evaluation, or has locked it; no verification of it is open.
    After: the second evaluation is `queued` with its shards, under the conditions of the first one.
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
    """Request a verification: owners may if there was none or it could not be carried out, staff at any time.

    Before: nothing; several requests may be concurrent.
    After: exactly one verification is open, and the evaluation's reason says so.

    Raises:
        NotPossibleError: it is not possible now; nothing was changed.
    """
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if why := why_not(user=user, evaluation=current):
            raise NotPossibleError(why)
        latest = latest_of(current)
        if latest is not None and not is_operator(user):
            tasks = list(latest.tasks)
        else:
            tasks = draw(evaluation=current, results=_results(current))
        if not tasks:
            raise NotPossibleError("No task of this evaluation ended with a result that could be compared.")
        again = begin(evaluation=current, tasks=tasks, ordered_by=user)
        if not _is_verified(current):
            _explain_awaiting(current, count=len(tasks))
    return again


def why_not(*, user: User, evaluation: Evaluation) -> str:
    """Why this user may not request a verification of this evaluation now, as a sentence; empty if they may."""
    # Current if the evaluation was read with it or is locked.
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
    requests = Verification.objects.filter(
        evaluation__verifies=evaluation, ordered_by__isnull=False, created__gte=since
    ).count()
    if requests >= MOST_IN_A_DAY:
        return f"{MOST_IN_A_DAY} verifications of this evaluation were requested in the last 24 hours: try again later."
    return ""


def latest_of(evaluation: Evaluation) -> Verification | None:
    """The newest verification of an evaluation."""
    return Verification.objects.filter(evaluation__verifies=evaluation).order_by("-created", "-pk").first()


def _results(evaluation: Evaluation) -> list[TaskResult]:
    return list(evaluation.results.select_related("task").order_by("task__position"))


def _is_verified(evaluation: Evaluation) -> bool:
    return OwnWorkerRun.objects.filter(evaluation=evaluation, verified_by__isnull=False).exists()


def open_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """The second evaluations among these that have no verdict."""
    verifications = Verification.objects.filter(pk__in=evaluation_ids, verdict=VerificationVerdict.OPEN)
    return frozenset(verifications.values_list("pk", flat=True))


def unsettled() -> list[UUID]:
    """Second evaluations that have ended and have no verdict yet."""
    ended = [state.value for state in states.FINAL]
    verifications = Verification.objects.filter(verdict=VerificationVerdict.OPEN, evaluation__state__in=ended)
    return list(verifications.order_by("created").values_list("pk", flat=True))


def settle(evaluation_id: UUID) -> bool:
    """Decide a verification whose evaluation has ended, and apply the verdict.

    Before: nothing is assumed; another process may have been faster.
    After: the verdict is set, the verified evaluation shows it and is ranked or not, and its owner is notified, all in
    one transaction (True); or there was nothing to do and nothing changed (False).
    """
    related = "evaluation__verifies__suite", "evaluation__submission__planner"
    undecided = Verification.objects.filter(pk=evaluation_id, verdict=VerificationVerdict.OPEN)
    verification = undecided.select_related(*related).first()
    if verification is None or verification.evaluation.state not in states.FINAL:
        return False
    # Both evaluations are final: what is read here does not change.
    ending = _ending(verification)
    own = _own_of(verification)
    with transaction.atomic():
        lock_evaluation(own.pk)
        changed = Verification.objects.filter(pk=verification.pk, verdict=VerificationVerdict.OPEN).update(
            verdict=ending.verdict, detail=ending.detail, comparison=ending.comparison, settled_at=timezone.now()
        )
        if changed:
            _apply(ending, own=own, verification=verification)
    return bool(changed)


def _own_of(verification: Verification) -> Evaluation:
    """The verified evaluation."""
    own = verification.evaluation.verifies
    assert own is not None
    return own


def _apply(ending: Ending, *, own: Evaluation, verification: Verification) -> None:
    was_verified = _is_verified(own)
    if ending.verdict == VerificationVerdict.UNDECIDED:
        # A new sample, larger than the first.
        tasks = draw(evaluation=own, results=_results(own), closer=True)
        begin(evaluation=own, tasks=tasks, ordered_by=verification.ordered_by)
        if not was_verified:
            _explain_awaiting(own, count=len(tasks))
        return
    if ending.verdict == VerificationVerdict.IMPOSSIBLE and was_verified:
        # Staff repeated a verification: a failure that is not the planner's does not revoke the first one.
        return
    agrees = ending.verdict == VerificationVerdict.AGREES
    OwnWorkerRun.objects.filter(evaluation=own).update(verified_by=verification if agrees else None)
    explain(own.pk, source=EvaluationState.COMPLETED, reason=_REASONS[ending.verdict], detail=ending.detail)
    if agrees or was_verified:
        # What its plans scored under other rules is ranked with it.
        ranked = Q(pk=own.pk) | Q(submission__rerun_of=own.pk, submission__is_regrade=True)
        for changed in Evaluation.objects.filter(ranked, state=EvaluationState.COMPLETED).select_related(
            "suite", "submission__planner"
        ):
            publish_again(changed)
    notify_of_verdict(evaluation_id=own.pk, agrees=agrees)


def _explain_awaiting(own: Evaluation, *, count: int) -> None:
    explain(own.pk, source=EvaluationState.COMPLETED, reason=EvaluationReason.AWAITING_VERIFICATION, count=count)


_REASONS: Mapping[str, EvaluationReason] = {
    VerificationVerdict.AGREES: EvaluationReason.VERIFIED,
    VerificationVerdict.DISAGREES: EvaluationReason.VERIFICATION_FAILED,
    VerificationVerdict.IMPOSSIBLE: EvaluationReason.NOT_VERIFIABLE,
}


def _ending(verification: Verification) -> Ending:
    again = verification.evaluation
    if again.state != EvaluationState.COMPLETED:
        if again.reason == EvaluationReason.NOT_RUN_AGAIN:
            return _impossible(again.reason_text[:1000])
        return _impossible(_WHY_IMPOSSIBLE.get(again.reason, "this site could not run it."))
    own = _measured(evaluation=_own_of(verification), tasks=verification.tasks)
    theirs = _measured(evaluation=again, tasks=verification.tasks)
    if lost := [task for task in verification.tasks if task not in own or task not in theirs]:
        return _impossible(f"the records of {len(lost)} tasks are no longer in the store.")
    evaluation = _own_of(verification)
    comparison = comparing.compare(
        own=[own[task] for task in verification.tasks],
        again=[theirs[task] for task in verification.tasks],
        repeatable=kind_of(again.submission.planner).repeatable,
        rule=_rule(own=evaluation, again=again) if evaluation.suite.runs_experts else None,
    )
    largest = _size(evaluation=evaluation, possible=len(_comparable(_results(evaluation))), closer=True)
    if comparison.leans and largest > len(verification.tasks):
        verdict, detail = VerificationVerdict.UNDECIDED, comparing.leaning(comparison)
    else:
        verdict = VerificationVerdict.AGREES if comparison.agrees else VerificationVerdict.DISAGREES
        detail = comparing.sentence(comparison)
    return Ending(verdict=verdict, detail=detail, comparison=comparison.as_json())


def _rule(*, own: Evaluation, again: Evaluation) -> comparing.Rule:
    first, second = (evaluation.provenance or {} for evaluation in (own, again))
    classes = computing_classes_of(first) | computing_classes_of(second)
    return comparing.Rule(
        one_class=len(classes) == 1 and UNKNOWN_CLASS not in classes,
        own=tuple(map(str, devices_of(first))),
        again=tuple(map(str, devices_of(second))),
        tolerances=library().tolerances(profile=own.profile),
        differ=partial(differ, store=server_store(split=own.split)),
    )


def _impossible(detail: str) -> Ending:
    return Ending(verdict=VerificationVerdict.IMPOSSIBLE, detail=detail)


def _measured(*, evaluation: Evaluation, tasks: Sequence[str]) -> dict[str, comparing.Measured]:
    """The stored records of these tasks; tasks without a record are left out."""
    store = server_store(split=evaluation.split)
    ranked_by = primary_metric(evaluation.suite)["key"]
    optional = frozenset(column.key for column in evaluation.suite.columns if column.is_optional)
    rows = TaskResult.objects.filter(evaluation=evaluation, task__key__in=tasks, outcome__in=list(_COMPARABLE))
    results = {}
    for task, digest in rows.values_list("task__key", "record_digest"):
        record = read_record(store=store, digest=digest)
        if record is not None:
            results[task] = comparing.measured(record=record, ranked_by=ranked_by, optional=optional)
    return results
