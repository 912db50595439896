"""Number of tasks by cause for each planner of a board."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.evaluations.causes import RAN, ordered, percent, words_of_cause
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.task_scores import cause_codes, causes_version

MOST_ROWS = 50
"""Number of rows of the board that are counted, the best first."""
LEVELS = 5
"""Number of shades of a cell."""


class CauseColumn(NamedTuple):
    """A cause that occurs on the board."""

    cause: str
    label: str
    definition: str


class CauseCell(NamedTuple):
    """The tasks of one planner with one cause."""

    cause: str
    tasks: int
    percent: str
    """Percentage of the tasks that ran; empty for no task."""
    level: int
    """Shade from 0 (no task) to `LEVELS`."""


class CauseLine(NamedTuple):
    """One row of the board."""

    rank: int | None
    planner: str
    owner: str
    evaluation: str
    ran: int
    below: int
    """Tasks with a known cause."""
    unknown: int
    """Tasks whose causes are not known yet."""
    cells: tuple[CauseCell, ...]
    """In the order of the columns."""


class BoardCauses(NamedTuple):
    """The first rows of a board by causes, in the taxonomy's order."""

    columns: tuple[CauseColumn, ...]
    lines: tuple[CauseLine, ...]
    further: int
    """Number of rows of the board that are not counted."""

    @property
    def ran(self) -> int:
        """Tasks of all these rows that ran."""
        return sum(line.ran for line in self.lines)

    @property
    def unknown(self) -> int:
        """Tasks of all these rows whose causes are not known yet."""
        return sum(line.unknown for line in self.lines)


class _Counted(NamedTuple):
    ran: int
    below: int
    unknown: int
    causes: Mapping[str, int]


def causes_of_rows(rows: Sequence[Mapping[str, Any]]) -> BoardCauses:
    """Count the causes of a board's rows, in one query.

    Args:
        rows: in the format of `ranking.py`, in the order of their ranks.
    """
    shown = rows[:MOST_ROWS]
    counted = _counts(_evaluations(rows))
    codes = ordered(code for counts in counted.values() for code in counts.causes)
    lines = []
    for row in shown:
        counts = counted[str(row["evaluation"])]
        cells = []
        for code in codes:
            tasks = counts.causes.get(code, 0)
            share = tasks / counts.ran if counts.ran else 0.0
            # Rounded up, so that one task in a thousand is not shown as none.
            level = min(LEVELS, int(share * LEVELS) + 1) if tasks else 0
            cells.append(CauseCell(code, tasks, percent(share) if tasks else "", level))
        of_row = {name: row[name] for name in ("rank", "planner", "owner", "evaluation")}
        lines.append(
            CauseLine(**of_row, ran=counts.ran, below=counts.below, unknown=counts.unknown, cells=tuple(cells))
        )
    return BoardCauses(
        columns=tuple(CauseColumn(code, words_of_cause(code), Cause(code).definition) for code in codes),
        lines=tuple(lines),
        further=len(rows) - len(shown),
    )


def version_of_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int | None]:
    """The version of the counts of a board's rows: one query."""
    return causes_version(_evaluations(rows))


def _evaluations(rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
    return [UUID(str(row["evaluation"])) for row in rows[:MOST_ROWS]]


def _counts(evaluations: Sequence[UUID]) -> dict[str, _Counted]:
    rows = (
        TaskResult.objects.filter(evaluation__in=evaluations, outcome__in=RAN)
        .annotate(codes=cause_codes())
        .values_list("evaluation_id", "codes")
        .annotate(tasks=Count("pk"))
        .order_by()
    )
    ran, below, unknown = Counter[str](), Counter[str](), Counter[str]()
    causes: dict[str, Counter[str]] = {str(pk): Counter() for pk in evaluations}
    for pk, codes, tasks in rows:
        evaluation = str(pk)
        ran[evaluation] += tasks
        unknown[evaluation] += tasks if codes is None else 0
        below[evaluation] += tasks if codes else 0
        causes[evaluation].update(dict.fromkeys(ordered(codes or ()), tasks))
    return {pk: _Counted(ran[pk], below[pk], unknown[pk], causes[pk]) for pk in causes}
