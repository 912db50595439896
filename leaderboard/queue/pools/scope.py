"""Which evaluations a worker pool may lease, as conditions on the database."""

from collections.abc import Sequence

from django.conf import settings
from django.db.models import Q

from gpu_jobs.launchers.pools import Needs, Pool, Takes
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.kinds import KINDS, kind_of

MODEL_KINDS = tuple(name for name, kind in KINDS.items() if kind.loads_model)
"""Kinds of planners whose language model a model server loads."""
_ENDPOINT_KINDS = tuple(name for name, kind in KINDS.items() if kind.needs_network and not kind.loads_model)
_KIND = "submission__planner__kind__in"
_EXECUTED = Q(suite__conditions__experts=True)
_TAG = "@"


def pools() -> Sequence[Pool]:
    """The pools of this installation, in the operator's order."""
    found: Sequence[Pool] = settings.WORKER_POOLS
    return found


def pool_named(name: str) -> Pool | None:
    """The pool of this name; None if the operator has removed it."""
    return next((pool for pool in pools() if pool.name == name), None)


def tag_of(name: str) -> str:
    """What `Attempt.pool` says of a worker of this pool. No slug of a suite begins like it."""
    return f"{_TAG}{name}"


def tagged(pool: Sequence[str]) -> str:
    """The name of the pool that `Attempt.pool` names; empty if it lists suites."""
    return next((entry.removeprefix(_TAG) for entry in pool if entry.startswith(_TAG)), "")


def tags_sharing(name: str) -> list[str]:
    """The tags of all pools that may lease some of the same evaluations, this one included."""
    own = pool_named(name)
    return [
        tag_of(name),
        *(tag_of(pool.name) for pool in pools() if own and pool != own and pool.shares_work_with(own)),
    ]


def taken_by(name: str) -> Q:
    """The evaluations that workers of the pool of this name may lease; none if there is no such pool."""
    pool = pool_named(name)
    return Q(pk__in=[]) if pool is None else _runs(pool)


def scaled_for(pool: Pool) -> Q:
    """The evaluations that this pool is scaled for: those that it takes and no pool before it does."""
    found = _runs(pool)
    for other in pools():
        if other == pool:
            break
        found &= ~_runs(other)
    return found


def without_pool() -> Q:
    """The evaluations that no pool takes."""
    found = Q()
    for pool in pools():
        found &= ~_runs(pool)
    return found


def needs_of(evaluation: Evaluation) -> Needs:
    """What an evaluation needs of its pool. Reads its suite and planner."""
    kind = kind_of(evaluation.submission.planner)
    return Needs(
        executed=evaluation.suite.runs_experts,
        model=kind.loads_model,
        endpoint=kind.needs_network and not kind.loads_model,
    )


def _runs(pool: Pool) -> Q:
    """`Pool.runs` of the evaluation's needs."""
    suites = {Takes.EXECUTED: _EXECUTED, Takes.JUDGED: ~_EXECUTED}
    found = Q()
    for takes, condition in suites.items():
        if takes not in pool.takes:
            found &= ~condition
    if not pool.endpoints:
        found &= ~Q(**{_KIND: _ENDPOINT_KINDS})
    if Takes.MODELS not in pool.takes:
        found &= ~Q(**{_KIND: MODEL_KINDS})
    return found
