"""How long the queue is, for who is about to submit."""

from typing import NamedTuple

from django.db.models import Count, Q

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import EvaluationState, Shard, ShardState


class Queue(NamedTuple):
    """What the site's workers have to do at present; what runs on own workers is not among it."""

    evaluations: int
    shards: int
    """That are not done."""
    leased: int
    """Of these, how many a worker has at the moment."""


def queue_now() -> Queue:
    """The queue as it is now, in one query."""
    under_way = [EvaluationState.QUEUED, *transitions.LEASABLE]
    open_shards = Shard.objects.filter(evaluation__state__in=under_way, evaluation__own_worker_run__isnull=True)
    found = open_shards.exclude(state=ShardState.DONE).aggregate(
        evaluations=Count("evaluation", distinct=True),
        shards=Count("pk"),
        leased=Count("pk", filter=Q(state=ShardState.LEASED)),
    )
    return Queue(**found)
