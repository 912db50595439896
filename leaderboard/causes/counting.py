"""Number of tasks by cause for each planner of a board, and the share of lost points that each cause costs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count

from evaluator.core import canonical_json
from evaluator.core.records import Outcome
from evaluator.scoring.causes.costs import ExplainedTask, costs_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from evaluator.scoring.metrics.aggregate import TaskScore
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.causes import RAN, ordered, percent, words_of_cause
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.task_scores import cause_codes, causes_version, packed_scores_and_codes
from leaderboard.platform.lru_cache import SharedCache

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


class ExplainedRun(NamedTuple):
    """A completed evaluation whose lost points are to be explained."""

    evaluation: UUID
    gold: UUID | None
    """The run of the bundled planner `gold` under the same conditions, if there is one."""
    suite: Suite
    samples: int
    tasks: Sequence[tuple[int, str, str]]
    """Primary key, key and metric of each of the suite's tasks, in order."""


class LostPoints(NamedTuple):
    """The part of an evaluation's distance from the gold score that is due to one cause."""

    cause: str
    label: str
    definition: str
    tasks: int
    """Tasks with this main cause."""
    share: float
    """Of the points that all causes cost, in (0, 1]."""

    @property
    def percent(self) -> str:
        """The share in whole per cent."""
        return percent(self.share)


_lost: SharedCache[tuple[UUID, UUID | None, str], tuple[LostPoints, ...]] = SharedCache(maxsize=500)
"""By the evaluation, its run of `gold`, and a digest of the causes, which may be found long after the end."""


def lost_points(runs: Sequence[ExplainedRun]) -> dict[UUID, tuple[LostPoints, ...]]:
    """What the causes of evaluations cost, the costliest first, in one query."""
    names = {task: (key, metric) for run in runs for task, key, metric in run.tasks}
    wanted = {pk for run in runs for pk in (run.evaluation, run.gold) if pk is not None}
    packed = packed_scores_and_codes(evaluations=list(wanted), tasks=names) if wanted else {}
    lost = {}
    for run in runs:
        scores, codes = packed[run.evaluation]
        digest = canonical_json.digest([[task, codes[task]] for task in sorted(codes)])
        make = partial(_lost_points, run, scores=scores, codes=codes, gold=packed[run.gold][0] if run.gold else {})
        lost[run.evaluation] = _lost.get_or_make((run.evaluation, run.gold, digest), make)
    return lost


def _lost_points(
    run: ExplainedRun,
    *,
    scores: Mapping[int, TaskScore],
    codes: Mapping[int, Sequence[str] | None],
    gold: Mapping[int, TaskScore],
) -> tuple[LostPoints, ...]:
    known = frozenset(Cause)
    tasks = []
    for task, _, _ in run.tasks:
        if task in scores:
            found = codes.get(task, ())
            findings = None if found is None else [Finding(cause=Cause(code)) for code in found if code in known]
            tasks.append(ExplainedTask(score=scores[task], findings=findings))
    costs = costs_of(
        tasks,
        column=run.suite.ranking_column,
        samples=run.samples,
        has_experts=run.suite.runs_experts,
        gold={score.task: score for score in gold.values() if score.outcome is Outcome.SCORED},
    )
    costly = [(one, one.cost.mean) for one in costs.causes if one.cost is not None and one.cost.mean > 0]
    total = sum(cost for _, cost in costly)
    return tuple(
        LostPoints(one.cause.value, words_of_cause(one.cause), one.cause.definition, one.tasks, cost / total)
        for one, cost in costly
    )
