"""Regrading: the stored plans of a completed evaluation are scored under today's judge, scorers or version of the
suite, as a new evaluation. Nobody asks the planner, and nothing is charged.

The new evaluation is a submission whose `rerun_of` is the evaluation that asked the planner, even if a regrade of it is
regraded. Workers get the stored answers in place of the planner; experts and scorers run as for any plan, and find
equal steps in their stores. Tasks that the first run did not ask, or asked in other words, are `not_run`, and so are
those in turns whose planner would act on other results today: no board then ranks the regrade.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evaluator.core.recorded_answers import AFTER_PLANS
from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.base import Panel
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.boards.eligible import published
from leaderboard.catalog.library import (
    RunConditions,
    data_digest,
    library,
    not_run_reasons,
    profile_of,
    samples_of,
)
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations.models import (
    Evaluation,
    EvaluationState,
    Submission,
    SubmitterPriority,
    TaskResult,
)
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.shards import queue_tasks

MOST_AT_ONCE = 25
"""Regrades that one call queues."""
_NOT_ASKED = "The run whose plans are scored again did not ask for this task."
_ASKED_OTHERWISE = "The run whose plans are scored again asked for this task in other words."


class Change(StrEnum):
    """What may differ between the two evaluations."""

    JUDGE = "judge"
    """The rules by which plans are judged."""
    SCORERS = "scorers"
    """Profile, samples or data with which plans are executed and scored."""
    SUITE_VERSION = "suite_version"
    """The version of the suite."""


class Difference(NamedTuple):
    """A condition that differs."""

    change: Change
    name: str
    before: str
    after: str


class BoardProgress(NamedTuple):
    """The progress of a board's regrading."""

    queued: Sequence[Evaluation]
    refused: Sequence[tuple[Evaluation, str]]
    """With a sentence each."""
    left: int
    """Further evaluations, for the next call."""


def differences(*, before: Evaluation, suite: Suite, after: RunConditions) -> list[Difference]:
    """The conditions of an evaluation that differ from others, as on the page of changes."""
    rules = Change.SCORERS if suite.runs_experts else Change.JUDGE
    name = "digest of the profile" if suite.runs_experts else "digest of the judging rules"
    pairs = (
        Difference(Change.SUITE_VERSION, "version of the suite", before.suite.version, suite.version),
        Difference(Change.SUITE_VERSION, "digest of the suite", before.suite.digest, suite.digest),
        Difference(Change.SCORERS, "profile", before.profile, after.profile),
        Difference(rules, name, before.profile_digest, after.profile_digest),
        Difference(Change.SCORERS, "samples", str(before.samples), str(after.samples)),
        Difference(Change.SCORERS, "digest of the data", before.data_digest, after.data_digest),
    )
    return [pair for pair in pairs if pair.before != pair.after]


def regrade(evaluation: Evaluation, *, by: User | None = None, allowed: Sequence[Change] = tuple(Change)) -> Evaluation:
    """Queue the plans of an evaluation to be scored under today's conditions.

    Before: it has completed.
    After: a submission whose `rerun_of` is the evaluation that asked the planner has one queued evaluation, with the
    split, season, visibility, owner and team of that one. Nobody is charged.

    Args:
        evaluation: the evaluation, or a regrade of it.
        by: the operator; None: a command on their machine.
        allowed: what may differ from the conditions of the first run.

    Raises:
        NotPossibleError: it cannot be regraded; nothing was changed.
        NotReadyError: this installation cannot evaluate at present.
    """
    original = _original(evaluation)
    suite = _todays_suite(original)
    conditions = _conditions(original, suite=suite)
    _check_differences(differences(before=original, suite=suite, after=conditions), allowed=allowed)
    if suite.in_turns and conditions.samples > original.samples:
        raise NotPossibleError(
            f"Its planner played {original.samples} samples of each task in turns, and today's rules score "
            f"{conditions.samples}: run it again instead."
        )
    not_run = dict(not_run_reasons(suite=suite, conditions=conditions))
    tasks = list(Task.objects.filter(suite=suite).order_by("position"))
    kept, missing, keys = _sorted(original, tasks=[task for task in tasks if task.key not in not_run])
    with transaction.atomic():
        lock_evaluation(original.pk)
        if (other := _regrades(original).filter(_under(suite=suite, conditions=conditions)).first()) is not None:
            raise NotPossibleError(f"Evaluation {other.pk} has these plans under today's rules.")
        first = original.submission
        submission = Submission.objects.create(
            planner=first.planner,
            submitted_by=first.submitted_by,
            team=first.team,
            rerun_of=original,
            is_regrade=True,
            version=first.version,
            priority=SubmitterPriority.LOW,
            visibility=first.visibility,
            embargo_until=first.embargo_until,
            public_since=first.public_since,
            deterministic=first.deterministic,
            asked_again=first.asked_again,
        )
        again = queue_tasks(
            submission=submission,
            suite=suite,
            conditions=conditions,
            keys=keys,
            tasks_total=len(tasks),
            tasks_not_run=len(not_run) + len(missing),
            tasks_missing=len(missing),
        )
        left_out = {**not_run, **{key: (Reason.NOT_IN_RUN, why) for key, why in missing.items()}}
        TaskResult.objects.bulk_create(
            [
                *(
                    TaskResult(
                        evaluation=again,
                        task=task,
                        outcome=Outcome.NOT_RUN,
                        reason=left_out[task.key][0],
                        reason_text=left_out[task.key][1],
                        causes=[],
                    )
                    for task in tasks
                    if task.key in left_out
                ),
                *(_copied(kept[task.key], task=task, evaluation=again) for task in tasks if task.key in kept),
            ]
        )
        record(
            by=by,
            action=Action.REGRADED,
            target=original,
            label=original.in_words(),
            details={"evaluation": str(again.pk), "suite": f"{suite.slug} {suite.version}"},
        )
    return again


def regrade_board(
    slug: str, *, by: User | None = None, most: int = MOST_AT_ONCE, skip: Sequence[UUID] = ()
) -> BoardProgress:
    """Regrade published evaluations of a suite whose plans no evaluation has under today's conditions, the latest
    first. Runs that their planner's owner has repeated under today's rules are left out.

    May be repeated until nothing is left, and after an interruption.

    Args:
        slug: of the suite.
        by: the operator; None: a command on their machine.
        most: evaluations to queue or refuse in this call.
        skip: evaluations that an earlier call refused.

    Raises:
        NotPossibleError: there is no such suite.
        NotReadyError: this installation cannot evaluate at present.
    """
    suite = Suite.objects.filter(slug=slug, current=True).first()
    if suite is None:
        raise NotPossibleError(f"There is no suite {slug}.")
    waiting = list(_waiting(suite).exclude(pk__in=skip).order_by("-finished", "pk").values_list("pk", flat=True))
    queued, refused = [], []
    for pk in waiting[:most]:
        evaluation = Evaluation.objects.select_related("suite", "submission__planner").get(pk=pk)
        try:
            queued.append(regrade(evaluation, by=by))
        except NotPossibleError as error:
            refused.append((evaluation, str(error)))
    return BoardProgress(queued=queued, refused=refused, left=max(0, len(waiting) - most))


def _waiting(suite: Suite) -> QuerySet[Evaluation]:
    """Published evaluations of any version of a suite that asked their planner under other rules than today's."""
    profile = profile_of(suite)
    rules = library().rules_digest(suite=suite.slug, profile=profile)
    asked = published().filter(suite__slug=suite.slug, submission__is_regrade=False)
    data = {
        data_digest(suite=suite, profile=profile, split=split, season=season)
        for split, season in asked.order_by().values_list("split", "season__name").distinct()
    }
    today = Q(
        suite=suite, profile=profile, profile_digest=rules, samples=samples_of(suite), data_digest__in=data
    )  # fmt: skip
    ended_badly = Q(state__in=[EvaluationState.FAILED, EvaluationState.CANCELLED])
    regrades = Evaluation.objects.filter(today, submission__rerun_of=OuterRef("pk"), submission__is_regrade=True)
    # A re-run of the same version that is on the board under today's rules needs no older plans.
    newer = published().filter(
        today,
        Q(season=OuterRef("season")) | Q(season=None),
        split=OuterRef("split"),
        submission__is_regrade=False,
        submission__planner=OuterRef("submission__planner"),
        submission__version=OuterRef("submission__version"),
        finished__gt=OuterRef("finished"),
    )
    return asked.exclude(today).exclude(Exists(regrades.exclude(ended_badly))).exclude(Exists(newer))


def _original(evaluation: Evaluation) -> Evaluation:
    """The evaluation that asked the planner.

    Raises:
        NotPossibleError: its plans cannot be scored again.
    """
    related = "suite", "season", "own_worker_run", "submission__planner", "submission__submitted_by", "submission__team"
    rows = Evaluation.runs.select_related(*related)
    found = rows.get(pk=evaluation.pk)
    if found.submission.is_regrade:
        assert found.submission.rerun_of_id is not None, "a constraint of the table"
        found = rows.get(pk=found.submission.rerun_of_id)
    if not found.is_submitted:
        raise NotPossibleError("This belongs to another evaluation: regrade that one.")
    if found.state != EvaluationState.COMPLETED:
        raise NotPossibleError("Only a completed evaluation can be regraded.")
    if found.hidden_at is not None:
        raise NotPossibleError(f"An operator has hidden it: {found.hidden_reason}")
    own = getattr(found, "own_worker_run", None)
    if own is not None and own.verified_by_id is None:
        raise NotPossibleError(
            "Its plans come from a self-hosted worker, and this site has not verified them: have it verified first."
        )
    return found


def _todays_suite(original: Evaluation) -> Suite:
    suite = Suite.objects.filter(slug=original.suite.slug, current=True).first()
    if suite is None:
        raise NotPossibleError(f"This site has no suite {original.suite.slug} any more.")
    if suite != original.suite and (original.split == HIDDEN or suite.has(Panel.GRIDS)):
        raise NotPossibleError(
            f"Its requests follow from version {original.suite.version} of the suite, and those of version "
            f"{suite.version} may be others: run it again instead."
        )
    return suite


def _conditions(original: Evaluation, *, suite: Suite) -> RunConditions:
    """Today's conditions on the split and in the season of the first run."""
    profile = profile_of(suite)
    season: Season | None = original.season
    digest = data_digest(
        suite=suite, profile=profile, split=original.split, season=None if season is None else season.name
    )
    return RunConditions(
        profile=profile,
        profile_digest=library().rules_digest(suite=suite.slug, profile=profile),
        split=original.split,
        samples=samples_of(suite),
        data_digest=digest,
        season=season,
    )


def _check_differences(found: Sequence[Difference], *, allowed: Sequence[Change]) -> None:
    if not found:
        raise NotPossibleError(
            "Nothing would change: it was scored under today's rules, data and version of the suite."
        )
    if excluded := [one for one in found if one.change not in allowed]:
        one = excluded[0]
        raise NotPossibleError(
            f"The {one.name} differs too ({one.before[:12]}, now {one.after[:12]}): allow the change of "
            f"{one.change.replace('_', ' ')} as well."
        )


def _regrades(original: Evaluation) -> QuerySet[Evaluation]:
    """Its regrades that have not ended without scores."""
    ended = [state.value for state in FINAL if state != EvaluationState.COMPLETED]
    regrades = Evaluation.objects.filter(submission__rerun_of=original, submission__is_regrade=True)
    return regrades.exclude(state__in=ended)


def _under(*, suite: Suite, conditions: RunConditions) -> Q:
    digests = {name: getattr(conditions, name) for name in ("profile", "profile_digest", "samples", "data_digest")}
    return Q(suite=suite, **digests)


def _sorted(original: Evaluation, *, tasks: Sequence[Task]) -> tuple[dict[str, TaskResult], dict[str, str], list[str]]:
    """The tasks that can run today, by what there is of them.

    Returns:
        (rows to copy, why there is no answer by task, keys of the tasks with an answer). Rows to copy are faults of the
        planner without an answer that could be scored: lost workers, and faults that the owner accepted, except of
        experts and scorers, which get the plan again.
    """
    rows = {row.task.key: row for row in original.results.exclude(outcome=Outcome.NOT_RUN).select_related("task")}
    kept: dict[str, TaskResult] = {}
    missing: dict[str, str] = {}
    keys: list[str] = []
    for task in tasks:
        row = rows.get(task.key)
        if row is None:
            missing[task.key] = _NOT_ASKED
        elif row.task.text != task.text or row.task.structure != task.structure:
            missing[task.key] = _ASKED_OTHERWISE
        elif not row.record_digest or (row.accepted and row.reason not in AFTER_PLANS):
            kept[task.key] = row
        else:
            keys.append(task.key)
    return kept, missing, keys


def _copied(row: TaskResult, *, task: Task, evaluation: Evaluation) -> TaskResult:
    copied = ("outcome", "reason", "reason_text", "score", "causes", "seconds", "planning_seconds", "accepted")
    return TaskResult(evaluation=evaluation, task=task, **{name: getattr(row, name) for name in copied})
