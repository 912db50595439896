"""Forest plot in the primary column of a board: the marks of each row, and what all rows share. No database access.

Places are percentages of the column's scale, for attributes of SVG.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evaluator.core.signatures.statements import BoardSummary
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.statistics import ends_of
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.anchors import anchors_of

_LETTER = 2.7
"""Width of a letter of a label, in per cent of the narrowest plot with labels (`.forest` in `boards.css`)."""
_ENDS = ((0.0, 9.0), (91.0, 100.0))
"""The places of the numbers of the scale, in the second line of labels."""
_MARGIN = 1.5
"""How far a band of rows that cannot be told apart reaches beyond their means."""


class Span(NamedTuple):
    start: str
    width: str


class Reference(NamedTuple):
    """A vertical line through all rows: an anchor's mean."""

    name: str
    value: float
    at: str
    line: int
    """The line of labels above the plot in which there is room for its name, 1 or 2; 0 if there is none."""
    side: str
    """`start`, `middle` or `end`: the part of the name that is at the line."""


class Marks(NamedTuple):
    """One row of the plot."""

    mean: str
    whisker: tuple[str, str] | None
    """The 95 % interval."""
    undecided: tuple[str, str] | None
    """From the mean to the mean if all undecided tasks are right."""


@dataclass(frozen=True, kw_only=True)
class Forest:
    """What the rows of a plot share."""

    scale: tuple[float, float]
    references: tuple[Reference, ...] = ()
    bands: Mapping[str, Span] = field(default_factory=dict)
    """By evaluation, the means of the neighbouring rows that cannot be told apart from it and each other."""
    ties: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By evaluation, the best and the worst rank of these rows."""

    def marks(self, value: Mapping[str, Any]) -> Marks:
        """The marks of a row.

        Args:
            value: of the primary metric, as `undecided.ranged` returns it.
        """
        ends = ends_of(low=value.get("low"), high=value.get("high"))
        mean = self.at(value["mean"])
        return Marks(
            mean=mean,
            whisker=None if ends is None else (self.at(ends[0]), self.at(ends[1])),
            undecided=(mean, self.at(value["upper"])) if "upper" in value else None,
        )

    def at(self, value: float) -> str:
        """The place of a value; values off the scale are at its end."""
        return f"{_share(value, self.scale):.1f}%"


def forest_of(
    *, rows: Sequence[Mapping[str, Any]], summary: BoardSummary | None, column: Column, scale: tuple[float, float]
) -> Forest:
    """The plot of a board.

    Args:
        rows: all rows of the board, in its order.
        summary: of the ranked rows; None if they were not tested.
        column: by which the board ranks.
        scale: of the plot.
    """
    ranked = [row for row in rows if row["rank"] is not None]
    bands: dict[str, Span] = {}
    ties: dict[str, tuple[int, int]] = {}
    for first, last in summary.groups if summary else ():
        members = ranked[first : last + 1]
        means = [value["mean"] for row in members if (value := ranged(metrics=row["metrics"], column=column))]
        start = max(_share(min(means), scale) - _MARGIN, -_MARGIN)
        end = min(_share(max(means), scale) + _MARGIN, 100 + _MARGIN)
        for row in members:
            bands[str(row["evaluation"])] = Span(f"{start:.1f}%", f"{end - start:.1f}%")
            ties[str(row["evaluation"])] = members[0]["rank"], members[-1]["rank"]
    return Forest(scale=scale, references=_references(rows, column=column, scale=scale), bands=bands, ties=ties)


def _references(
    rows: Sequence[Mapping[str, Any]], *, column: Column, scale: tuple[float, float]
) -> tuple[Reference, ...]:
    """A line for each anchor. Names without room are left out, those of the last anchors first."""
    taken: dict[int, list[tuple[float, float]]] = {1: [], 2: [*_ENDS]}
    references = []
    for anchor in anchors_of(rows=rows, metric=column.key):
        at, width = _share(anchor.value, scale), _LETTER * len(anchor.name)
        side = "start" if at < width / 2 else "end" if at > 100 - width / 2 else "middle"
        start = at - {"start": 0, "middle": width / 2, "end": width}[side]
        free = (line for line, labels in taken.items() if _is_free(start, start + width, labels))
        line = next(free, 0)
        if line:
            taken[line].append((start, start + width))
        references.append(Reference(anchor.name, anchor.value, f"{at:.1f}%", line, side))
    return tuple(references)


def _is_free(start: float, end: float, labels: Sequence[tuple[float, float]]) -> bool:
    return all(end + _LETTER <= left or start >= right + _LETTER for left, right in labels)


def _share(value: float, scale: tuple[float, float]) -> float:
    return 100 * min(max((value - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)
