"""What the demo submits: each bundled planner once for the present suite, profile, split and number of samples."""

from collections.abc import Sequence

from evaluator.planners.bundled import DESCRIPTIONS
from leaderboard.accounts.models import User
from leaderboard.catalog.conditions import conditions_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds.bundled import BundledKind
from leaderboard.submissions.services import SubmissionData, resume, submit, validate

OWNER = "planarena"
SUITE = "openagi"


def submit_bundled(names: Sequence[str]) -> Sequence[Evaluation]:
    """Submit those of these bundled planners that have no evaluation yet, and return the evaluations of all of them.

    An evaluation that an earlier demo began is taken up again; one that failed or was cancelled is made anew.
    """
    owner, made = User.objects.get_or_create(username=OWNER)
    if made:
        owner.set_unusable_password()
        owner.save()
    return [_evaluation(name=name, owner=owner) for name in names]


def _evaluation(*, name: str, owner: User) -> Evaluation:
    suite = Suite.objects.get(slug=SUITE, current=True)
    present = (
        Evaluation.objects.filter(
            verifies=None,
            submission__planner__owner=owner,
            submission__planner__name=name,
            suite=suite,
            **conditions_of(suite)._asdict(),
        )
        .exclude(state__in=[EvaluationState.FAILED, EvaluationState.CANCELLED])
        .order_by("-created")
        .first()
    )
    if present is not None:
        if present.state == EvaluationState.ON_HOLD:
            resume(present)
        return present
    planner = PlannerData.of(name=name, kind=BundledKind.kind, bundled_name=name, description=DESCRIPTIONS[name])
    valid = validate(user=owner, data=SubmissionData(planner=planner, suites=[SUITE]))
    return submit(valid).evaluations.get()
