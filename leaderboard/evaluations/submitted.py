"""Which evaluations were submitted. The others follow from one that was: verifications, and members of reliability
profiles. They run some or all of its tasks, are reached from its pages, and are on no board and in no list."""

from django.db.models import Q

from leaderboard.evaluations.models import Evaluation


def submitted(*, prefix: str = "") -> Q:
    """Condition on evaluations, or on what leads to them by `prefix`: they were submitted."""
    return Q(**{f"{prefix}verifies": None, f"{prefix}member_of": None})


def is_submitted(evaluation: Evaluation) -> bool:
    """`submitted` for an evaluation that was read already."""
    return evaluation.verifies_id is None and evaluation.member_of_id is None
