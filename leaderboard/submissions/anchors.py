"""The anchors of boards: every bundled planner that understands a suite, submitted once under today's conditions."""

from collections.abc import Sequence

from evaluator.planners.named import offline_planners
from leaderboard.catalog.library import conditions_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.people.models import User
from leaderboard.planners.data import NAME, PlannerData
from leaderboard.planners.kinds.bundled import BundledKind
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import request_profile, why_not
from leaderboard.submissions.services import SubmissionData, resume, submit, validate

OWNER = "planarena"
"""Name of the account that anchors are submitted by. Nobody can sign in to it."""


def anchors_of(suite: str) -> list[str]:
    """Names of the bundled planners that understand the suite with this slug."""
    return [planner.name for planner in offline_planners().values() if planner.understands(suite)]


def submit_anchors(*, suite: str, names: Sequence[str]) -> Sequence[Evaluation]:
    """Submit those of these bundled planners that have no evaluation yet, and return the evaluations of all of them.

    No quota counts them. An evaluation that waits for its owner is resumed; one that failed or was cancelled is
    submitted again.

    Raises:
        FieldErrors: a planner does not understand the suite, or the site has no hidden data at present.
        NotReadyError: this installation cannot evaluate the suite at present.
    """
    # Weight 0: everybody else's planners go first.
    owner, made = User.objects.get_or_create(username=OWNER, defaults={"queue_weight": 0})
    if made:
        owner.set_unusable_password()
        owner.save()
    elif owner.queue_weight == 1:  # the default, of an account that an earlier release made
        owner.queue_weight = 0
        owner.save(update_fields=["queue_weight"])
    return [_evaluation(name=name, suite=suite, owner=owner) for name in names]


def profile_anchors(evaluations: Sequence[Evaluation]) -> int:
    """Have the reliability of anchors measured where that is possible and was not asked for yet, and return for how
    many it was asked now. No quota counts the runs.

    Raises:
        NotReadyError: this installation cannot evaluate at present.
    """
    asked = 0
    for evaluation in evaluations:
        current = Evaluation.runs.select_related("suite", "submission__planner", "submission__submitted_by").get(
            pk=evaluation.pk
        )
        if ReliabilityProfile.objects.filter(pk=current.pk).exists() or why_not(current):
            continue
        request_profile(current, by=current.submission.submitted_by, charged=False)
        asked += 1
    return asked


def _planner_name(name: str) -> str:
    """The name of the planner on the site: its bundled one; without the models where it would be too long."""
    return name.partition(":")[0] if NAME.problem(name) else name


def _evaluation(*, name: str, suite: str, owner: User) -> Evaluation:
    found = Suite.objects.get(slug=suite, current=True)
    present = (
        Evaluation.objects.filter(
            submission__planner__owner=owner,
            submission__planner__name=_planner_name(name),
            suite=found,
            **conditions_of(found)._asdict(),
        )
        .exclude(state__in=[EvaluationState.FAILED, EvaluationState.CANCELLED])
        .order_by("-created")
        .first()
    )
    if present is not None:
        if present.state == EvaluationState.ON_HOLD:
            resume(present)
        return present
    description = offline_planners()[name].description
    planner = PlannerData.of(
        name=_planner_name(name), kind=BundledKind.kind, bundled_name=name, description=description
    )
    valid = validate(user=owner, data=SubmissionData(planner=planner, suites=[suite]))
    return submit(valid, charged=False).evaluations.get()
