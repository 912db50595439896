"""Work of rooms above, which workers do when they find no shard to lease, or in turn with shards once it is overdue."""

from collections.abc import Callable

from gpu_jobs.launchers.pools import Takes
from leaderboard.queue.pools import pool_named
from leaderboard.queue.workers.tokens import Holder

WAITING: list[Callable[[], bool]] = []
"""Each says whether some work waits; registered in `leaderboard.wiring`."""
OVERDUE: list[Callable[[str], bool]] = []
"""Each says whether the worker with a name should do its work before the next shard."""


def serves_everybody(holder: Holder) -> bool:
    """Whether a worker is an operator's, executes plans, and is bound to no evaluation or suite."""
    token = holder.token
    if holder.owner_id is not None or holder.evaluation_id is not None or holder.suites is not None:
        return False
    if token is None or not token.pool:
        return token is None or (token.evaluation is None and not token.suite)
    pool = pool_named(token.pool)
    return pool is not None and Takes.EXECUTED in pool.takes


def has_work_for(holder: Holder) -> bool:
    """Whether work waits that this worker may do beside evaluations."""
    return serves_everybody(holder) and any(waits() for waits in WAITING)


def comes_first(*, holder: Holder, worker: str) -> bool:
    """Whether this worker should do such work before the next shard."""
    return serves_everybody(holder) and any(is_overdue(worker) for is_overdue in OVERDUE)
