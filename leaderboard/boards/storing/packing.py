"""Replaces the stored contents of older snapshots by differences from their successors.

The newest snapshot of each board is stored whole, since it is what is read. Each older one is the difference from the
next, and every `_MOST_LINKS`-th is whole again, compressed, so that reading the oldest costs no more than that. What a
snapshot says, its digest and its signature stay the same.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import Max

from evaluator.core import canonical_json
from leaderboard.boards.models import Snapshot
from leaderboard.boards.storing.differences import pack, unpack
from leaderboard.evaluations.board_of import Conditions

_MOST_LINKS = 16


def pack_predecessor(snapshot: Snapshot) -> bool:
    """Store what comes before a snapshot on its board as a difference from it, and say whether it was stored whole.

    Before: the board is locked, and the snapshot is stored.
    After: it is packed, unless it is the oldest that is whole.
    """
    of_board = _board(snapshot).filter(number__lt=snapshot.number)
    before = of_board.order_by("-number").first()
    if before is None or before.stored is None:
        return False
    content = before.stored
    links = (before.differences.aggregate(most=Max("links"))["most"] or 0) + 1
    base = None if links >= _MOST_LINKS else snapshot
    base_content = None if base is None else base.content
    packed = pack(content, base=base_content)
    if canonical_json.dumps(unpack(packed, base=base_content)) != canonical_json.dumps(content):
        return False
    before.stored, before.packed, before.base, before.links = None, packed, base, links if base else 0
    before.save(update_fields=["stored", "packed", "base", "links"])
    return True


def pack_suite(slug: str) -> None:
    """Pack every snapshot of a suite but the newest of each board. The suite is locked."""
    for pk in list(_successors(slug)):
        pack_predecessor(Snapshot.objects.get(pk=pk))


def unpack_all(suite: str) -> None:
    """Store every snapshot of a suite whole, so that contents may be changed.

    Before: the suite is locked as `lock_board` does. After: none depends on another.
    """
    # The oldest first: what each needs is there as it was.
    for pk in list(_packed(suite)):
        snapshot = Snapshot.objects.get(pk=pk)
        snapshot.stored, snapshot.packed, snapshot.base, snapshot.links = snapshot.content, None, None, 0
        snapshot.save(update_fields=["stored", "packed", "base", "links"])


def _packed(suite: str) -> Any:
    packed = Snapshot.objects.filter(suite__slug=suite, packed__isnull=False)
    return packed.order_by("number").values_list("pk", flat=True)


def _board(snapshot: Snapshot) -> Any:
    conditions = {field: getattr(snapshot, field) for field in Conditions._fields}
    return Snapshot.objects.filter(suite=snapshot.suite_id, **conditions)


def _successors(slug: str) -> Iterator[int]:
    """Of each board of a suite all snapshots but the oldest, in order, so that links are counted from the oldest."""
    seen = set()
    rows = Snapshot.objects.filter(suite__slug=slug).order_by("number").values_list("pk", "suite", *Conditions._fields)
    for pk, *board in rows:
        if tuple(board) in seen:
            yield pk
        seen.add(tuple(board))
