"""Garbage collection: rows past their retention period, by `RULES`, then objects that no result refers to."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from knox.models import AuthToken

from evaluator.execution.engine.files import Garbage
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.models import Attempt, AttemptState, TaskResult
from leaderboard.evaluations.states import FINAL
from leaderboard.messages.dispatching import old_messages
from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.objects import STORES, site_store
from leaderboard.planners import checkpoints
from leaderboard.platform.uploads import services as uploads
from leaderboard.queue.models import AttemptLog, AttemptToken, LogChunk, WorkerSession, WorkerToken

_BATCH = 500
_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that may be deleted."""

    name: str
    """Plural name for the operator."""
    rows: Callable[[], QuerySet[Any]]


def collect_rows(*, rule: Rule, dry_run: bool) -> Garbage:
    """Delete the rows of a rule in batches, or only count them. Sizes do not include indexes."""
    garbage = _size_of(rule.rows())
    while not dry_run and (batch := list(rule.rows().values_list("pk", flat=True)[:_BATCH])):
        with transaction.atomic():
            # Checks the rule again: a row may be in use again.
            deleted, _ = rule.rows().filter(pk__in=batch).delete()
        if not deleted:
            break
    return garbage


def _size_of(rows: QuerySet[Model]) -> Garbage:
    table = connection.ops.quote_name(rows.model._meta.db_table)
    key = connection.ops.quote_name(str(rows.model._meta.pk.column))
    inner, parameters = rows.order_by().values("pk").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), coalesce(sum(pg_column_size(kept.*)), 0) FROM {table} kept WHERE {key} IN ({inner})",  # noqa: S608 - names of models, and a query of the ORM
            parameters,
        )
        count, size = cursor.fetchone()
    return Garbage(count, int(size))


def _long_ago() -> Any:
    return Now() - timedelta(days=settings.KEEP_ATTEMPT_DAYS)


def _over(prefix: str) -> Q:
    """Evaluations that ended long ago and were never on a board. Published evaluations keep all rows."""
    ended = {f"{prefix}state__in": list(FINAL), f"{prefix}finished__lt": _long_ago(), f"{prefix}first_ranked": None}
    return Q(**ended)


def _logs() -> QuerySet[AttemptLog]:
    left = LogChunk.objects.filter(log=OuterRef("pk"))
    return AttemptLog.objects.filter(_over("attempt__shard__evaluation__"), ~Exists(left))


def _attempts() -> QuerySet[Attempt]:
    results = TaskResult.objects.filter(attempt=OuterRef("pk"))
    logs = AttemptLog.objects.filter(attempt=OuterRef("pk"))
    ended = Attempt.objects.filter(_over("shard__evaluation__"), ended_at__lt=_long_ago())
    return ended.exclude(state=AttemptState.LIVE).filter(~Exists(results), ~Exists(logs))


def _worker_tokens() -> QuerySet[WorkerToken]:
    """Tokens that launchers create for each worker. Users' tokens do not expire and are kept."""
    used = AttemptToken.objects.filter(token=OuterRef("pk"))
    return WorkerToken.objects.filter(expires_at__lt=_long_ago()).filter(~Exists(used))


RULES = (
    Rule("messages that were sent or given up", old_messages),
    Rule("expired sessions", lambda: Session.objects.filter(expire_date__lt=Now())),
    Rule("expired API tokens", lambda: AuthToken.objects.filter(expiry__lt=_long_ago())),
    Rule("expired sessions of workers", lambda: WorkerSession.objects.filter(expires_at__lt=_long_ago())),
    Rule("log lines", lambda: LogChunk.objects.filter(_over("log__attempt__shard__evaluation__"))),
    Rule("logs without lines", _logs),
    Rule("attempts without results", _attempts),
    Rule("expired tokens of workers", _worker_tokens),
)
"""In this order: rows come before the rows to which they refer."""


class Named:
    """A set of digests, 32 bytes each."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def __contains__(self, digest: object) -> bool:
        return isinstance(digest, str) and bytes.fromhex(digest) in self._digests

    def add(self, digest: str) -> None:
        """Add a digest in hexadecimal."""
        self._digests.add(bytes.fromhex(digest))


def named_objects() -> Named:
    """The records of all results, in any state, and everything in them that looks like a digest.

    Records are searched without parsing, so that records of other releases count, too. Snapshots, archives, proofs and
    verifications refer only to results and their records.

    Raises:
        BackupError: a record is missing or damaged, so that its artefacts are unknown.
    """
    named = Named()
    records = TaskResult.objects.exclude(record_digest="").values_list("record_digest", flat=True).distinct()
    for digest in records.iterator():
        named.add(digest)
        for match in _DIGEST.finditer(_record(digest)):
            named.add(match[0].decode())
    return named


def _record(digest: str) -> bytes:
    for name in STORES:
        try:
            return site_store(name).get(digest).data
        except (ObjectMissingError, ObjectDamagedError):
            continue
    raise BackupError(
        f"Record {digest} is missing, so its artefacts are unknown. Repair the store first (`check_store`, "
        "`repair_store`); no object was deleted."
    )


def collect_garbage(*, dry_run: bool, report: Callable[[str], object]) -> Garbage:
    """Delete everything past its retention, and report each kind to the operator, while the site runs.

    Before: nothing; concurrent collections are allowed, and the next one completes one that was killed.
    After: the stores still have all objects of results, whatever the state of the evaluation; uploads in progress keep
    data sent within `GARBAGE_GRACE_HOURS`.

    Args:
        dry_run: whether to count only.
        report: receives a line for the operator.

    Returns:
        The total.

    Raises:
        BackupError: a record is missing; rows were deleted, but no objects.
    """
    count = size = 0

    def add(garbage: Garbage, kind: str) -> None:
        nonlocal count, size
        report(f"{garbage.count:>9,}  {garbage.size:>15,} bytes  {kind}")
        count, size = count + garbage.count, size + garbage.size

    for rule in RULES:
        add(collect_rows(rule=rule, dry_run=dry_run), rule.name)
    before = time.time() - settings.GARBAGE_GRACE_HOURS * 3600
    keep = named_objects()
    for name in STORES:
        garbage = site_store(name).collect(keep=keep, before=before, dry_run=dry_run)
        add(garbage, f"objects of the store {name} that nothing names")
    if not dry_run:
        checkpoints.remove_unused()
        uploads.sweep()
    return Garbage(count, size)
