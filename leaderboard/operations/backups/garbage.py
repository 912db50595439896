"""Garbage collection: rows past their retention, by `RULES`, then objects that no record of a result names."""

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
from leaderboard.operations.backups.losses import STORES, site_store
from leaderboard.planners import checkpoints
from leaderboard.platform.uploads import services as uploads
from leaderboard.queue.models import AttemptLog, AttemptToken, LogChunk, WorkerSession, WorkerToken

_BATCH = 500
_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that may go."""

    name: str
    """In the plural, for the operator."""
    rows: Callable[[], QuerySet[Any]]


def collect_rows(*, rule: Rule, dry_run: bool) -> Garbage:
    """Delete the rows of a rule in batches, or count them. Bytes are those of the rows themselves, without indexes."""
    found = _measured(rule.rows())
    while not dry_run and (batch := list(rule.rows().values_list("pk", flat=True)[:_BATCH])):
        with transaction.atomic():
            # The rule once more: a row may have become useful again.
            deleted, _ = rule.rows().filter(pk__in=batch).delete()
        if not deleted:
            break
    return found


def _measured(rows: QuerySet[Model]) -> Garbage:
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
    """Evaluations that ended long ago and that no board has ever shown: what was published keeps all of it."""
    ended = {f"{prefix}state__in": list(FINAL), f"{prefix}finished__lt": _long_ago(), f"{prefix}first_ranked": None}
    return Q(**ended)


def _log_lines() -> QuerySet[LogChunk]:
    return LogChunk.objects.filter(_over("log__attempt__shard__evaluation__"))


def _logs() -> QuerySet[AttemptLog]:
    left = LogChunk.objects.filter(log=OuterRef("pk"))
    return AttemptLog.objects.filter(_over("attempt__shard__evaluation__"), ~Exists(left))


def _attempts() -> QuerySet[Attempt]:
    results = TaskResult.objects.filter(attempt=OuterRef("pk"))
    logs = AttemptLog.objects.filter(attempt=OuterRef("pk"))
    ended = Attempt.objects.filter(_over("shard__evaluation__"), ended_at__lt=_long_ago())
    return ended.exclude(state=AttemptState.LIVE).filter(~Exists(results), ~Exists(logs))


def _worker_tokens() -> QuerySet[WorkerToken]:
    """Launchers mint one for each worker. Those of people, which do not expire, stay in their lists."""
    used = AttemptToken.objects.filter(token=OuterRef("pk"))
    return WorkerToken.objects.filter(expires_at__lt=_long_ago()).filter(~Exists(used))


RULES = (
    Rule("messages that were sent or given up", old_messages),
    Rule("expired sessions", lambda: Session.objects.filter(expire_date__lt=Now())),
    Rule("expired API tokens", lambda: AuthToken.objects.filter(expiry__lt=_long_ago())),
    Rule("expired sessions of workers", lambda: WorkerSession.objects.filter(expires_at__lt=_long_ago())),
    Rule("log lines", _log_lines),
    Rule("logs without lines", _logs),
    Rule("attempts without results", _attempts),
    Rule("expired tokens of workers", _worker_tokens),
)
"""In this order: what refers to others comes first."""


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
    """All records of results, of whatever evaluation and state, and everything in them that looks like a digest.

    Records are searched and not parsed, so that those of other releases count, too. Snapshots, archives, proofs and
    verifications name rows of results and these records, and no other objects.

    Raises:
        BackupError: a record is missing or damaged, so that nobody knows what it names.
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
        f"Record {digest} is missing, so that the artefacts that it names are not known. Repair the store first "
        "(`check_store`, `repair_store`); no object was deleted."
    )


def collect_garbage(*, dry_run: bool, report: Callable[[str], object]) -> Garbage:
    """Delete what the policy does not keep, and tell the operator of each kind. The site may go on meanwhile.

    Before: nothing; several collections may run at once, and one that was killed is completed by the next.
    After: everything that a result names is in the stores as before, in whatever state its evaluation is; uploads under
    way have what they sent within `GARBAGE_GRACE_HOURS`.

    Args:
        dry_run: whether to count only.
        report: takes a line for the operator.

    Returns:
        All of it together.

    Raises:
        BackupError: a record is missing; rows were deleted, and no object was.
    """
    count = size = 0
    for rule in RULES:
        found = collect_rows(rule=rule, dry_run=dry_run)
        report(_line(what=rule.name, found=found))
        count, size = count + found.count, size + found.size
    before = time.time() - settings.GARBAGE_GRACE_HOURS * 3600
    keep = named_objects()
    for name in STORES:
        found = site_store(name).collect(keep=keep, before=before, dry_run=dry_run)
        report(_line(what=f"objects of the store {name} that nothing names", found=found))
        count, size = count + found.count, size + found.size
    if not dry_run:
        checkpoints.remove_unused()
        uploads.sweep()
    return Garbage(count, size)


def _line(*, what: str, found: Garbage) -> str:
    return f"{found.count:>9,}  {found.size:>15,} bytes  {what}"
