"""Agreement of SE with execution, over the rows of a board whose plans are both executed and judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evaluator.episodes.beside_gold import RELATIVE
from evaluator.studies.validity.executed_plans import GOOD, AgreementReport, ExecutedPlan, agreement_of
from leaderboard.boards.anchors import GOLD
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.rank_tests import tables_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.planners.models import is_bundled
from leaderboard.platform.lru_cache import Mark, SharedCache

_SE, _UNDECIDED = "SE", "undecided"


def agreement_on(*, suite: Suite, rows: Sequence[Mapping[str, Any]], samples: int) -> AgreementReport | None:
    """Agreement of SE with execution over all executed plans of a board, except those of `gold`, the reference.

    Args:
        suite: of the board.
        rows: in the format of `ranking.py`.
        samples: of each task.

    Returns:
        None if plans are not both judged and executed, or if no plan has SE = 1 or none has SE = 0.
    """
    columns = {column.key: column for column in suite.columns if column.key in (_SE, RELATIVE, _UNDECIDED)}
    if len(columns) < 3:
        return None
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    own = [row["evaluation"] for row in rows if not (is_bundled(row["kind"]) and row.get("strategy") == GOLD)]
    tables = {
        # Without planner faults, which count as 0 in both.
        key: tables_of(column=replace(column, fault=None), samples=samples, evaluations=own, tasks=tasks)
        for key, column in columns.items()
    }
    keys = [key for _, key, _ in tasks]
    plans = [plan for pk in own for plan in _plans({name: table[pk] for name, table in tables.items()}, keys)]
    try:
        return agreement_of(suite=suite.slug, plans=plans)
    except ValueError:
        return None


def _plans(tables: Mapping[str, Any], keys: Sequence[str]) -> Iterator[ExecutedPlan]:
    solves, relative, undecided = (tables[name][:, 0] for name in (_SE, RELATIVE, _UNDECIDED))
    for place in np.flatnonzero(~np.isnan(solves) & ~np.isnan(relative)).tolist():
        yield ExecutedPlan(
            task=keys[place],
            maker="",
            solves=bool(solves[place] > 0),
            undecided=bool(undecided[place] > 0),
            relative=float(relative[place]),
        )


class AgreementFigures(NamedTuple):
    """The figures of an agreement report, as text."""

    plans: str
    threshold: str
    """Minimum share of the gold plan's score at which a result is good."""
    rows: tuple[tuple[str, str, str], ...]
    """Label, value and interval of each figure."""


_figures: SharedCache[tuple[Mark, str], tuple[AgreementFigures | None]] = SharedCache(maxsize=50)
"""By the rows of a board and the suite."""


def agreement_figures(*, suite: Suite, content: BoardContent, samples: int) -> AgreementFigures | None:
    """The figures of a board, cached per process; None as in `agreement_on`."""

    def make() -> tuple[AgreementFigures | None]:
        report = agreement_on(suite=suite, rows=content.rows, samples=samples)
        if report is None:
            return (None,)
        rows = tuple((words, f"{mean.mean:.3f}", mean.in_words(form=".3f")) for words, mean in report.figures())
        return (AgreementFigures(plans=f"{report.plans:,}", threshold=f"{GOOD:.0%}".replace("%", " %"), rows=rows),)

    return _figures.get_or_make((content.mark, suite.digest), make)[0]
