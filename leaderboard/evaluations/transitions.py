"""The transitions that are allowed, and the deadlines of the states. Pure: knows no database.

    queued -> launching -> running -> aggregating -> completed
                                      aggregating -> on_hold -> queued (resume) | aggregating (accept)
    queued -> running                 a worker was there already

Every state that is not final may also fail or be cancelled.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from leaderboard.evaluations.models import AttemptState, EvaluationState, ShardState

_S = EvaluationState
_A = AttemptState
_H = ShardState

EVALUATION: Mapping[EvaluationState, frozenset[EvaluationState]] = {
    _S.QUEUED: frozenset({_S.LAUNCHING, _S.RUNNING, _S.FAILED, _S.CANCELLED}),
    _S.LAUNCHING: frozenset({_S.RUNNING, _S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.AGGREGATING: frozenset({_S.COMPLETED, _S.ON_HOLD, _S.FAILED, _S.CANCELLED}),
    _S.ON_HOLD: frozenset({_S.QUEUED, _S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.COMPLETED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELLED: frozenset(),
}

ATTEMPT: Mapping[AttemptState, frozenset[AttemptState]] = {
    _A.LIVE: frozenset({_A.COMPLETED, _A.LOST, _A.FAILED, _A.CANCELLED}),
    _A.COMPLETED: frozenset(),
    _A.LOST: frozenset(),
    _A.FAILED: frozenset(),
    _A.CANCELLED: frozenset(),
}

SHARD: Mapping[ShardState, frozenset[ShardState]] = {
    _H.PENDING: frozenset({_H.LEASED, _H.DONE}),
    _H.LEASED: frozenset({_H.PENDING, _H.DONE}),
    _H.DONE: frozenset(),
}

_TABLES: Mapping[type, Mapping[Any, frozenset[Any]]] = {_S: EVALUATION, _A: ATTEMPT, _H: SHARD}
FINAL = frozenset(state for state, following in EVALUATION.items() if not following)
LAUNCHED = frozenset({_S.LAUNCHING, _S.RUNNING})
"""States in which a worker was asked for."""
LEASABLE = LAUNCHED | {_S.QUEUED}
"""States in which workers may take tasks: one that is there need not wait until another one was asked for."""
CANCELLABLE = frozenset(state for state, following in EVALUATION.items() if _S.CANCELLED in following)

DEADLINES: Mapping[EvaluationState, timedelta | None] = {
    _S.QUEUED: timedelta(hours=24),
    _S.LAUNCHING: None,
    _S.RUNNING: timedelta(hours=6),
    _S.AGGREGATING: timedelta(minutes=15),
    _S.ON_HOLD: timedelta(days=30),
    _S.COMPLETED: None,
    _S.FAILED: None,
    _S.CANCELLED: None,
}
"""How long a state may last; `running` starts again with every result. What then follows: `decisions.decide`.

`launching` lasts until a worker comes: the cluster may be full, or wait for quota, for days. Its reason says what it
waits for; only its owner, or a launcher that gives up, ends it."""


class IllegalTransitionError(Exception):
    """A transition that the table does not know: a mistake in the code that asked for it."""


def check(
    *, source: EvaluationState | ShardState | AttemptState, target: EvaluationState | ShardState | AttemptState
) -> None:
    """Refuse a transition that is not in the table of its states.

    Raises:
        IllegalTransitionError: it is not.
    """
    following = _TABLES[type(source)][source]
    if target not in following:
        allowed = ", ".join(sorted(following)) or "none, it is final"
        raise IllegalTransitionError(f"{type(source).__name__} cannot go from {source} to {target}; allowed: {allowed}")
