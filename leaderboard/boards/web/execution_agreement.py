"""Whether SE predicts what plans produce, over the rows of a board whose plans are executed and judged."""

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
    """SE and execution, over every plan of a board that was executed; those of `gold` aside, with which scores are
    compared.

    Args:
        suite: of the board.
        rows: in the format of `ranking.py`.
        samples: of each task.

    Returns:
        None where plans are not both judged and executed, or none is there with SE = 1, or none with SE = 0.
    """
    columns = {column.key: column for column in suite.columns if column.key in (_SE, RELATIVE, _UNDECIDED)}
    if len(columns) < 3:
        return None
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    own = [row["evaluation"] for row in rows if not (is_bundled(row["kind"]) and row.get("strategy") == GOLD)]
    tables = {
        # Without the faults of planners, which count as 0 in both.
        key: tables_of(column=replace(column, fault=None), samples=samples, evaluations=own, tasks=tasks)
        for key, column in columns.items()
    }
    keys = [key for _, key, _ in tasks]
    found = [plan for one in own for plan in _plans({name: table[one] for name, table in tables.items()}, keys)]
    try:
        return agreement_of(suite=suite.slug, found=found)
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


class AgreementShown(NamedTuple):
    """Whether SE predicts what plans produce."""

    plans: str
    threshold: str
    """From which share of the gold plan's score on a result is good."""
    rows: tuple[tuple[str, str, str], ...]
    """What a figure is, the figure, and its interval."""


_shown: SharedCache[tuple[Mark, str], tuple[AgreementShown | None]] = SharedCache(maxsize=50)
"""By the rows of a board and the suite."""


def agreement_shown_on(*, suite: Suite, content: BoardContent, samples: int) -> AgreementShown | None:
    """The figures of a board, worked out once in each process; None as in `agreement_on`."""

    def make() -> tuple[AgreementShown | None]:
        return (agreement_shown(agreement_on(suite=suite, rows=content.rows, samples=samples)),)

    return _shown.get_or_make((content.mark, suite.digest), make)[0]


def agreement_shown(report: AgreementReport | None) -> AgreementShown | None:
    """The figures of a board on which plans are judged and executed."""
    if report is None:
        return None
    rows = tuple((words, f"{found.mean:.3f}", found.in_words(form=".3f")) for words, found in report.figures())
    return AgreementShown(plans=f"{report.plans:,}", threshold=f"{GOOD:.0%}".replace("%", " %"), rows=rows)
