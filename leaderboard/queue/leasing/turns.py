"""Fair order of leases: by leases relative to the weights of users and teams, then the operators' priority, then age.
Users with weight 0 come last.

New and slow planners may have to wait for others first (`time_slices.py`). Among the evaluations of one user, the
user's own priority comes before age; it does not affect other users.

One statement orders the evaluations and can also lock the first free one. The due evaluations (`due`) and the standing
of planners (`standing`) are Django queries, compiled once for each kind of worker; the order is written here. Only the
lock outlives the statement, so that connection pools in transaction mode work. The statement sees committed leases
only. Workers that ask concurrently find the first evaluation locked and take the next one; `next_shard.py` looks for a
free shard after the lock.

A site that completes eighty shards a second has fifty thousand leases in the window of fair shares. So each process
counts older leases every few seconds, and the statement counts newer ones: new leases count at once, in all processes.
"""

import re
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import product
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.core.signals import setting_changed
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Now

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, Shard, ShardState
from leaderboard.platform.compiled_queries import one_row
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.queue.agents.turns import waits_for_agent
from leaderboard.queue.leasing.time_slices import Standing, lease_tiers
from leaderboard.queue.leasing.worker_pools import LATELY, standing, standings_held, suspects

ALL_SHARDS = 2**31 - 1
"""More shards than an evaluation can have."""
_MOST_KINDS = 256
_OLDEST = -1e18
_SETTLED_SECONDS = 5
"""Older leases are committed, so that all processes see them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseFilter:
    """Evaluations from which a worker may lease."""

    suites: Sequence[str] | None = None
    evaluation_id: UUID | None = None
    scope: Q | None = None
    """Condition on evaluations."""
    pool: Sequence[str] = ()
    """Suites for which the worker serves all users (`Attempt.pool`)."""

    def due(self) -> QuerySet[Evaluation]:
        """Evaluations with a shard that may be leased now, unordered."""
        leasable = Coalesce(OuterRef("leasable_shards"), ALL_SHARDS)
        shards = Shard.objects.filter(
            evaluation=OuterRef("pk"),
            state=ShardState.PENDING,
            available_at__lte=Now(),
            tries__lt=settings.SHARD_TRIES,
            number__lt=leasable,
        )
        due = Evaluation.runs.filter(
            Exists(shards),
            self.scope or Q(),
            state__in=states.LEASABLE,
        ).exclude(waits_for_agent())
        return self._narrowed(due)

    def unfinished(self) -> QuerySet[Evaluation]:
        """Evaluations with an unfinished shard, even if none may be leased now, unordered."""
        open_shards = Shard.objects.filter(evaluation=OuterRef("pk")).exclude(state=ShardState.DONE)
        ended = [state.value for state in states.FINAL]
        evaluations = Evaluation.runs.filter(Exists(open_shards), self.scope or Q()).exclude(state__in=ended)
        return self._narrowed(evaluations)

    def _narrowed(self, evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
        if self.suites is not None:
            evaluations = evaluations.filter(suite__slug__in=self.suites)
        return evaluations if self.evaluation_id is None else evaluations.filter(pk=self.evaluation_id)


class Pick(StrEnum):
    """Due evaluations to order."""

    FIRST_OF_EACH_USER = """
    SELECT DISTINCT ON (user_id) *, 1 AS place FROM tiered
    ORDER BY user_id, tier, priority DESC, own_priority DESC, created, id
"""
    EVERY = """
    SELECT *, row_number() OVER (PARTITION BY user_id, priority ORDER BY own_priority DESC, created, id) AS place
    FROM tiered
"""


class Turn(NamedTuple):
    """Evaluations in lease order."""

    locked: UUID | None
    """The first one that no other transaction had locked; locked until the end of this transaction."""
    ordered: list[UUID]


def next_evaluations(evaluations: LeaseFilter, *, most: int) -> list[UUID]:
    """At most `most` evaluations in fair order; locks nothing.

    Live and recent leases of a user count. Live ones alone would not suffice with fewer workers than users: nobody has
    one when a worker asks.
    """
    return turn(evaluations, pick=Pick.EVERY, most=most).ordered


def turn(evaluations: LeaseFilter, *, pick: Pick, most: int, lock: bool = False) -> Turn:
    """Evaluations in fair order.

    Concurrent workers do not see each other's leases. With `FIRST_OF_EACH_USER`, a worker that finds the first
    evaluation locked goes on with another user's, so that no user is served twice.

    Args:
        evaluations: the candidates. An empty pool has no time slices.
        pick: orders every evaluation, or the first of each user.
        most: largest number of evaluations.
        lock: whether to lock the first free one as `lock_evaluation` does; needs a transaction.
    """
    suites = None if evaluations.suites is None else tuple(evaluations.suites)
    key = suites, evaluations.evaluation_id, evaluations.scope, tuple(evaluations.pool), pick, lock
    compiled = _compiled.get_or_make(key, lambda: _compile(evaluations, pick=pick, lock=lock))
    if compiled is _NOTHING:
        return Turn(locked=None, ordered=[])
    parameters = {**compiled.parameters, **_counted(), "most": most}
    with connection.cursor() as cursor:
        row = one_row(cursor, sql=compiled.sql, parameters=parameters, joined_as_written=lock)
    assert row is not None, "the statement returns one row"
    return Turn(*row)


class _Sql(NamedTuple):
    """SQL with named parameters."""

    sql: str
    parameters: dict[str, Any]


_NOTHING = _Sql("", {})
"""For workers that may lease nothing, such as one whose pool was removed."""
_compiled: SharedCache[Hashable, _Sql] = SharedCache(maxsize=_MOST_KINDS)


setting_changed.connect(lambda **_: _compiled.clear(), weak=False, dispatch_uid="lease order")


def _compile(evaluations: LeaseFilter, *, pick: Pick, lock: bool) -> _Sql:
    slices = bool(evaluations.pool and settings.SLICE_SECONDS)
    order = standing(suspects=suspects()) if slices else Value(Standing.PROVEN.value)
    fields = "pk", "submission__submitted_by", "submission__team", "priority", "submission__priority", "created"
    due = evaluations.due().annotate(standing=order).order_by().values_list(*fields, "standing")
    try:
        parts = {"due": _part(due, name="due")}
    except EmptyResultSet:
        return _NOTHING
    if slices:
        parts["held"] = _part(standings_held(evaluations.pool), name="held")
        recent = _part(Evaluation.runs.filter(LATELY).order_by().values_list("pk"), name="lately")
        parts["lately"] = recent._replace(sql=f"EXISTS({recent.sql})")
    else:
        parts |= {"held": _Sql("SELECT 0 WHERE false", {}), "lately": _Sql("false", {})}
    sql = _STATEMENT.format(
        **{name: part.sql for name, part in parts.items()},
        candidates=pick.value,
        counts="leased_at >= %(counted_until)s" if settings.FAIR_SHARE_RECOUNT_SECONDS else _COUNTS,
        proven=Standing.PROVEN.value,
        new=Standing.NEW.value,
        slow=Standing.SLOW.value,
    )
    parameters = {name: value for part in parts.values() for name, value in part.parameters.items()}
    parameters |= {"share_seconds": settings.FAIR_SHARE_SECONDS, "tiers": tiers(slices=slices), "oldest": _OLDEST}
    return _Sql(sql + (_LOCK if lock else _LOOK), parameters)


def _part(query: QuerySet[Any, Any], *, name: str) -> _Sql:
    """A query with named parameters."""
    sql, values = query.query.sql_with_params()
    parameters = {f"{name}_{number}": value for number, value in enumerate(values)}
    names = iter(parameters)
    return _Sql(re.sub("%s", lambda _: f"%({next(names)})s", sql), parameters)


def tiers(*, slices: bool) -> list[int]:
    """Table of `lease_tiers` for the statement, indexed by: whether there are other workers, whether one of these holds
    a task of a proven planner, whether one of a slow planner, whether any was set aside recently, and the standing."""
    table: list[int] = []
    for others, proven, slow, recent in product((False, True), repeat=4):
        held = [Standing.PROVEN] * proven + [Standing.SLOW] * slow
        by_standing = lease_tiers(others=(held or [Standing.NEW]) if others else (), lately_set_aside=recent)
        table.extend(by_standing[standing] if slices else 0 for standing in Standing)
    return table


_STATEMENT = """
WITH due (id, user_id, team_id, priority, own_priority, created, standing) AS ({due}),
held (standing) AS ({held}),
facts AS MATERIALIZED (
    SELECT 3 * (8 * (count(*) > 0)::int + 4 * coalesce(bool_or(standing = {proven}), false)::int
                + 2 * coalesce(bool_or(standing = {slow}), false)::int + lately::int) AS row, lately
    FROM held RIGHT JOIN (SELECT {lately} AS lately) known ON true GROUP BY lately
),
had AS MATERIALIZED (
    SELECT user_id, team_id, sum(leases) AS leases FROM (
        SELECT user_id, team_id, count(*) AS leases FROM evaluations_attempt WHERE {counts} GROUP BY user_id, team_id
        UNION ALL
        SELECT * FROM jsonb_to_recordset(%(counted)s) AS kept (user_id bigint, team_id bigint, leases bigint)
    ) counted GROUP BY user_id, team_id
),
users AS MATERIALIZED (
    SELECT id, CASE WHEN queue_weight = 0 THEN 'Infinity'::float8
        ELSE coalesce((SELECT sum(leases) FROM had WHERE user_id = owner.id), 0)::float8 / queue_weight END AS share
    FROM people_user owner WHERE id IN (SELECT user_id FROM due)
),
teams AS MATERIALIZED (
    SELECT id, coalesce((SELECT sum(leases) FROM had WHERE team_id = team.id), 0)::float8 / queue_weight AS share
    FROM people_team team WHERE id IN (SELECT team_id FROM due)
),
tiered AS (SELECT due.*, (%(tiers)s::int[])[row + standing + 1] AS tier, lately FROM due, facts),
candidates AS ({candidates}),
ordered AS MATERIALIZED (
    SELECT candidate.id, row_number() OVER (
        ORDER BY tier, greatest(users.share, coalesce(teams.share, 0)), users.share, priority DESC, place,
                 CASE WHEN lately AND standing = {new} THEN -extract(epoch FROM created)::float8 ELSE %(oldest)s END,
                 created, candidate.id
    ) AS turn
    FROM candidates candidate JOIN users ON users.id = user_id LEFT JOIN teams ON teams.id = team_id
    ORDER BY turn LIMIT %(most)s
)
"""
_LOOK = "SELECT NULL, ARRAY(SELECT id FROM ordered ORDER BY turn)"
_LOCK = """,
locked AS (
    SELECT evaluation.id FROM ordered JOIN evaluations_evaluation evaluation ON evaluation.id = ordered.id
    ORDER BY turn LIMIT 1 FOR NO KEY UPDATE OF evaluation SKIP LOCKED
)
SELECT (SELECT id FROM locked), ARRAY(SELECT id FROM ordered ORDER BY turn)
"""

_COUNTS = "state = 'live' OR leased_at >= STATEMENT_TIMESTAMP() - %(share_seconds)s * interval '1 second'"
"""Condition on the attempts whose leases count."""
_SUMS = """
SELECT STATEMENT_TIMESTAMP() - %(settled)s * interval '1 second', (
    SELECT coalesce(jsonb_agg(counted), '[]') FROM (
        SELECT user_id, team_id, count(*) AS leases FROM evaluations_attempt
        WHERE (state = 'live' OR leased_at >= STATEMENT_TIMESTAMP() - %(share_seconds)s * interval '1 second')
              AND leased_at < STATEMENT_TIMESTAMP() - %(settled)s * interval '1 second'
        GROUP BY user_id, team_id
    ) counted
)::text
"""


class _Sums(NamedTuple):
    """Leases by user and team, counted by this process."""

    until: datetime
    """Leases before this time, by the database's clock, are included."""
    sums: str
    """`[{"user_id", "team_id", "leases"}]`"""
    at: float
    """`time.monotonic()` of the count."""


_sums: list[_Sums] = []
"""The last count, or empty."""
_sums_lock = Lock()


def forget_sums() -> None:
    """Drop the counts of older leases."""
    with _sums_lock:
        _sums.clear()


def _counted() -> dict[str, Any]:
    """Parameters of the statement: the sums, and the time from which the statement counts leases."""
    if not settings.FAIR_SHARE_RECOUNT_SECONDS:
        return {"counted": "[]"}
    with _sums_lock:
        if not _sums or time.monotonic() - _sums[0].at >= settings.FAIR_SHARE_RECOUNT_SECONDS:
            with connection.cursor() as cursor:
                cursor.execute(_SUMS, {"settled": _SETTLED_SECONDS, "share_seconds": settings.FAIR_SHARE_SECONDS})
                until, sums = cursor.fetchone()
            _sums[:] = [_Sums(until=until, sums=sums, at=time.monotonic())]
        return {"counted": _sums[0].sums, "counted_until": _sums[0].until}
