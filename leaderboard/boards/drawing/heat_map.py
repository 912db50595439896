"""The heat map of a board as one picture: a row for each planner, tasks from left to right."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leaderboard.boards.drawing.picture import Area, Cells, Item, Line, Link, Picture, Text, shortened, text_width
from leaderboard.boards.matrix import Band, Solved, TaskMatrix, Values

LEVELS = 10
"""Number of shades above the lowest."""
LEFT, RIGHT, TOP, BOTTOM = 190.0, 8.0, 40.0, 10.0
ROW = 16.0
_WIDEST, _CELL = 1000.0, 24.0
"""Maximum width of all tasks together, and of one task."""
_LETTERS = 26
BAND_WORDS = {
    Solved.NONE: "Solved by no planner",
    Solved.SOME: "Solved by some",
    Solved.ALL: "Solved by all",
    Solved.UNKNOWN: "No score",
}


class Block(NamedTuple):
    """Adjacent tasks that link to one page of the table."""

    address: str
    words: str
    first: int
    """Position in the order of the picture."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls


def level_of(value: float, *, low: float, high: float) -> int:
    """The shade of a value, from 0 (lowest) to `LEVELS` (highest)."""
    share = (value - low) / (high - low) if high > low else 0.0
    return round(min(max(share, 0.0), 1.0) * LEVELS)


def heat_map(
    *,
    matrix: TaskMatrix,
    bands: Sequence[Band],
    columns: Sequence[int],
    addresses: Sequence[str],
    blocks: Sequence[Block],
    title: str,
) -> Picture:
    """The picture. If there are more tasks than pixels, adjacent tasks share one with their mean.

    Args:
        matrix: the scores.
        bands: all tasks in display order.
        columns: positions of the planners in display order.
        addresses: links of the planners' names, by position.
        blocks: of tasks, each a link.
        title: of the picture.
    """
    order = [task for band in bands for task in band.tasks]
    values = matrix.values[np.ix_(order, list(columns))].T
    together = -(-len(order) // int(_WIDEST))
    cell = min(_CELL, _WIDEST * together / max(1, len(order)))
    each = cell / together
    width, height = LEFT + len(order) * each + RIGHT, TOP + ROW * len(columns) + BOTTOM
    items: list[Item] = [*_cells(_merged(values, together=together), matrix=matrix, cell=cell)]
    for row, position in enumerate(columns):
        planner = matrix.planners[position]
        name = shortened(planner.planner, most=_LETTERS)
        text = Text("tick", LEFT - 8, TOP + ROW * (row + 0.5) + 4, name, "end")
        items.append(Link(addresses[position], f"{planner.planner} by {planner.owner}", (text,)))
    items += _band_heads(bands, each=each, bottom=height - BOTTOM)
    for block in blocks:
        area = Area("block", LEFT + block.first * each, TOP, block.count * each, height - BOTTOM - TOP)
        items.append(Link(block.address, block.words, (area,)))
    description = (
        f"{len(matrix.tasks):,} tasks from left to right, {len(matrix.planners)} planners from top to bottom; stronger "
        f"colours are higher scores. {matrix.solved.count(Solved.NONE):,} tasks are solved by no planner, "
        f"{matrix.solved.count(Solved.ALL):,} by all. {matrix.rule}"
    )
    return Picture("tasks", title, description, max(width, LEFT + 260), height, tuple(items))


def _merged(values: Values, *, together: int) -> Values:
    """(planners, pixels): means of `together` adjacent tasks."""
    if together == 1:
        return values
    missing = -values.shape[1] % together
    padded = np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)
    parts = padded.reshape(len(values), -1, together)
    known = ~np.isnan(parts)
    counts = known.sum(axis=2)
    sums = np.where(known, parts, 0.0).sum(axis=2)
    means: Values = np.full(counts.shape, np.nan, dtype=np.float32)
    np.divide(sums, counts, out=means, where=counts > 0, casting="same_kind")
    return means


def _cells(values: Values, *, matrix: TaskMatrix, cell: float) -> list[Cells]:
    """One item per shade; adjacent cells of a shade form one rectangle."""
    span = matrix.high - matrix.low or 1.0
    known = ~np.isnan(values)
    shares = np.clip((np.where(known, values, 0.0) - matrix.low) / span, 0.0, 1.0)
    levels = np.where(known, np.round(shares * LEVELS), -1).astype(int)
    runs: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for row, line in enumerate(levels):
        edges = np.flatnonzero(np.diff(line)) + 1
        starts, ends = [0, *edges.tolist()], [*edges.tolist(), len(line)]
        y = TOP + ROW * (row + 0.5)
        for start, end in zip(starts, ends, strict=True):
            if end > start:
                runs[int(line[start])].append((LEFT + start * cell, y, (end - start) * cell))
    names = {level: "missing" if level < 0 else f"heat-{level}" for level in sorted(runs)}
    return [Cells(names[level], ROW - 1, tuple(runs[level])) for level in names]


def _band_heads(bands: Sequence[Band], *, each: float, bottom: float) -> list[Item]:
    items: list[Item] = []
    first, end = 0, 0.0
    for band in bands:
        x = LEFT + first * each
        if band.solved is not None:
            words = f"{BAND_WORDS[band.solved]} ({len(band.tasks):,})"
            # Narrow bands have no room for their heading, which the table repeats.
            if x >= end:
                items.append(Text("tick", x, TOP - 12, words))
                end = x + text_width(words) + 8
            items.append(Line("edge", ((x, TOP - 8), (x, bottom))))
        first += len(band.tasks)
    return items
