"""Work of rooms above for workers that find no shard to lease."""

from collections.abc import Callable

from leaderboard.queue.workers.tokens import Holder

WAITING: list[Callable[[], bool]] = []
"""Each says whether some work waits; registered in `leaderboard.wiring`."""


def serves_everybody(holder: Holder) -> bool:
    """Whether a worker is an operator's and bound to no evaluation or suite."""
    token = holder.token
    if holder.owner_id is not None or holder.evaluation_id is not None or holder.suites is not None:
        return False
    return token is None or (token.evaluation is None and not token.suite)


def has_work_for(holder: Holder) -> bool:
    """Whether work waits that this worker may do beside evaluations."""
    return serves_everybody(holder) and any(waits() for waits in WAITING)
