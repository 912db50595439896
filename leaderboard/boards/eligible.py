"""Which evaluations may be ranked."""

from django.db.models import Q, QuerySet

from leaderboard.catalog.locks import vouched_for
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import on_boards


def published() -> QuerySet[Evaluation]:
    """Every evaluation that may be ranked on any board: completed, public now, not hidden by an operator, and with
    checkpoints that an operator vouches for."""
    # Results of a self-hosted worker are ranked once a worker of this site has verified them.
    verified = Q(own_worker_run__isnull=True) | Q(own_worker_run__verified_by__isnull=False)
    return Evaluation.objects.filter(verified, on_boards(), vouched_for(), state=EvaluationState.COMPLETED)
