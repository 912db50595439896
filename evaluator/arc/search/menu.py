"""The functions that the search tries, with their options."""

from collections.abc import Iterator, Sequence
from typing import Any

from evaluator.arc.search.functions import Grid
from evaluator.arc.search.terms import Bench, Made, size

OBJECT_WORK = 20
"""Weight of functions that look for objects."""
_PLAIN = (
    "mirrored", "upside_down", "transposed", "transposed_other", "trimmed", "trimmed_of_common", "common_as_blank",
    "without_border", "fallen", "condensed", "without_lines", "without_blank_lines", "colour_bars",
)  # fmt: skip
_TURNS = (90, 180, 270)
_KINDS = (
    "cells", "box", "colours", "minority", "alike", "equal", "colour", "symmetric", "blank", "height", "width", "top",
    "left",
)  # fmt: skip
_OBJECTS = ((False, False), (True, False), (False, True), (True, True))
_PROPERTIES = (
    "cells", "largest", "smallest", "rank", "height", "width", "edge", "full", "square", "symmetric", "tall", "single",
    "blank", "rare",
)  # fmt: skip
_DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))
_SIMPLE_LABELS = (
    "at_edge", "depth", "row_common", "column_common", "row_colour", "column_colour", "line_is_one", "crossing",
    "rarest", "commonest",
)  # fmt: skip

Option = tuple[str, tuple[Any, ...], int]
"""A function, its options, and the weight of its work."""


def grid_options(*, inputs: Sequence[Grid], outputs: Sequence[Grid]) -> list[Option]:
    """Functions from one grid to one, in the order in which they are tried.

    Args:
        inputs: of the demonstrations.
        outputs: of the demonstrations; determine sizes and colours.
    """
    ratios = {(2, 2), (3, 3), (1, 2), (2, 1)}
    for pair in zip(map(size, inputs), map(size, outputs), strict=True):
        for (rows, cols), (more_rows, more_cols) in (pair, pair[::-1]):
            if more_rows % rows == 0 and more_cols % cols == 0:
                ratios.add((more_rows // rows, more_cols // cols))
    factors = sorted(ratios - {(1, 1)})[:8]
    common = set.intersection(*({cell for row in grid for cell in row} for grid in inputs))
    # Values of every input that no output has.
    vanished = sorted(common - {cell for grid in outputs for row in grid for cell in row})
    selections = ("only_colour", "without_colour", "box_of_colour", "inside_of_colour", "one_cell")
    return [
        *((name, (), 1) for name in _PLAIN),
        *(("turned", (degree,), 1) for degree in _TURNS),
        *(("fallen_to", (degree,), 2) for degree in _TURNS),
        *(("part", (axis, count, index), 1) for axis in (0, 1) for count in (2, 3, 4) for index in range(count)),
        *((name, factor, 1) for name in ("enlarged", "tiled", "reduced") for factor in factors),
        ("colours_large", (), 4),
        ("cells_large", (), 4),
        *((name, (place,), 2) for name in selections for place in (0, -1, 1)),
        *((name, (hole,), 40) for name in ("repeated_pattern", "mended") for hole in vanished),
    ]


def objects_cut(bench: Bench, base: Made) -> Iterator[Made]:
    """Grids of single objects: their cells, their boxes in the base, and their boxes without the border."""
    for option in (*_OBJECTS, None):
        objects = (
            bench.apply("colours_of", [base], weight=2)
            if option is None
            else bench.apply("objects_of", [base], *option, weight=OBJECT_WORK)
        )
        if objects is None or not all(objects.values):
            continue
        for kind in _KINDS:
            for sign in (1, -1):
                obj = bench.apply("chosen", [objects], kind, sign) or bench.apply("chosen_any", [objects], kind, sign)
                if obj is None:
                    continue
                grids = [
                    bench.grid("alone", [obj]), bench.grid("cut_out", [base, obj]),
                    bench.grid("cut_inside", [base, obj]), bench.grid("only_object", [base, obj], weight=2),
                ]  # fmt: skip
                yield from filter(None, grids)


_LABELS: tuple[Option, ...] = (
    *((name, (), 3) for name in _SIMPLE_LABELS),
    *(("enclosed", (diag,), 8) for diag in (False, True)),
    *(("neighbour", step, 2) for step in _DIRECTIONS),
    *(("between", step, 4) for step in _DIRECTIONS[:2] + _DIRECTIONS[4:6]),
    *(("ray", step, 3) for step in _DIRECTIONS),
    *((name, (diag,), 10) for name in ("neighbours", "around") for diag in (False, True)),
    *(
        ("stripes", (down, right, period), 1)
        for period in (2, 3, 4)
        for down, right in ((1, 0), (0, 1), (1, 1), (1, period - 1))
    ),
)
"""Functions from a grid to labels of its cells."""


def labels_of(bench: Bench, base: Made) -> Iterator[Made]:
    """Labels of the cells of a grid."""
    for name, options, weight in _LABELS:
        labels = bench.apply(name, [base], *options, weight=weight)
        if labels is not None:
            yield labels
    for option in (*_OBJECTS, None):
        name = "blank_regions" if option is None else "objects_of"
        objects = bench.apply(name, [base], *(option or ()), weight=OBJECT_WORK)
        if objects is None:
            continue
        for kind in _PROPERTIES if option and option[1] else _PROPERTIES[:-1]:
            labels = bench.apply("spread", [base, objects], kind, weight=6)
            if labels is not None:
                yield labels
