"""Time slices: when a planner gives its worker to somebody else's work. Pure: knows no database.

A planner that hangs cannot be told from one that is slow. So foreign planners have time slices: an attempt that has
held its worker for a slice is set aside if another user's work waits, and its evaluation counts as slow from then on.
While other work waits, slow evaluations have one worker (of several); among each other their slices double each time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from gpu_jobs.contract import Phase

SLICED_PHASES = frozenset({Phase.FETCHING, Phase.LOADING, Phase.PLANNING})
"""Phases whose duration the planner decides. Executing plans is the site's own work, and bounded by the engine."""
_MOST_DOUBLINGS = 5


class Standing(IntEnum):
    """What is known of how long an evaluation's planner holds a worker. Lower values go first."""

    PROVEN = 0
    """It comes with the site, or it or another planner of its user has answered tasks before."""
    NEW = 1
    """Nothing is known yet."""
    SLOW = 2
    """It was set aside in this evaluation; or it is new, and another planner of its user was set aside lately."""


class Holding(NamedTuple):
    """An attempt that holds a worker."""

    attempt: UUID
    user: int
    standing: Standing
    held_seconds: float
    times_set_aside: int = 0
    """Of its evaluation."""
    is_sliced: bool = True
    """Whether its planner is foreign and decides how long the present phase takes."""


class Waiting(NamedTuple):
    """A user with shards of evaluations of one standing that no worker has taken."""

    user: int
    standing: Standing


def lease_tiers(*, others: Sequence[Standing], lately_set_aside: bool) -> Mapping[Standing, int]:
    """In which tier evaluations are leased, by standing; fair share orders each tier. Every tier is served in the end,
    so that no worker idles.

    Args:
        others: the standings of what the other workers hold.
        lately_set_aside: whether any attempt was set aside within the last minutes. Only where this worker is alone.
    """
    # The last worker is for proven planners. A single worker tries others too, but not one that hangs after another.
    proven_only = all(one is not Standing.PROVEN for one in others) if others else lately_set_aside
    has_slow = Standing.SLOW in others
    return {
        Standing.PROVEN: 0,
        Standing.NEW: 1 if proven_only else 0,
        Standing.SLOW: 2 if proven_only or has_slow else 0,
    }


def set_aside(
    *, holdings: Sequence[Holding], waiting: Sequence[Waiting], workers: int, slice_seconds: float
) -> frozenset[UUID]:
    """The attempts that leave their workers to what waits: at most one for each entry of `waiting`.

    Args:
        holdings: what all workers that share their work hold.
        waiting: what none of them has taken although it could.
        workers: how many these workers are.
        slice_seconds: for which every attempt may hold its worker.
    """
    held = Counter(holding.user for holding in holdings)
    slow = [holding for holding in holdings if holding.standing is Standing.SLOW]
    # Slow planners would never get to their first answer if whatever else waits came before all of them.
    kept = max(slow, key=lambda one: one.held_seconds).attempt if slow and workers > 1 else None
    chosen: set[UUID] = set()
    for one in sorted(waiting, key=lambda evaluation: evaluation.standing):
        giving = [
            holding
            for holding in holdings
            if holding.attempt not in chosen
            and _gives_way(holding, to=one, held=held, is_kept=holding.attempt == kept, slice_seconds=slice_seconds)
        ]
        if giving:
            first = max(giving, key=lambda one: (one.attempt != kept, one.standing, one.held_seconds))
            chosen.add(first.attempt)
    return frozenset(chosen)


def patience(*, times_set_aside: int, slice_seconds: float) -> float:
    """Seconds that an attempt may hold its worker while only slow evaluations wait."""
    return float(slice_seconds * 2 ** min(times_set_aside, _MOST_DOUBLINGS))


def _gives_way(holding: Holding, *, to: Waiting, held: Mapping[int, int], is_kept: bool, slice_seconds: float) -> bool:
    if not holding.is_sliced or holding.user == to.user or holding.held_seconds < slice_seconds:
        return False
    if to.standing is Standing.SLOW:
        enough = patience(times_set_aside=holding.times_set_aside, slice_seconds=slice_seconds)
        return holding.held_seconds >= enough and held[to.user] < held[holding.user]
    return not is_kept or not held[to.user]
