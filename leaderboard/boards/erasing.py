"""The one change that snapshots of boards allow: the name of a deleted user."""

from django.db import transaction

from evaluator import canonical_json
from leaderboard.boards.models import Snapshot


def replace_owner(*, before: str, after: str) -> int:
    """Name the owner of rows differently in every snapshot that names them, and return how many did.

    Before: the user's row has its new name, so that no new snapshot has the old one.
    After: every row of the owner has the new name, with the digest that belongs to its snapshot's new content. Nothing
    else of any row is another one.
    """
    named = Snapshot.objects.filter(content__contains={"rows": [{"owner": before}]})
    count = 0
    for pk in list(named.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            snapshot = Snapshot.objects.select_for_update().get(pk=pk)
            rows = snapshot.content["rows"]
            renamed = [{**row, "owner": after} if row["owner"] == before else row for row in rows]
            snapshot.content = {**snapshot.content, "rows": renamed}
            snapshot.digest = canonical_json.digest(snapshot.content)
            snapshot.save(update_fields=["content", "digest"])
        count += 1
    return count
