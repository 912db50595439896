"""The work that waits for the site's workers or that they have now."""

from typing import NamedTuple

from django.db.models import Count, Q, QuerySet

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Shard, ShardState

UNDER_WAY = transitions.LEASABLE


class Queue(NamedTuple):
    """The work of the site's workers, without that of self-hosted ones: shards that are not done, and how many of them
    a worker has now."""

    evaluations: int
    shards: int
    leased: int


def queue_now() -> Queue:
    """The queue as it is now, in one query."""
    evaluations, leased = Count("evaluation", distinct=True), Count("pk", filter=Q(state=ShardState.LEASED))
    return Queue(**open_shards().aggregate(evaluations=evaluations, shards=Count("pk"), leased=leased))


def open_shards() -> QuerySet[Shard]:
    """Shards that the site's workers have not done yet."""
    of_site = Shard.objects.filter(evaluation__state__in=UNDER_WAY, evaluation__own_worker_run__isnull=True)
    return of_site.exclude(state=ShardState.DONE)
