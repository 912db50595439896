"""Actions of owners on their evaluations, the list of submissions, and re-runs. Final states stay final, so a re-run is
a new submission under today's conditions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.catalog.hidden_data import DataRefusedError
from leaderboard.catalog.library import data_of_rerun
from leaderboard.catalog.models import Suite
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, Visibility
from leaderboard.evaluations.visibility import NotPossibleError, acted_on_by, done_count, is_public
from leaderboard.people.models import User
from leaderboard.people.teams import is_member
from leaderboard.planners import roles
from leaderboard.planners.services import check_planner, data_of
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.submissions import services
from leaderboard.submissions.services import mark


class OwnerAction(NamedTuple):
    """An action of the owner, with the texts of its confirmation."""

    url: str
    label: str
    sentence: str
    confirm: str
    tone: str
    button: str


RESUME = OwnerAction(
    url="evaluations:resume",
    label="Resume",
    sentence="Runs the tasks with infrastructure faults again, and only these; where they are many, one of "
    "them first. Everything else stays as it is.",
    confirm="Resume these tasks",
    tone="",
    button="primary",
)
ACCEPT = OwnerAction(
    url="evaluations:accept",
    label="Accept as planner faults",
    sentence="The tasks with infrastructure faults then score 0, and the evaluation is ranked. This cannot be undone.",
    confirm="Accept and rank",
    tone="warning",
    button="danger",
)
CANCEL = OwnerAction(
    url="evaluations:cancel",
    label="Cancel",
    sentence="Ends the evaluation. It is never ranked, and its results so far stay visible. This cannot be undone.",
    confirm="Cancel this evaluation",
    tone="error",
    button="danger",
)
RERUN = OwnerAction(
    url="evaluations:rerun",
    label="Run again",
    sentence="Submits the planner again for this suite, under today's conditions. It counts towards the quota like any "
    "submission, and this evaluation stays as it is.",
    confirm="Run it again",
    tone="",
    button="primary",
)
REGRADE = OwnerAction(
    url="planners:regrade",
    label="Regrade",
    sentence="Scores the stored plans under today's judge, scorers and version of the suite, as a new evaluation. Its "
    "planner is not asked, and this evaluation stays as it is.",
    confirm="Regrade its plans",
    tone="",
    button="",
)
"""Of operators."""
VERIFY = OwnerAction(
    url="evaluations:verify",
    label="Verify",
    sentence="A worker of this site repeats a sample of the tasks. If the results agree, the evaluation is ranked.",
    confirm="Have it verified",
    tone="",
    button="primary",
)


def allowed_actions(evaluation: Evaluation) -> tuple[OwnerAction, ...]:
    """The actions of the owner in the evaluation's current state."""
    actions: tuple[OwnerAction, ...] = ()
    if evaluation.verifies_id is not None:
        return actions
    if evaluation.state == EvaluationState.ON_HOLD:
        actions += (RESUME, ACCEPT)
    if evaluation.state in states.CANCELLABLE:
        actions += (CANCEL,)
    if evaluation.state in states.FINAL and evaluation.is_submitted:
        actions += (RERUN,)
    return actions


class ListedEvaluation(NamedTuple):
    """An evaluation of a submission."""

    evaluation: Evaluation
    metric: str
    """Label of the column that its suite ranks by."""
    value: Mapping[str, Any] | None
    """Its value in that column; None: none yet."""
    actions: tuple[OwnerAction, ...]


class ListedSubmission(NamedTuple):
    """A submission with its evaluations, at least one."""

    submission: Submission
    evaluations: tuple[ListedEvaluation, ...]


def submissions_of(user: User) -> QuerySet[Submission]:
    """The user's own submissions and those of their teams, newest first."""
    entered = Evaluation.objects.annotate(done=done_count())
    own = Submission.objects.filter(acted_on_by(user)).select_related("planner__secret", "submitted_by", "team")
    evaluations = Prefetch("evaluations", entered.select_related("suite").order_by("created"))
    return own.prefetch_related(evaluations).order_by("-created")


def listed(submission: Submission) -> ListedSubmission:
    """The row of a submission that came from `submissions_of`."""
    evaluations = []
    for evaluation in submission.evaluations.all():
        column = evaluation.suite.ranking_column
        value = ranged(metrics=(evaluation.summary or {}).get("metrics") or {}, column=column)
        evaluations.append(ListedEvaluation(evaluation, column.label, value, allowed_actions(evaluation)))
    return ListedSubmission(submission, tuple(evaluations))


def rerun(evaluation: Evaluation, *, by: User, for_owner: bool = False) -> Submission:
    """Submit the evaluation's planner again for the same suite.

    Before: the evaluation has ended in any state.
    After: a submission whose `rerun_of` is this evaluation has one queued evaluation under today's conditions. It runs
    on the submitter's self-hosted worker if this one did, and has the same visibility. It is charged to `by`, who
    submits it, and to the team of the first submission; with `for_owner` the first submitter submits it again, and
    nobody is charged.

    Raises:
        NotPossibleError: it has not ended, or suite or planner cannot be submitted today; nothing was changed.
        FieldErrors: it would run hidden data on a self-hosted worker; nothing was changed.
        QuotaExceededError: `by` has no quota left today; nothing was changed.
        NotReadyError: this installation cannot evaluate at present.
    """
    before = Evaluation.runs.select_related(
        "suite", "submission__planner", "submission__submitted_by", "submission__team"
    ).get(pk=evaluation.pk)
    suite = _todays_suite(before)
    try:
        entries = services.look_up([suite], choice=data_of_rerun(suite=suite, before=before.split))
    except DataRefusedError as error:
        raise NotPossibleError(str(error)) from error
    first = before.submission
    was_public = is_public(first)
    submitter = first.submitted_by if for_owner else by
    own_worker = runs_on_own_worker(before.pk)
    if own_worker and roles.has_secret(first.planner) and submitter.pk != first.planner.owner_id:
        raise NotPossibleError(
            "Only the planner's owner can re-run this: it would run on your self-hosted worker, "
            "which would get data that only its owner may know."
        )
    with transaction.atomic():
        submission = Submission.objects.create(
            planner=first.planner,
            submitted_by=submitter,
            # Only if the submitter is still a member.
            team=first.team if is_member(user_id=submitter.pk, team_id=first.team_id) else None,
            rerun_of=before,
            version=first.version,
            priority=first.priority,
            # An embargo that has ended is public.
            visibility=Visibility.PUBLIC if was_public else first.visibility,
            embargo_until=None if was_public else first.embargo_until,
            deterministic=first.deterministic,
            asked_again=first.asked_again,
        )
        try:
            services.enter(submission=submission, entries=entries, charged=not for_owner)
        except DataRefusedError as error:
            raise NotPossibleError(str(error)) from error
        if own_worker:
            mark(submission)
        record(
            by=by,
            action=Action.RERUN,
            target=before,
            label=before.in_words(),
            details={"submission": str(submission.pk), "charged": not for_owner},
        )
    return submission


def _todays_suite(evaluation: Evaluation) -> Suite:
    """The current version of the suite.

    Raises:
        NotPossibleError: the evaluation cannot be run again.
    """
    if evaluation.verifies_id is not None:
        raise NotPossibleError("This is a verification: run the evaluation again that it verifies.")
    if evaluation.is_further_run:
        raise NotPossibleError("This is a further run of another evaluation: run that one again.")
    if evaluation.member_of_id is not None:
        raise NotPossibleError("This is part of a reliability profile: complete the profile instead.")
    if evaluation.state not in states.FINAL:
        label = EvaluationState(evaluation.state).label.lower()
        raise NotPossibleError(f"The evaluation is {label!r}; only one that has ended can be run again.")
    suite = Suite.objects.filter(slug=evaluation.suite.slug, current=True).first()
    if suite is None:
        raise NotPossibleError(f"The suite {evaluation.suite.slug} cannot be submitted to any more.")
    if problems := check_planner(data_of(evaluation.submission.planner)):
        why = " ".join(text for texts in problems.values() for text in texts)
        raise NotPossibleError(f"The planner could not be submitted like this today: {why}")
    return suite
