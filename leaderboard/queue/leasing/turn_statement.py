"""Whose turn it is, in one statement that can also lock the evaluation.

What may be leased (`due`) and how long planners hold workers (`standing`) are Django's queries, whose SQL is made once
for each kind of worker; the order is written here. Nothing of it outlives the statement but the lock: a connection
pool in transaction mode may stand between.

What the statement sees are leases whose transactions have ended. Workers that ask at the same moment find the first
evaluation locked and take the next one; which shard is free is asked after the lock (`next_shard.py`).
"""

import re
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.core.signals import setting_changed
from django.db import connection
from django.db.models import QuerySet, Value

from leaderboard.evaluations.models import Evaluation
from leaderboard.platform.compiled_queries import one_row
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.queue.leasing import counted_leases
from leaderboard.queue.leasing.time_slices import Standing, lease_tiers
from leaderboard.queue.leasing.worker_pools import LATELY, standing, standings_held, suspects

_MOST_KINDS = 256
_OLDEST = -1e18

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
    SELECT id, coalesce((SELECT sum(leases) FROM had WHERE user_id = owner.id), 0)::float8 / queue_weight AS share
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
_FIRST_OF_EACH_USER = """
    SELECT DISTINCT ON (user_id) *, 1 AS place FROM tiered
    ORDER BY user_id, tier, priority DESC, own_priority DESC, created, id
"""
_EVERY = """
    SELECT *, row_number() OVER (PARTITION BY user_id, priority ORDER BY own_priority DESC, created, id) AS place
    FROM tiered
"""
_LOOK = "SELECT NULL, ARRAY(SELECT id FROM ordered ORDER BY turn)"
_LOCK = """,
locked AS (
    SELECT evaluation.id FROM ordered JOIN evaluations_evaluation evaluation ON evaluation.id = ordered.id
    ORDER BY turn LIMIT 1 FOR NO KEY UPDATE OF evaluation SKIP LOCKED
)
SELECT (SELECT id FROM locked), ARRAY(SELECT id FROM ordered ORDER BY turn)
"""


class Pick(Enum):
    """Which of the evaluations that are due are put in order."""

    FIRST_OF_EACH_USER = _FIRST_OF_EACH_USER
    EVERY = _EVERY


class Turn(NamedTuple):
    """Evaluations in the order in which they are leased."""

    locked: UUID | None
    """The first one that nobody else has locked: now it is, until the end of the transaction."""
    ordered: list[UUID]


class _Written(NamedTuple):
    """A part of the statement, and its parameters in order."""

    sql: str
    parameters: dict[str, Any]


_NOTHING = _Written("", {})
"""Of a worker that may lease nothing, such as one whose pool was removed."""
_written: SharedCache[Hashable, _Written] = SharedCache(maxsize=_MOST_KINDS)


def _forget(**_: Any) -> None:
    _written.clear()


setting_changed.connect(_forget, dispatch_uid="turn_statement")


def turn(
    *,
    key: Hashable,
    due: Callable[[], QuerySet[Evaluation]],
    pool: Sequence[str],
    pick: Pick,
    most: int,
    lock: bool,
) -> Turn:
    """At most so many evaluations, in order, and one of them locked if wanted: then within a transaction.

    Args:
        key: all that `due` depends on.
        due: evaluations with a shard that may be leased now, in no order.
        pool: what the worker serves (`Attempt.pool`); empty: time slices do not matter to it.
        pick: of which evaluations.
        most: how many.
        lock: whether to lock the first that is free.
    """
    written = _written.get_or_make(
        (key, tuple(pool), pick, lock), lambda: _write(due=due(), pool=pool, pick=pick, lock=lock)
    )
    if written is _NOTHING:
        return Turn(locked=None, ordered=[])
    with connection.cursor() as cursor:
        parameters = {**written.parameters, **counted_leases.parameters(), "most": most}
        row = one_row(cursor, sql=written.sql, parameters=parameters, joined_as_written=lock)
    assert row is not None, "it answers one row"
    locked, ordered = row
    return Turn(locked=locked, ordered=ordered)


def _write(*, due: QuerySet[Evaluation], pool: Sequence[str], pick: Pick, lock: bool) -> _Written:
    slices = bool(pool and settings.SLICE_SECONDS)
    known = due.annotate(standing=standing(suspects=suspects()) if slices else Value(Standing.PROVEN.value))
    fields = "pk", "submission__submitted_by", "submission__team", "priority", "submission__priority", "created"
    try:
        wanted = _django(known.order_by().values_list(*fields, "standing"), name="due")
    except EmptyResultSet:
        return _NOTHING
    parts = {
        "due": wanted,
        "held": _django(standings_held(pool), name="held") if slices else _Written("SELECT 0 WHERE false", {}),
        "lately": _lately() if slices else _Written("false", {}),
    }
    sql = _STATEMENT.format(
        **{name: part.sql for name, part in parts.items()},
        candidates=pick.value,
        counts=counted_leases.condition(),
        proven=Standing.PROVEN.value,
        new=Standing.NEW.value,
        slow=Standing.SLOW.value,
    )
    parameters = {name: value for part in parts.values() for name, value in part.parameters.items()}
    parameters |= {"share_seconds": settings.FAIR_SHARE_SECONDS, "tiers": tiers(slices=slices), "oldest": _OLDEST}
    return _Written(sql + (_LOCK if lock else _LOOK), parameters)


def _lately() -> _Written:
    lately = _django(Evaluation.objects.filter(LATELY).order_by().values_list("pk"), name="lately")
    return lately._replace(sql=f"EXISTS({lately.sql})")


def _django(query: QuerySet[Any, Any], *, name: str) -> _Written:
    """A query as a part of the statement, with names for its parameters."""
    sql, values = query.query.sql_with_params()
    parameters = {f"{name}_{number}": value for number, value in enumerate(values)}
    names = iter(parameters)
    return _Written(re.sub("%s", lambda _: f"%({next(names)})s", sql), parameters)


def tiers(*, slices: bool) -> list[int]:
    """`lease_tiers` of everything that can be known, as the statement looks it up: by whether there are other workers,
    whether one of these holds a proven planner's task, whether one a slow planner's, whether any was set aside lately,
    and by standing."""
    found: list[int] = []
    for others, proven, slow, lately in product((False, True), repeat=4):
        named = [Standing.PROVEN] * proven + [Standing.SLOW] * slow
        by_standing = lease_tiers(others=(named or [Standing.NEW]) if others else (), lately_set_aside=lately)
        found.extend(by_standing[one] if slices else 0 for one in Standing)
    return found
