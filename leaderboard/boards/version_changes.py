"""What the versions on boards changed, stored when a board is published, since pages show many planners.

A row compares the version that a board shows with the latest published version before it under the same conditions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, OuterRef, Subquery

from leaderboard.boards.anchors import GOLD
from leaderboard.boards.eligible import published
from leaderboard.boards.histories import changes_on_boards
from leaderboard.boards.models import VersionChange
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Conditions, Evaluation
from leaderboard.planners.models import is_bundled

MOST_AT_ONCE = 100
"""Changes that one publication computes. Once gold plans are published, a board catches up over several."""


class KeptChange(NamedTuple):
    """What a version changed against the version before it."""

    before: str
    """Name of the version before; empty without one."""
    fixed: int
    """Tasks that it solves and the version before does not."""
    broken: int
    """Tasks that only the version before solves."""
    undecided: int
    """Tasks with a verdict that the judge left open."""
    is_better: bool | None
    """Whether the score is significantly better (True) or worse (False); None otherwise."""


def keep_changes(*, suite: Suite, rows: Iterable[Mapping[str, object]]) -> None:
    """Store what the versions on a board changed.

    Before: the board is locked.
    After: each row whose planner has an earlier published version has a `VersionChange`, except rows beyond
    `MOST_AT_ONCE`, which a later publication computes; no other row has one.

    Args:
        suite: of the board.
        rows: of the board's content, in the format of `ranking.py`.
    """
    shown = list(rows)
    gold = next((_id(row) for row in shown if is_bundled(str(row["kind"])) and row.get("strategy") == GOLD), None)
    evaluations = [_id(row) for row in shown]
    before = _before(evaluations)
    kept = {
        evaluation: (predecessor, of_gold)
        for evaluation, predecessor, of_gold in VersionChange.objects.filter(pk__in=evaluations).values_list(
            "pk", "before", "gold"
        )
    }
    VersionChange.objects.filter(pk__in=kept.keys() - before.keys()).delete()
    missing = [pk for pk, predecessor in before.items() if kept.get(pk) != (predecessor, gold)][:MOST_AT_ONCE]
    if not missing:
        return
    changes = changes_on_boards(suites=[suite], evaluations=map(str, missing))
    VersionChange.objects.bulk_create(
        [
            VersionChange(
                evaluation_id=pk,
                before_id=before[pk],
                gold=gold,
                fixed=len(change.tasks.fixed),
                broken=len(change.tasks.broken),
                undecided=len(change.tasks.undecided),
                is_better=change.is_better,
            )
            for pk in missing
            if (change := changes.get(str(pk))) is not None
        ],
        update_conflicts=True,
        unique_fields=["evaluation"],
        update_fields=["before", "gold", "fixed", "broken", "undecided", "is_better"],
    )


def _id(row: Mapping[str, object]) -> UUID:
    return UUID(str(row["evaluation"]))


def _before(evaluations: Sequence[UUID]) -> dict[UUID, UUID]:
    """The latest run of the version before, by evaluation; without those that have none."""
    same = {name: OuterRef(name) for name in ("suite", *Conditions._fields, "submission__planner")}
    earlier = published().filter(finished__lt=OuterRef("finished"), **same)
    others = earlier.exclude(submission__version=OuterRef("submission__version")).order_by("-finished", "-pk")
    rows = Evaluation.runs.filter(pk__in=evaluations).annotate(before=Subquery(others.values("pk")[:1]))
    return dict(rows.exclude(before=None).values_list("pk", "before"))


def changes_of(evaluations: Iterable[str]) -> dict[str, KeptChange]:
    """What the versions that boards show changed, by evaluation, in one query."""
    kept = VersionChange.objects.filter(pk__in=list(evaluations), before__hidden_at=None)
    rows = kept.annotate(version=F("before__submission__version")).values_list(
        "pk", "version", "fixed", "broken", "undecided", "is_better"
    )
    return {str(pk): KeptChange(*change) for pk, *change in rows}
