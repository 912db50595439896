"""Replaces the stored contents of older snapshots by differences from their successors.

The newest snapshot of each board is stored whole, since it is what is read. Each older one is the difference from the
next, and every `_MOST_LINKS`-th is whole again, compressed, so that reading the oldest costs no more than that. What a
snapshot says, its digest and its signature stay the same. Erasing the name of a deleted user is the only change that
contents allow (`replace_owner`).
"""

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Max

from evaluator.core import canonical_json
from leaderboard.boards.differences import pack, unpack
from leaderboard.boards.models import Snapshot
from leaderboard.boards.signing.services import bound_by_content, forget_salts, sign_when_possible, withdraw
from leaderboard.evaluations.models import Conditions, lock_board

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


def replace_owner(*, before: str, after: str) -> int:
    """Name the owner of rows differently in every snapshot that names them, and return how many did.

    Before: the user's row has its new name, so that no new snapshot has the old one.
    After: every row of the owner has the new name, with the digest that belongs to its snapshot's new content. Nothing
    else of any row is another one. A withdrawal states it for each suite, and the salts are gone that would confirm the
    old name.
    """
    count = 0
    for slug in sorted(set(Snapshot.objects.order_by().values_list("suite__slug", flat=True))):
        with transaction.atomic():
            lock_board(slug)
            count += _replace_in(slug, before=before, after=after)
    return count


def _replace_in(slug: str, *, before: str, after: str) -> int:
    """In the snapshots of a suite, which is locked."""
    of_suite = Snapshot.objects.filter(suite__slug=slug)
    packed = of_suite.filter(packed__isnull=False).order_by("number").values_list("pk", flat=True)
    if any(_names(Snapshot.objects.get(pk=pk), owner=before) for pk in list(packed)):
        unpack_all(slug)
    named = of_suite.filter(stored__contains={"rows": [{"owner": before}]})
    pks = list(named.order_by("number").values_list("pk", flat=True))
    if not pks:
        return 0
    evaluations, contents, through = dict[str, None](), dict[str, str](), 0
    bound = bound_by_content(slug)
    for pk in pks:
        snapshot = Snapshot.objects.select_for_update().get(pk=pk)
        rows = snapshot.content["rows"]
        theirs = [row["evaluation"] for row in rows if row["owner"] == before]
        renamed = [{**row, "owner": after} if row["owner"] == before else row for row in rows]
        snapshot.stored = {**snapshot.content, "rows": renamed}
        snapshot.digest = canonical_json.digest(snapshot.stored)
        snapshot.save(update_fields=["stored", "digest"])
        forget_salts(snapshot=snapshot, field="owner", evaluations=theirs)
        evaluations |= dict.fromkeys(theirs)
        through = snapshot.number
        if snapshot.number in bound:
            contents[str(snapshot.number)] = snapshot.digest
    withdraw(
        suite=slug, what="owner", reason="account deleted", evaluations=list(evaluations), through=through,
        placeholder=after, contents=contents,
    )  # fmt: skip
    sign_when_possible(withdrawals_from=slug)
    pack_suite(slug)
    return len(pks)


def _names(snapshot: Snapshot, *, owner: str) -> bool:
    return any(row["owner"] == owner for row in snapshot.content["rows"])
