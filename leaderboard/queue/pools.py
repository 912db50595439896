"""Worker pools: the evaluations that each may lease, as database conditions, and the number of workers it needs now."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from gpu_jobs.launchers.pools import Needs, Pool, Takes
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, Shard, ShardState
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.roles import kinds_of
from leaderboard.queue.agents.turns import waits_for_agent

MODEL_KINDS = tuple(name for name, kind in KINDS.items() if kind.loads_model)
"""Kinds of planners whose language model a model server loads."""
_ENDPOINT_KINDS = tuple(name for name, kind in KINDS.items() if kind.needs_network and not kind.loads_model)
_KIND = "submission__planner__kind__in"
_ROLE_KINDS = "submission__planner__role_kinds__overlap"
_EXECUTED = Q(suite__conditions__experts=True)
_TAG = "@"


def pools() -> Sequence[Pool]:
    """The pools of this installation, in the operator's order."""
    configured: Sequence[Pool] = settings.WORKER_POOLS
    return configured


def pool_named(name: str) -> Pool | None:
    """The pool of this name; None if the operator has removed it."""
    return next((pool for pool in pools() if pool.name == name), None)


def tag_of(name: str) -> str:
    """The entry of `Attempt.pool` for a worker of this pool. Suites' slugs never start with `@`."""
    return f"{_TAG}{name}"


def tagged(pool: Sequence[str]) -> str:
    """The pool's name in `Attempt.pool`; empty if that lists suites."""
    return next((entry.removeprefix(_TAG) for entry in pool if entry.startswith(_TAG)), "")


def tags_sharing(name: str) -> list[str]:
    """Tags of the pools that may lease some of the same evaluations, this one included."""
    own = pool_named(name)
    return [
        tag_of(name),
        *(tag_of(pool.name) for pool in pools() if own and pool != own and pool.shares_work_with(own)),
    ]


def taken_by(name: str) -> Q:
    """Condition: evaluations that workers of the named pool may lease; matches none if the pool does not exist."""
    pool = pool_named(name)
    return Q(pk__in=[]) if pool is None else _runs(pool)


def scaled_for(pool: Pool) -> Q:
    """Condition: evaluations that this pool is scaled for, which it takes and no earlier pool does."""
    condition = _runs(pool)
    for other in pools():
        if other == pool:
            break
        condition &= ~_runs(other)
    return condition


def without_pool() -> Q:
    """Condition: evaluations that no pool takes."""
    condition = Q()
    for pool in pools():
        condition &= ~_runs(pool)
    return condition


def needs_of(evaluation: Evaluation) -> Needs:
    """What an evaluation requires of its pool. Reads its suite and planner."""
    kinds = [] if evaluation.submission.is_regrade else list(kinds_of(evaluation.submission.planner))
    return Needs(
        executed=evaluation.suite.runs_experts,
        model=any(kind.loads_model for kind in kinds),
        endpoint=any(kind.needs_network and not kind.loads_model for kind in kinds),
    )


def _of_kinds(kinds: Sequence[str], *, path: str = "") -> Q:
    """Condition: evaluations whose planner, or the model of one of its roles, is of one of these kinds.

    Args:
        kinds: names of kinds.
        path: of the lookup, to the evaluation.
    """
    asked = Q(**{f"{path}submission__is_regrade": False})
    return asked & (Q(**{path + _KIND: kinds}) | Q(**{path + _ROLE_KINDS: list(kinds)}))


def _runs(pool: Pool) -> Q:
    """`Pool.runs` as a condition on evaluations."""
    condition = Q()
    if Takes.EXECUTED not in pool.takes:
        condition &= ~_EXECUTED
    if Takes.JUDGED not in pool.takes:
        condition &= _EXECUTED
    if not pool.endpoints:
        condition &= ~_of_kinds(_ENDPOINT_KINDS)
    if Takes.MODELS not in pool.takes:
        condition &= ~_of_kinds(MODEL_KINDS)
    return condition


_ALL = 2**31 - 1
"""More shards than an evaluation can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Current demand for workers of a pool."""

    workers: int
    """Shards that may be leased now or are held by its workers; at most the pool's size."""
    models: int
    """The same for planners whose model a model server loads."""
    open_shards: int
    """Unfinished shards of the evaluations that it is scaled for."""


WORK_BESIDE: list[Callable[[], QuerySet[Any]]] = []
"""Each gives the rows of work of rooms above that waits or runs, for which the first pool that executes plans is
scaled."""


def _beside(pool: Pool) -> Combinable:
    """The count of such work as a part of another query; 0 for other pools."""
    total: Combinable = Value(0)
    if pool == next((one for one in pools() if Takes.EXECUTED in one.takes), None):
        for rows in WORK_BESIDE:
            count = rows().order_by().values(all=Value(1)).annotate(count=Count("*")).values("count")
            total = total + Coalesce(Subquery(count), 0)
    return total


def demand_of(pool: Pool) -> Demand:
    """The demand for a pool, in two queries. Shards that wait for a retry count: they are due within a minute."""
    evaluations = _waiting_evaluations().filter(scaled_for(pool)).exclude(waits_for_agent())
    leasable = Q(
        state=ShardState.PENDING,
        tries__lt=settings.SHARD_TRIES,
        number__lt=Coalesce(F("evaluation__leasable_shards"), _ALL),
    )
    shards = Shard.objects.filter(evaluation__in=evaluations.values("pk")).exclude(state=ShardState.DONE)
    waits = shards.aggregate(
        due=Count("pk", filter=leasable),
        models=Count("pk", filter=leasable & _of_kinds(MODEL_KINDS, path="evaluation__")),
        open=Count("pk"),
    )
    held = Attempt.objects.filter(state=AttemptState.LIVE, pool__contains=[tag_of(pool.name)]).aggregate(
        workers=Count("pk") + _beside(pool),
        models=Count("pk", filter=_of_kinds(MODEL_KINDS, path="shard__evaluation__")),
    )
    return Demand(
        workers=min(pool.most, waits["due"] + held["workers"]),
        models=min(pool.most, waits["models"] + held["models"]),
        open_shards=waits["open"],
    )


def demands() -> dict[str, Demand]:
    """The demand for each pool of this installation."""
    return {pool.name: demand_of(pool) for pool in pools()}


def evaluations_without_pool() -> int:
    """Number of waiting evaluations that no pool takes."""
    return _waiting_evaluations().filter(without_pool()).count() if pools() else 0


def _waiting_evaluations() -> QuerySet[Evaluation]:
    return Evaluation.runs.filter(state__in=states.LEASABLE, own_worker_run__isnull=True)
