"""Comparison of evaluations by groups of tasks and by causes, without a database."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evaluator.core.suites.base import Column
from evaluator.core.suites.facets import Facet
from evaluator.scoring.causes.taxonomy import Cause
from evaluator.scoring.task_comparison import GroupCount, Scores, Span, group_count, span_of
from leaderboard.evaluations.causes import ordered, words_of_cause
from leaderboard.evaluations.results.task_rows import TaskRow


class GroupRow(NamedTuple):
    """One group of tasks."""

    value: str
    counts: tuple[GroupCount, ...]
    """For each evaluation after the first."""


def by_group(*, facet: str, tasks: Sequence[TaskRow], metric: Column, scores: Sequence[Scores]) -> tuple[GroupRow, ...]:
    """Wins, losses, ties and mean difference in each group of a facet, in the order of first occurrence."""
    members: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        for value in task.facets.get(facet, ()):
            members.setdefault(value, []).append(place)
    spans = [span_of(key=metric.key, first=scores[0], other=other) for other in scores[1:]]
    rows = []
    for value, places in members.items():
        counts = tuple(group_count(metric=metric, span=Span(*(end[places] for end in span))) for span in spans)
        if any(count.tasks for count in counts):
            rows.append(GroupRow(value=value, counts=counts))
    return tuple(rows)


def common_facets(*, tasks: Sequence[TaskRow], facets: Iterable[Facet]) -> tuple[Facet, ...]:
    """The facets with more than one value."""
    return tuple(
        facet for facet in facets if len({value for task in tasks for value in task.facets.get(facet.name, ())}) > 1
    )


Causes = Sequence[tuple[str, ...] | None]
"""The causes of each task, in the suite's order; None if it did not run or its causes are not known."""


class CauseCount(NamedTuple):
    """One evaluation against the first, over the tasks for which the causes of both are known."""

    tasks: int
    """With the cause in the other evaluation."""
    first: int
    """With the cause in the first."""
    both: int

    @property
    def more(self) -> int:
        """Tasks with the cause only in the other evaluation."""
        return self.tasks - self.both

    @property
    def fewer(self) -> int:
        """Tasks with the cause only in the first."""
        return self.first - self.both

    @property
    def difference(self) -> int:
        return self.tasks - self.first

    @property
    def shown(self) -> str:
        """The difference with its sign."""
        return f"{self.difference:+d}".replace("-", "\N{MINUS SIGN}") if self.difference else "0"


class CauseRow(NamedTuple):
    """One cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    counts: tuple[CauseCount, ...]
    """For each evaluation after the first."""


class CauseTable(NamedTuple):
    """All causes in any of the evaluations, in the taxonomy's order."""

    rows: tuple[CauseRow, ...]
    common: tuple[int, ...]
    """For each evaluation after the first, the tasks for which the causes of both are known."""


def cause_table(evaluations: Sequence[Causes]) -> CauseTable:
    """Count the causes of at least two evaluations against the first."""
    first, *others = evaluations
    pairs = [
        [(set(one), set(two)) for one, two in zip(first, other, strict=True) if one is not None and two is not None]
        for other in others
    ]
    codes = ordered(code for pair in pairs for one, two in pair for code in one | two)
    rows = []
    for code in codes:
        counts = tuple(
            CauseCount(
                tasks=sum(code in two for _, two in pair),
                first=sum(code in one for one, _ in pair),
                both=sum(code in one and code in two for one, two in pair),
            )
            for pair in pairs
        )
        rows.append(CauseRow(code, words_of_cause(code), Cause(code).definition, counts))
    return CauseTable(rows=tuple(rows), common=tuple(map(len, pairs)))
