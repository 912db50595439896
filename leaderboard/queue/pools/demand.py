"""How many workers and model servers a pool needs now: what its scaler asks."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Coalesce

from gpu_jobs.launchers.pools import Pool
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, Shard, ShardState
from leaderboard.queue.agents.presence import waits_for_agent
from leaderboard.queue.pools.scope import MODEL_KINDS, pools, scaled_for, tag_of, without_pool

_ALL = 2**31 - 1
"""More shards than an evaluation can have."""
_KIND = "evaluation__submission__planner__kind__in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a pool needs at one moment."""

    workers: int
    """Shards that may be leased now and those that its workers hold; at most the pool's size."""
    models: int
    """The same of planners whose model a model server loads."""
    open_shards: int
    """Shards that are not done, of the evaluations that it is scaled for."""


def demand_of(pool: Pool) -> Demand:
    """What a pool needs now, in two queries. A shard that waits for another try counts: it is due within a minute."""
    evaluations = _waiting().filter(scaled_for(pool)).exclude(waits_for_agent())
    leasable = Q(
        state=ShardState.PENDING,
        tries__lt=settings.SHARD_TRIES,
        number__lt=Coalesce(F("evaluation__leasable_shards"), _ALL),
    )
    shards = Shard.objects.filter(evaluation__in=evaluations.values("pk")).exclude(state=ShardState.DONE)
    waits = shards.aggregate(
        due=Count("pk", filter=leasable),
        models=Count("pk", filter=leasable & Q(**{_KIND: MODEL_KINDS})),
        open=Count("pk"),
    )
    held = Attempt.objects.filter(state=AttemptState.LIVE, pool__contains=[tag_of(pool.name)]).aggregate(
        shards=Count("pk"), models=Count("pk", filter=Q(**{f"shard__{_KIND}": MODEL_KINDS}))
    )
    return Demand(
        workers=min(pool.most, waits["due"] + held["shards"]),
        models=min(pool.most, waits["models"] + held["models"]),
        open_shards=waits["open"],
    )


def demands() -> dict[str, Demand]:
    """What each pool of this installation needs now."""
    return {pool.name: demand_of(pool) for pool in pools()}


def evaluations_without_pool() -> int:
    """How many evaluations wait although no pool takes them."""
    return _waiting().filter(without_pool()).count() if pools() else 0


def _waiting() -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(state__in=transitions.LEASABLE, own_worker_run__isnull=True)
