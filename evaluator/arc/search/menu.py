"""Which functions the search tries, with which options."""

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
    """Functions from one grid to one, those that are tried first at the beginning.

    Args:
        inputs: of the demonstrations.
        outputs: of the demonstrations; sizes and colours are taken from them.
    """
    found: list[Option] = [(name, (), 1) for name in _PLAIN]
    found += [("turned", (degree,), 1) for degree in _TURNS]
    found += [("fallen_to", (degree,), 2) for degree in _TURNS]
    found += [("part", (axis, count, index), 1) for axis in (0, 1) for count in (2, 3, 4) for index in range(count)]
    found += [(name, factor, 1) for name in ("enlarged", "tiled", "reduced") for factor in _factors(inputs, outputs)]
    found += [("colours_large", (), 4), ("cells_large", (), 4)]
    selections = ("only_colour", "without_colour", "box_of_colour", "inside_of_colour", "one_cell")
    found += [(name, (place,), 2) for name in selections for place in (0, -1, 1)]
    found += [("repeated_pattern", (hole,), 40) for hole in _vanished(inputs, outputs)]
    found += [("mended", (hole,), 40) for hole in _vanished(inputs, outputs)]
    return found


def objects_cut(bench: Bench, base: Made) -> Iterator[Made]:
    """Grids of single objects: their cells, their boxes in the base, and their boxes without the border."""
    for option in (*_OBJECTS, None):
        found = (
            bench.apply("colours_of", [base], weight=2)
            if option is None
            else bench.apply("objects_of", [base], *option, weight=OBJECT_WORK)
        )
        if found is None or not all(found.values):
            continue
        for kind in _KINDS:
            for sign in (1, -1):
                chosen = bench.apply("chosen", [found], kind, sign) or bench.apply("chosen_any", [found], kind, sign)
                if chosen is None:
                    continue
                made = [
                    bench.grid("alone", [chosen]), bench.grid("cut_out", [base, chosen]),
                    bench.grid("cut_inside", [base, chosen]), bench.grid("only_object", [base, chosen], weight=2),
                ]  # fmt: skip
                yield from (one for one in made if one is not None)


def labels_of(bench: Bench, base: Made) -> Iterator[Made]:
    """Labels of the cells of a grid."""
    for name, given, weight in _label_options():
        made = bench.apply(name, [base], *given, weight=weight)
        if made is not None:
            yield made
    for option in (*_OBJECTS, None):
        if option is None:
            found = bench.apply("blank_regions", [base], weight=OBJECT_WORK)
        else:
            found = bench.apply("objects_of", [base], *option, weight=OBJECT_WORK)
        if found is None:
            continue
        for kind in _PROPERTIES if option and option[1] else _PROPERTIES[:-1]:
            made = bench.apply("spread", [base, found], kind, weight=6)
            if made is not None:
                yield made


def _label_options() -> list[Option]:
    """Functions from a grid to labels of its cells."""
    found: list[Option] = [(name, (), 3) for name in _SIMPLE_LABELS]
    found += [("enclosed", (diag,), 8) for diag in (False, True)]
    found += [("neighbour", step, 2) for step in _DIRECTIONS]
    found += [("between", step, 4) for step in _DIRECTIONS[:2] + _DIRECTIONS[4:6]]
    found += [("ray", step, 3) for step in _DIRECTIONS]
    found += [(name, (diag,), 10) for name in ("neighbours", "around") for diag in (False, True)]
    found += [
        ("stripes", (down, right, period), 1)
        for period in (2, 3, 4) for down, right in ((1, 0), (0, 1), (1, 1), (1, period - 1))
    ]  # fmt: skip
    return found


def _factors(inputs: Sequence[Grid], outputs: Sequence[Grid]) -> list[tuple[int, int]]:
    """Ratios of sizes that all demonstrations share, or some have; 2 and 3 besides."""
    ratios = set()
    for given, wanted in zip(inputs, outputs, strict=True):
        (rows, cols), (more_rows, more_cols) = size(given), size(wanted)
        for small, large in (((rows, cols), (more_rows, more_cols)), ((more_rows, more_cols), (rows, cols))):
            if large[0] % small[0] == 0 and large[1] % small[1] == 0:
                ratios.add((large[0] // small[0], large[1] // small[1]))
    extra = {(2, 2), (3, 3), (1, 2), (2, 1)}
    return sorted((ratios | extra) - {(1, 1)})[:8]


def _vanished(inputs: Sequence[Grid], outputs: Sequence[Grid]) -> list[str]:
    """Values of every input that no output has."""
    given = [{cell for row in grid for cell in row} for grid in inputs]
    wanted = {cell for grid in outputs for row in grid for cell in row}
    return sorted(set.intersection(*given) - wanted)
