"""Which evaluations may be ranked."""

from django.db.models import Q, QuerySet

from leaderboard.catalog.locks import vouched_for
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import on_boards


def published() -> QuerySet[Evaluation]:
    """Every evaluation that may be ranked on any board: completed on all tasks of its board, public now, not hidden by
    an operator, and with checkpoints that an operator vouches for. A regrade is as trusted as the run whose plans it
    scores."""
    trusted = _verified() & (
        Q(submission__is_regrade=False) | Q(**{f"{_ORIGINAL}hidden_at": None}) & _verified(_ORIGINAL)
    )
    completed = Evaluation.objects.filter(state=EvaluationState.COMPLETED, tasks_missing=0)
    return completed.filter(trusted, on_boards(), vouched_for())


_ORIGINAL = "submission__rerun_of__"


def _verified(path: str = "") -> Q:
    """Results of a self-hosted worker are ranked once a worker of this site has verified them."""
    return Q(**{f"{path}own_worker_run__isnull": True}) | Q(**{f"{path}own_worker_run__verified_by__isnull": False})
