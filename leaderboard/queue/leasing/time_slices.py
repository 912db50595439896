"""Time slices: when a planner's worker gives way to other users' work. Pure: no database.

A hanging planner cannot be distinguished from a slow one. So submitted planners have time slices: an attempt that has
held its worker for a slice is set aside if another user's work waits, and its evaluation then counts as slow. While
other work waits, slow evaluations share one worker (of several); among themselves their slices double each time.
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
    """How quickly an evaluation's planner is known to answer. Lower values go first."""

    PROVEN = 0
    """It is bundled with the site, or it or another planner of its user has answered tasks before."""
    NEW = 1
    """Unknown."""
    SLOW = 2
    """It was set aside in this evaluation; or it is new, and another planner of its user was set aside recently."""


class Holding(NamedTuple):
    """An attempt that holds a worker."""

    attempt: UUID
    user: int
    standing: Standing
    held_seconds: float
    times_set_aside: int = 0
    """Of its evaluation."""
    is_sliced: bool = True
    """Whether a submitted planner determines the duration of the current phase."""


class Waiting(NamedTuple):
    """A user with unleased shards of evaluations of one standing."""

    user: int
    standing: Standing


def lease_tiers(*, others: Sequence[Standing], lately_set_aside: bool) -> Mapping[Standing, int]:
    """The tier in which evaluations are leased, by standing; fair share orders each tier. A worker goes on to the next
    tier rather than idle.

    Args:
        others: the standings of the planners that the other workers run.
        lately_set_aside: whether any attempt was set aside within the last minutes. Used only if this worker is alone.
    """
    # The last worker is for proven planners. A single worker runs others too, unless one hung recently.
    proven_only = all(other is not Standing.PROVEN for other in others) if others else lately_set_aside
    has_slow = Standing.SLOW in others
    return {
        Standing.PROVEN: 0,
        Standing.NEW: 1 if proven_only else 0,
        Standing.SLOW: 2 if proven_only or has_slow else 0,
    }


def set_aside(
    *, holdings: Sequence[Holding], waiting: Sequence[Waiting], workers: int, slice_seconds: float
) -> frozenset[UUID]:
    """The attempts that give way to waiting work: at most one for each entry of `waiting`.

    Args:
        holdings: attempts of all workers of the pool.
        waiting: work that any of these workers could lease.
        workers: number of these workers.
        slice_seconds: how long an attempt may always hold its worker.
    """
    held = Counter(holding.user for holding in holdings)
    slow = [holding for holding in holdings if holding.standing is Standing.SLOW]
    # One slow planner is protected: otherwise none would reach its first answer while other work waits.
    protected = max(slow, key=lambda holding: holding.held_seconds).attempt if slow and workers > 1 else None
    chosen: set[UUID] = set()
    for user in sorted(waiting, key=lambda entry: entry.standing):
        candidates = [
            holding
            for holding in holdings
            if holding.attempt not in chosen
            and _gives_way(
                holding,
                to=user,
                held=held,
                is_protected=holding.attempt == protected,
                slice_seconds=slice_seconds,
            )
        ]
        if candidates:
            first = max(candidates, key=lambda entry: (entry.attempt != protected, entry.standing, entry.held_seconds))
            chosen.add(first.attempt)
    return frozenset(chosen)


def patience(*, times_set_aside: int, slice_seconds: float) -> float:
    """Seconds that an attempt may hold its worker while only slow evaluations wait."""
    return float(slice_seconds * 2 ** min(times_set_aside, _MOST_DOUBLINGS))


def _gives_way(
    holding: Holding, *, to: Waiting, held: Mapping[int, int], is_protected: bool, slice_seconds: float
) -> bool:
    if not holding.is_sliced or holding.user == to.user or holding.held_seconds < slice_seconds:
        return False
    if to.standing is Standing.SLOW:
        enough = patience(times_set_aside=holding.times_set_aside, slice_seconds=slice_seconds)
        return holding.held_seconds >= enough and held[to.user] < held[holding.user]
    return not is_protected or not held[to.user]
