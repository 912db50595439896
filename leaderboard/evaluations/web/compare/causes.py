"""Causes of two or more evaluations side by side, without a database."""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.evaluations.cause_counts import ordered, words_of_cause

Causes = Sequence[tuple[str, ...] | None]
"""Of each task, in the suite's order: its causes; None where it did not run, or where they are not known."""


class CauseCount(NamedTuple):
    """One evaluation against the first, over the tasks for which the causes of both are known."""

    tasks: int
    """With the cause in the other evaluation."""
    first: int
    """With the cause in the first."""
    both: int

    @property
    def more(self) -> int:
        """Tasks that have it in the other evaluation only."""
        return self.tasks - self.both

    @property
    def fewer(self) -> int:
        """Tasks that have it in the first only."""
        return self.first - self.both

    @property
    def difference(self) -> int:
        """The other's tasks less the first's."""
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
    """All causes that one of the evaluations has, in the order in which causes are listed."""

    rows: tuple[CauseRow, ...]
    common: tuple[int, ...]
    """For each evaluation after the first, the tasks for which the causes of both are known."""


def cause_table(evaluations: Sequence[Causes]) -> CauseTable:
    """Count the causes of evaluations against the first; at least two."""
    first, *others = evaluations
    pairs = [
        [(set(one), set(two)) for one, two in zip(first, other, strict=True) if one is not None and two is not None]
        for other in others
    ]
    codes = ordered(code for pair in pairs for one, two in pair for code in one | two)
    rows = tuple(
        CauseRow(
            code, words_of_cause(code), Cause(code).definition, tuple(_count(code=code, pair=pair) for pair in pairs)
        )
        for code in codes
    )
    return CauseTable(rows=rows, common=tuple(map(len, pairs)))


def _count(*, code: str, pair: Sequence[tuple[set[str], set[str]]]) -> CauseCount:
    return CauseCount(
        tasks=sum(code in two for _, two in pair),
        first=sum(code in one for one, _ in pair),
        both=sum(code in one and code in two for one, two in pair),
    )
