"""The one change that snapshots of boards allow: the name of a deleted user."""

from django.db import transaction

from evaluator.core import canonical_json
from leaderboard.boards.models import Snapshot
from leaderboard.boards.signing.services import bound_by_content, forget_salts, sign_when_possible, withdraw
from leaderboard.boards.storing.packing import pack_suite, unpack_all
from leaderboard.evaluations.board_of import lock_board


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
