"""Why the planners of a board are below the gold score: tasks by cause, planner by planner."""

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
"""Rows of the board that are counted, the best first."""
LEVELS = 5
"""Shades of a cell."""


class CauseColumn(NamedTuple):
    """One cause that some planner has."""

    cause: str
    label: str
    definition: str


class CauseCell(NamedTuple):
    """The tasks of one planner with one cause."""

    cause: str
    tasks: int
    percent: str
    """Of the tasks that ran; empty without a task."""
    level: int
    """Shade: 0 for no task, to `LEVELS`."""


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
    """Tasks whose causes are not found yet."""
    cells: tuple[CauseCell, ...]
    """In the order of the columns."""


class BoardCauses(NamedTuple):
    """The first rows of a board by causes, in the order in which causes are listed."""

    columns: tuple[CauseColumn, ...]
    lines: tuple[CauseLine, ...]
    further: int
    """Rows of the board that are not counted."""

    @property
    def ran(self) -> int:
        """Tasks of all these rows that ran."""
        return sum(line.ran for line in self.lines)

    @property
    def unknown(self) -> int:
        """Those whose causes are not found yet."""
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
    codes = ordered(code for one in counted.values() for code in one.causes)
    return BoardCauses(
        columns=tuple(CauseColumn(code, words_of_cause(code), Cause(code).definition) for code in codes),
        lines=tuple(
            CauseLine(
                **{name: row[name] for name in ("rank", "planner", "owner", "evaluation")},
                ran=one.ran,
                below=one.below,
                unknown=one.unknown,
                cells=tuple(_cell(code=code, tasks=one.causes.get(code, 0), ran=one.ran) for code in codes),
            )
            for row in shown
            for one in [counted[str(row["evaluation"])]]
        ),
        further=len(rows) - len(shown),
    )


def version_of_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int | None]:
    """Changes when the counts of a board's rows do: one query."""
    return causes_version(_evaluations(rows))


def _evaluations(rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
    return [UUID(str(row["evaluation"])) for row in rows[:MOST_ROWS]]


def _cell(*, code: str, tasks: int, ran: int) -> CauseCell:
    share = tasks / ran if ran else 0.0
    # Rounded up, so that one task in a thousand is not shown as none.
    return CauseCell(code, tasks, percent(share) if tasks else "", min(LEVELS, int(share * LEVELS) + 1) if tasks else 0)


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
    return {one: _Counted(ran[one], below[one], unknown[one], causes[one]) for one in causes}
