"""A collection: rows by their rules, then objects that nothing names."""

import time
from collections.abc import Callable

from django.conf import settings

from evaluator.execution.engine.files import Garbage
from leaderboard.operations.backups.garbage.named import named_objects
from leaderboard.operations.backups.garbage.rows import RULES, collect_rows
from leaderboard.operations.backups.losses import STORES, site_store
from leaderboard.planners import checkpoints
from leaderboard.platform.uploads import services as uploads


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
