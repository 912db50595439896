"""Digests of the objects that rows of the database name: records of results, and what these name in turn."""

import re

from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.models import TaskResult
from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.losses import STORES, site_store

_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")


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
