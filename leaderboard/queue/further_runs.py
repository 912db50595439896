"""Further runs: before a submitted evaluation completes, its planner is asked again for a random part of the tasks.

    all tasks have ended -> tasks drawn -> further evaluations (`member_of` the first, `is_further_run`) -> they end ->
    the scores are computed over all runs -> the first evaluation completes

The queue treats a further run like any other evaluation: it is leased in shards, fenced, resumed and accepted. Lists,
boards and quotas leave it out: an evaluation's charge covers its further runs. The tasks are drawn when all results
have arrived, so that nobody knows earlier which tasks are asked again. A planner that is known or declared to be
deterministic is asked once more for a few tasks. If an answer differs, the claim is contradicted, and tasks are drawn
as for any other planner.

An evaluation waits for its further runs as `aggregating`, without a deadline of its own: each of them has deadlines. A
run that failed or was cancelled has no results, and the evaluation completes without it. A run that waits when a
release with other rules is installed fails (`steps.follow_release`), since no row may mix rules: the evaluation
completes with the runs that it has, and is refunded.
"""

import secrets
from collections.abc import Collection, Sequence
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from evaluator.core.records import ResultRecord
from evaluator.reliability.further_runs import (
    COMPARABLE,
    Claim,
    RunsReport,
    check_size,
    differing_tasks,
    drawn,
    report_of,
    sample_size,
)
from leaderboard.catalog.library import RunConditions
from leaderboard.evaluations.models import AskedAgain, Evaluation, EvaluationReason, EvaluationState, TaskResult
from leaderboard.evaluations.results.run_records import records_of
from leaderboard.evaluations.states import CANCELLABLE, FINAL, Entered, advance, deadline_of, explain
from leaderboard.planners import roles
from leaderboard.planners.kinds import kind_of
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.leasing.leases import cancel_attempts
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.queue.shards import queue_tasks
from leaderboard.queue.stopping import enqueue_reconcile
from leaderboard.queue.workers.own import runs_on_own_worker

_ENDED = [state.value for state in FINAL]
_UPGRADED = (
    "The site was upgraded before the further runs ended, and its new release asks or scores otherwise. The evaluation "
    "was refunded: please submit again."
)

_REGRADED = "Its stored plans were scored again, and the planner was not asked."


def claim_of(evaluation: Evaluation) -> Claim:
    """What is said about the planner of an evaluation before it is asked again."""
    planner = evaluation.submission.planner
    if not kind_of(planner).can_be_asked_again:
        return Claim.FIXED
    samples = roles.samples(planner)
    if samples is None:
        return Claim.DECLARED if evaluation.submission.deterministic else Claim.NONE
    return Claim.NONE if samples else Claim.KNOWN


def waiting_among(evaluation_ids: Collection[UUID]) -> frozenset[UUID]:
    """The evaluations among these that have a further run that has not ended."""
    running = Evaluation.runs.filter(member_of__in=evaluation_ids, is_further_run=True).exclude(state__in=_ENDED)
    return frozenset(pk for pk in running.values_list("member_of", flat=True) if pk is not None)


def ask_again(*, evaluation: Evaluation, results: Sequence[TaskResult]) -> bool:
    """Queue the further runs that are due, and return whether the evaluation waits for any.

    Before: the evaluation is `aggregating`, and all its tasks have ended without open faults.
    After: it waits for further runs, explains so, and has no deadline (True); or none is due (False).
    """
    claim = claim_of(evaluation)
    if not settings.FURTHER_RUNS or claim is Claim.FIXED or evaluation.submission.is_regrade:
        return False
    runs = list(evaluation.further_runs)
    if any(run.state not in FINAL for run in runs):
        return True
    is_checked = claim is not Claim.NONE and evaluation.submission.asked_again == AskedAgain.TENTH
    is_check = is_checked and not runs
    if runs and not (is_checked and _contradicts(runs=runs, evaluation=evaluation)):
        _restart_deadline(evaluation)
        return False
    tasks = _drawn(results, share=None if is_check else AskedAgain(evaluation.submission.asked_again).share)
    if not tasks:
        return False
    first = max((run.repetition for run in runs), default=1) + 1
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        unchanged = (current.state, current.attempt) == (EvaluationState.AGGREGATING, evaluation.attempt)
        if not unchanged or current.further_runs.count() != len(runs):
            # Another process was faster.
            return True
        for repetition in range(first, first + (1 if is_check else settings.FURTHER_RUNS)):
            _queue(evaluation=current, tasks=tasks, repetition=repetition)
        Evaluation.runs.filter(pk=current.pk).update(state_deadline=None)
        reason = EvaluationReason.ASKED_AGAIN
        explain(current.pk, source=EvaluationState.AGGREGATING, reason=reason, count=len(tasks))
    return True


def _contradicts(*, runs: Sequence[Evaluation], evaluation: Evaluation) -> bool:
    """Whether there was only a check so far, and an answer differs."""
    return len(runs) == 1 and differing_tasks(_records(evaluation=evaluation, runs=runs))[1] > 0


def _drawn(results: Sequence[TaskResult], *, share: float | None) -> list[str]:
    """Randomly drawn tasks: this share of them, or as many as check a claim."""
    # What the owner accepted as a fault is no answer of the planner.
    tasks = [row.task.key for row in results if row.outcome in COMPARABLE and not row.accepted]
    size = check_size(len(tasks)) if share is None else sample_size(len(tasks), share=share)
    # Not from a seed: who knew the tasks could answer others by chance.
    return drawn(tasks, size=size, rng=secrets.SystemRandom())


def _queue(*, evaluation: Evaluation, tasks: Sequence[str], repetition: int) -> Evaluation:
    run = queue_tasks(
        submission=evaluation.submission,
        suite=evaluation.suite,
        conditions=RunConditions.of(evaluation),
        keys=tasks,
        tasks_total=len(tasks),
        member_of=evaluation,
        is_further_run=True,
        repetition=repetition,
        priority=evaluation.priority,
    )
    if runs_on_own_worker(evaluation.pk):
        # The site may have no access to the planner.
        OwnWorkerRun.objects.create(evaluation=run)
    return run


def may_be_asked_again(evaluation: Evaluation) -> bool:
    """Whether more tasks of a planner may follow those of an evaluation, or of a further run, that have ended."""
    first = evaluation
    if evaluation.is_further_run:
        assert evaluation.member_of is not None, "a constraint of the table"
        first = evaluation.member_of
    is_open = first.is_submitted and first.state not in FINAL and first.summary is None
    return bool(settings.FURTHER_RUNS) and is_open


def _restart_deadline(evaluation: Evaluation) -> None:
    """Give an evaluation whose further runs have ended the time that computing scores may take."""
    waiting = Evaluation.runs.filter(pk=evaluation.pk, state=EvaluationState.AGGREGATING, state_deadline=None)
    waiting.update(state_deadline=deadline_of(EvaluationState.AGGREGATING, now=Now()))


def completed_runs(evaluation: Evaluation) -> list[Evaluation]:
    """The further runs with results, in the order of their numbers."""
    return list(evaluation.further_runs.filter(state=EvaluationState.COMPLETED))


def report(evaluation: Evaluation) -> RunsReport:
    """The report of an evaluation whose further runs have ended."""
    if evaluation.submission.is_regrade:
        return _report_of_regrade(evaluation)
    return report_of(
        claim=claim_of(evaluation),
        runs=_records(evaluation=evaluation, runs=completed_runs(evaluation)),
        why=_missing(evaluation),
    )


def _report_of_regrade(evaluation: Evaluation) -> RunsReport:
    """Equal answers stay equal under other rules. How much the scores of a planner that varies differ under them is
    unknown: only its first run is scored again."""
    original = evaluation.submission.rerun_of
    assert original is not None, "a constraint of the table"
    before = (original.summary or {}).get("runs")
    if before and (known := RunsReport.from_json(before)).is_deterministic:
        return known
    return report_of(claim=claim_of(evaluation), runs=[], why=_REGRADED)


def _missing(evaluation: Evaluation) -> str:
    """Why runs have no results, as a sentence; empty if all have."""
    if not settings.FURTHER_RUNS:
        return "This site asks no planner again."
    failed = evaluation.further_runs.exclude(state=EvaluationState.COMPLETED).first()
    if failed is not None and failed.reason == EvaluationReason.OTHER_RULES:
        return _UPGRADED
    return "" if failed is None else f"Run {failed.repetition}: {failed.reason_text}"[:1000]


def _records(*, evaluation: Evaluation, runs: Sequence[Evaluation]) -> list[dict[str, ResultRecord]]:
    """The records of the first run and of further ones by task, those of the first for the others' tasks only."""
    further = [records_of(run)[0] for run in runs]
    tasks = {task for run in further for task in run}
    return [records_of(evaluation, tasks=tasks)[0], *further]


def follow_further_runs(event: Entered) -> None:
    """Go on with an evaluation whose further run has ended, and cancel the further runs of one that ends without
    completing, in the transaction of the transition."""
    if event.state not in FINAL:
        return
    run = Evaluation.runs.filter(pk=event.evaluation_id).values_list("member_of", "is_further_run").get()
    if run[1]:
        assert run[0] is not None, "a constraint of the table"
        enqueue_reconcile(run[0])
    elif event.state != EvaluationState.COMPLETED:
        _cancel_runs(event.evaluation_id)


def _cancel_runs(evaluation_id: UUID) -> None:
    running = Evaluation.runs.filter(member_of=evaluation_id, is_further_run=True, state__in=CANCELLABLE)
    for pk in list(running.order_by("pk").values_list("pk", flat=True)):
        run = lock_evaluation(pk)
        if run.state in CANCELLABLE:
            advance(run, target=EvaluationState.CANCELLED, reason=EvaluationReason.CANCELLED_TOO)
            cancel_attempts(run.pk)
