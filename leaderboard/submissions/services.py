"""Submitting planners, and resuming, accepting and cancelling evaluations; shared by pages, API and admin.

Callers check permissions first (`evaluations/visibility.py`). `by` is recorded in the audit log and named in the reason
that the owner reads; None is a command on the operator's machine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from evaluator.core.records import Outcome, Reason
from evaluator.core.suggestions import as_sentence, no_such
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.catalog.hidden_data import USUAL_DATA, DataChoice, DataRefusedError, in_asking_order
from leaderboard.catalog.hidden_data import problems as data_problems
from leaderboard.catalog.library import RunConditions, conditions_of, not_run_reasons, tasks_per_shard
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import (
    AskedAgain,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Shard,
    Submission,
    SubmitterPriority,
    TaskResult,
)
from leaderboard.evaluations.states import CANCELLABLE, OPEN_FAULTS, advance
from leaderboard.evaluations.visibility import NotPossibleError, in_words
from leaderboard.evaluations.visibility import check as check_visibility
from leaderboard.people.models import Team, User
from leaderboard.people.teams import teams_of
from leaderboard.planners import roles
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.services import ValidPlanner, enter_planner, planner_problems, validate_planner
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.leasing.leases import cancel_attempts
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.queue.shards import add_shards, queue_tasks, split
from leaderboard.queue.stopping import enqueue_reconcile
from leaderboard.queue.unreachable import count_against_planner
from leaderboard.quotas.services import charge, check_planner_limit
from leaderboard.submissions.fields import ASKED_AGAIN, DETERMINISTIC, PRIORITIES, PRIORITY, VERSION, VISIBILITY


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionData(DataChoice):
    """A submission as entered, not validated."""

    planner: PlannerData
    suites: Sequence[str]
    team: str = ""
    """Slug of the team; empty: the user alone."""
    version: str = ""
    """Of the planner, as the submitter names it."""
    priority: str = PRIORITY.default
    """Among the user's own evaluations: `low`, `normal` or `high`."""
    visibility: str = VISIBILITY.default
    embargo_until: datetime | None = None
    """End of the embargo, if there is one."""
    deterministic: bool = DETERMINISTIC.default
    """Whether the planner answers the same request alike in every run."""
    asked_again: str = ASKED_AGAIN.default
    """For how many tasks it is asked again: one of `AskedAgain`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidSubmission:
    """A validated submission; only `validate` returns it."""

    user: User
    planner: ValidPlanner
    entries: "Sequence[SuiteEntry]"
    team: Team | None
    version: str
    priority: SubmitterPriority
    visibility: str
    embargo_until: datetime | None
    deterministic: bool
    asked_again: AskedAgain


def validate(*, user: User, data: SubmissionData) -> ValidSubmission:
    """Validate a submission and look up its suites, team and planner. Changes nothing.

    May take seconds, since it asks other services: call it outside transactions.

    Raises:
        FieldErrors: a field is invalid.
        NotReadyError: this installation cannot evaluate at present.
    """
    named, wrong = _look_up_names(user=user, data=data)
    planner = validate_planner(owner=user, data=data.planner, suites=data.suites, besides=wrong)
    try:
        entries = look_up(named.suites, choice=data)
    except DataRefusedError as error:
        raise FieldErrors(error.errors) from error
    return ValidSubmission(
        user=user,
        planner=planner,
        entries=entries,
        team=named.team,
        version=VERSION.clean(data.version),
        priority=PRIORITIES[data.priority],
        visibility=data.visibility,
        embargo_until=data.embargo_until,
        deterministic=data.deterministic,
        asked_again=AskedAgain(data.asked_again),
    )


def problems(*, user: User, data: SubmissionData) -> Errors:
    """Errors in a submission by field. Asks no other service and changes nothing."""
    _, wrong = _look_up_names(user=user, data=data)
    return planner_problems(owner=user, data=data.planner, suites=data.suites, besides=wrong)


class _Named(NamedTuple):
    """Suites and team of a submission."""

    suites: Sequence[Suite]
    team: Team | None


def _look_up_names(*, user: User, data: SubmissionData) -> tuple[_Named, Errors]:
    """Suites and team, and errors in all fields but the planner's."""
    suites, wrong_suites = _find_suites(data.suites)
    team = teams_of(user).filter(slug=data.team).first() if data.team else None
    wrong_team = {"team": [f"You are in no team {data.team!r}."]} if data.team and team is None else {}
    wrong_priority = {} if data.priority in PRIORITIES else {"priority": [f"Choose one of {', '.join(PRIORITIES)}."]}
    wrong_visibility = check_visibility(visibility=data.visibility, embargo_until=data.embargo_until)
    unfit = VERSION.problem(VERSION.clean(data.version))
    wrong = {**wrong_suites, **wrong_team, **({"version": [unfit]} if unfit else {}), **data_problems(data)}
    return _Named(suites, team), {**wrong, **wrong_priority, **wrong_visibility, **_wrong_claim(data)}


def _wrong_claim(data: SubmissionData) -> Errors:
    kind = KINDS.get(data.planner.kind)
    if data.asked_again not in AskedAgain.values:
        return {ASKED_AGAIN.name: [f"Choose one of {', '.join(AskedAgain.values)}."]}
    if data.asked_again != AskedAgain.TENTH and not settings.FURTHER_RUNS:
        return {ASKED_AGAIN.name: ["This site asks no planner again: leave this out."]}
    if data.asked_again != AskedAgain.TENTH and kind is not None and not kind.can_be_asked_again:
        return {ASKED_AGAIN.name: [f"{kind.noun} has one run by nature: leave this out."]}
    if not data.deterministic or kind is None or roles.may_declare_determinism(data.planner):
        return {}
    return {DETERMINISTIC.name: [f"{kind.noun} needs no such claim: this site knows whether it samples."]}


def submit(valid: ValidSubmission, *, charged: bool = True) -> Submission:
    """Enter a planner for suites.

    Before: nothing.
    After: planner, submission, one evaluation per suite with its shards, and the results of tasks that cannot run are
    stored; the reconciler is notified after the commit.

    Raises:
        FieldErrors: since the validation, the owner entered another planner of this name, or the hidden data were
            published; nothing was changed.
        QuotaExceededError: user or team has no quota left today; nothing was changed.
        PlannerLimitError: the planner reached its limit on these hidden data; nothing was changed.
    """
    with transaction.atomic():
        submission = Submission.objects.create(
            planner=enter_planner(valid.planner),
            submitted_by=valid.user,
            team=valid.team,
            version=valid.version,
            priority=valid.priority,
            visibility=valid.visibility,
            embargo_until=valid.embargo_until,
            deterministic=valid.deterministic,
            asked_again=valid.asked_again,
        )
        try:
            enter(submission=submission, entries=valid.entries, charged=charged)
        except DataRefusedError as error:
            raise FieldErrors(error.errors) from error
        record(
            by=valid.user,
            action=Action.SUBMITTED,
            target=submission,
            label=submission.planner.name,
            details={
                "suites": [entry.suite.slug for entry in valid.entries],
                "team": valid.team.slug if valid.team else "",
                "visibility": valid.visibility,
            },
        )
    return submission


class SuiteEntry(NamedTuple):
    """A suite with the conditions of a new evaluation."""

    suite: Suite
    conditions: RunConditions
    not_run: Mapping[str, tuple[Reason, str]]
    """By task, why it cannot run under these conditions."""


def look_up(suites: Iterable[Suite], *, choice: DataChoice = USUAL_DATA) -> list[SuiteEntry]:
    """Today's conditions of these suites, in the order in which they are charged.

    Raises:
        DataRefusedError: the chosen data do not accept submissions now.
        NotReadyError: this installation cannot evaluate at present.
    """
    # Sorted, so that concurrent submissions lock the balances in the same order.
    ordered = sorted(suites, key=lambda suite: suite.slug)
    entries = []
    for suite in ordered:
        conditions = conditions_of(suite, choice=choice)
        entries.append(SuiteEntry(suite, conditions, not_run_reasons(suite=suite, conditions=conditions)))
    return entries


def enter(*, submission: Submission, entries: Sequence[SuiteEntry], charged: bool = True) -> None:
    """Queue one evaluation of the submission for each of these suites.

    Before: within a transaction, which must be rolled back after an error.

    Raises:
        DataRefusedError: the hidden data were published in the meantime.
        QuotaExceededError: user or team has no quota left today.
        PlannerLimitError: the planner reached its limit on these hidden data.
    """
    for entry in entries:
        evaluation = _queue(submission=submission, entry=entry)
        if charged:
            amount = AskedAgain(submission.asked_again).charged
            charge(user=submission.submitted_by, team=submission.team, evaluation=evaluation, amount=amount)
            check_planner_limit(evaluation)


def _find_suites(slugs: Sequence[str]) -> tuple[list[Suite], dict[str, list[str]]]:
    if not slugs:
        return [], {"suites": ["Choose at least one suite."]}
    if len(set(slugs)) != len(slugs):
        return [], {"suites": ["A suite is named twice."]}
    suites = {suite.slug: suite for suite in Suite.objects.filter(slug__in=slugs, current=True)}
    if unknown := [slug for slug in slugs if slug not in suites]:
        known = Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True)
        return [], {"suites": [as_sentence(no_such("suite", unknown[0], known))]}
    return [suites[slug] for slug in slugs], {}


_NOT_IN_RUN = "The imported run has no answer to this request."


def _queue(*, submission: Submission, entry: SuiteEntry) -> Evaluation:
    suite, conditions, not_run = entry
    tasks = list(Task.objects.filter(suite=suite).order_by("position"))
    kind = KINDS[submission.planner.kind]
    runnable = [task.key for task in tasks if task.key not in not_run]
    missing = kind.left_out(planner=submission.planner, tasks=runnable)
    not_run = {**not_run, **dict.fromkeys(missing, (Reason.NOT_IN_RUN, _NOT_IN_RUN))}
    evaluation = queue_tasks(
        submission=submission,
        suite=suite,
        conditions=conditions,
        keys=[task.key for task in tasks if task.key not in not_run],
        tasks_total=len(tasks),
        tasks_not_run=sum(task.key in not_run for task in tasks),
        tasks_missing=len(missing),
    )
    TaskResult.objects.bulk_create(
        TaskResult(
            evaluation=evaluation,
            task=task,
            outcome=Outcome.NOT_RUN,
            reason=not_run[task.key][0],
            reason_text=not_run[task.key][1],
            causes=[],
        )
        for task in tasks
        if task.key in not_run
    )
    return evaluation


def resume(evaluation: Evaluation, *, by: User | None = None) -> int:
    """Run the tasks again that have no score because of open faults (`OPEN_FAULTS`). Returns their number.

    Before: the evaluation is `on_hold`.
    After: it is `queued` with its attempt raised by one; new shards contain these tasks, the first of many as a canary;
    their results are deleted.

    Raises:
        NotPossibleError: it is in another state.
    """
    with transaction.atomic():
        current = _locked(evaluation, state=EvaluationState.ON_HOLD, verb="resumed")
        faults = TaskResult.objects.filter(OPEN_FAULTS, evaluation=current)
        open_keys = list(faults.order_by("task__position").values_list("task__key", flat=True))
        keys = in_asking_order(open_keys, suite=current.suite, of=current)
        shards, leasable = split(submission=current.submission, keys=keys, size=tasks_per_shard(current.suite))
        first = Shard.objects.filter(evaluation=current).count()
        advance(
            current,
            target=EvaluationState.QUEUED,
            reason=EvaluationReason.RESUMED,
            facts={"count": len(keys), "who": in_words(by=by, submission=current.submission)},
            raise_fence=True,
            launch_handle="",
            canaries_from=first,
            leasable_shards=None if leasable is None else first + leasable,
        )
        faults.delete()
        add_shards(evaluation=current, shards=shards)
        _note(by=by, action=Action.RESUMED, evaluation=current, after=EvaluationState.QUEUED, tasks=len(keys))
        enqueue_reconcile(current.pk)
    return len(keys)


def accept(evaluation: Evaluation, *, by: User | None = None) -> int:
    """Count the tasks that `resume` would run as faults of the planner. Returns their number.

    Before: the evaluation is `on_hold`.
    After: it is `aggregating`; these tasks are `planner_fault` with a score of 0, marked as accepted.

    Raises:
        NotPossibleError: it is in another state.
    """
    with transaction.atomic():
        current = _locked(evaluation, state=EvaluationState.ON_HOLD, verb="accepted")
        count = count_against_planner(current)
        advance(
            current,
            target=EvaluationState.AGGREGATING,
            reason=EvaluationReason.ACCEPTED,
            facts={"count": count, "who": in_words(by=by, submission=current.submission)},
            # A process that read the results before must not put it on hold again.
            raise_fence=True,
        )
        _note(by=by, action=Action.ACCEPTED, evaluation=current, after=EvaluationState.AGGREGATING, tasks=count)
        enqueue_reconcile(current.pk)
    return count


def cancel(evaluation: Evaluation, *, by: User | None = None) -> None:
    """Cancel an evaluation.

    Before: it is in any state that is not final.
    After: it is `cancelled`, further calls of its workers are refused, and tasks without a result are `cancelled`.

    Raises:
        NotPossibleError: it has ended already.
    """
    with transaction.atomic():
        current = _locked(evaluation, state=None, verb="cancelled")
        advance(
            current,
            target=EvaluationState.CANCELLED,
            reason=EvaluationReason.CANCELLED_BY_OWNER,
            facts={"who": in_words(by=by, submission=current.submission)},
        )
        _note(by=by, action=Action.CANCELLED, evaluation=current, after=EvaluationState.CANCELLED)
        cancel_attempts(current.pk)


def _note(
    *, by: User | None, action: Action, evaluation: Evaluation, after: EvaluationState, **details: object
) -> None:
    """Record a change of state; `evaluation` has the state before it."""
    change = {"before": {"state": evaluation.state}, "after": {"state": str(after)}}
    record(by=by, action=action, target=evaluation, label=evaluation.in_words(), details={**change, **details})


def _locked(evaluation: Evaluation, *, state: EvaluationState | None, verb: str) -> Evaluation:
    current = Evaluation.runs.select_for_update().get(pk=evaluation.pk)
    if current.verifies_id is not None:
        raise NotPossibleError(f"This is the verification of evaluation {current.verifies_id}; it cannot be {verb}.")
    allowed = CANCELLABLE if state is None else {state}
    if current.state not in allowed:
        needed = "has not ended" if state is None else f"is {state.label.lower()!r}"
        label = EvaluationState(current.state).label
        raise NotPossibleError(f"The evaluation is {label.lower()!r}; only one that {needed} can be {verb}.")
    return current


def submit_for_own_worker(valid: ValidSubmission) -> Submission:
    """Enter a planner that only self-hosted workers of its submitter evaluate.

    Before: nothing.
    After: as `submit`, and every evaluation is marked.

    Raises:
        FieldErrors: the data are hidden; nothing was changed.
    """
    with transaction.atomic():
        submission = submit(valid)
        mark(submission)
    return submission


def mark(submission: Submission) -> None:
    """Reserve the evaluations of a new submission for self-hosted workers of its submitter.

    Before: within a transaction, which must be rolled back after an error.

    Raises:
        FieldErrors: the data are hidden, which only the site's workers may see.
    """
    evaluations = list(submission.evaluations.select_related("suite"))
    if hidden := [evaluation.suite.slug for evaluation in evaluations if evaluation.split == HIDDEN]:
        raise FieldErrors(
            {"own_worker": [f"{hidden[0]} has hidden data on this site, which only the site's workers may see."]}
        )
    OwnWorkerRun.objects.bulk_create(OwnWorkerRun(evaluation=evaluation) for evaluation in evaluations)
