"""Replaces the stored contents of older snapshots by differences from their successors.

The newest snapshot of each board is stored whole, since it is read most. Each older one is stored as its difference
from the next, and every `_MOST_LINKS`-th is whole again, compressed, which bounds the cost of reading the oldest. The
content of a snapshot, its digest and its signature stay the same. The only permitted change of a content is to erase
the name of a deleted user (`replace_owner`).
"""

from django.db import transaction
from django.db.models import Max

from evaluator.core import canonical_json
from leaderboard.boards.differences import pack, unpack
from leaderboard.boards.models import Snapshot
from leaderboard.boards.signing.services import bound_by_content, forget_salts, sign_when_possible, withdraw
from leaderboard.evaluations.models import Conditions, lock_board

_MOST_LINKS = 16


def pack_predecessor(snapshot: Snapshot) -> bool:
    """Pack the previous snapshot of the board as a difference from this one. Returns whether it was packed now.

    Before: the board is locked, and the snapshot is stored.
    After: the predecessor is packed, if there is one.
    """
    conditions = {field: getattr(snapshot, field) for field in Conditions._fields}
    older = Snapshot.objects.filter(suite=snapshot.suite_id, number__lt=snapshot.number, **conditions)
    before = older.order_by("-number").first()
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
    """Pack every snapshot of a suite except the newest of each board.

    Before: the suite is locked as `lock_board` does.
    """
    boards = set()
    rows = Snapshot.objects.filter(suite__slug=slug).order_by("number").values_list("pk", "suite", *Conditions._fields)
    for pk, *board in list(rows):
        # From the oldest on, so that links are counted from there.
        if tuple(board) in boards:
            pack_predecessor(Snapshot.objects.get(pk=pk))
        boards.add(tuple(board))


def unpack_all(suite: str) -> None:
    """Store every snapshot of a suite whole, so that contents can be changed.

    Before: the suite is locked as `lock_board` does. After: no snapshot depends on another.
    """
    packed = Snapshot.objects.filter(suite__slug=suite, packed__isnull=False)
    # Oldest first, while the bases of each are still unchanged.
    for pk in list(packed.order_by("number").values_list("pk", flat=True)):
        snapshot = Snapshot.objects.get(pk=pk)
        snapshot.stored, snapshot.packed, snapshot.base, snapshot.links = snapshot.content, None, None, 0
        snapshot.save(update_fields=["stored", "packed", "base", "links"])


def replace_owner(*, before: str, after: str) -> int:
    """Replace the name of an owner in the rows of all snapshots. Returns the number of changed snapshots.

    Before: the user has been renamed, so that no new snapshot contains the old name.
    After: every row of the owner has the new name, and each changed snapshot a new digest; rows are otherwise
    unchanged. Each suite has a withdrawal that states the change, and the salts that could confirm the old name are
    deleted.
    """
    count = 0
    for slug in sorted(set(Snapshot.objects.order_by().values_list("suite__slug", flat=True))):
        with transaction.atomic():
            lock_board(slug)
            count += _replace_in(slug, before=before, after=after)
    return count


def _replace_in(slug: str, *, before: str, after: str) -> int:
    of_suite = Snapshot.objects.filter(suite__slug=slug)
    packed = of_suite.filter(packed__isnull=False).order_by("number").values_list("pk", flat=True)
    contents_of_packed = (Snapshot.objects.get(pk=pk).content for pk in list(packed))
    if any(row["owner"] == before for content in contents_of_packed for row in content["rows"]):
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
        own = [row["evaluation"] for row in rows if row["owner"] == before]
        renamed = [{**row, "owner": after} if row["owner"] == before else row for row in rows]
        snapshot.stored = {**snapshot.content, "rows": renamed}
        snapshot.digest = canonical_json.digest(snapshot.stored)
        snapshot.save(update_fields=["stored", "digest"])
        forget_salts(snapshot=snapshot, field="owner", evaluations=own)
        evaluations |= dict.fromkeys(own)
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
