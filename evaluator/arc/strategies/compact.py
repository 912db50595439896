"""The compact prompt, for networks of a million parameters: a task in one view, in a few hundred tokens.

Where input and output have one size, the output is what changes. A task in the views `grid`, `objects` and `pixels`:

    view grid                  view objects                      view pixels
    2x3/a../.b.>=/,,a/,,,      2x3a 0:0 1x1b 1:1 1x1>=+a 0:2 1x1  2x3a 0:0b 1:1>=a+ 0:2
"""

from collections.abc import Mapping, Sequence

from evaluator.arc.candidates import Output, Wrong
from evaluator.arc.grids import Demonstration, Grid, difference, letters_of, size_of
from evaluator.arc.strategies.agents import Agent
from evaluator.arc.views import View, view_of
from evaluator.core.canonical_json import JsonValue

MOST_CHARACTERS = 2400
"""Of a task. What is longer loses its last demonstrations, but not the first two."""
_LEAST_SHOWN = 2
_CELLS = 3
"""Wrong cells that are told of each demonstration."""
VIEW, TEST, PROGRAM = "view ", "test\n", "program\n"
OK, ERROR, AGAIN, NO_PROGRAM, NOT = " ok\n", " error\n", "again\n", "no program\n", " not "
WORDS = (VIEW, TEST, PROGRAM, OK, ERROR, AGAIN, NO_PROGRAM, NOT)
_BLANK, _SAME = ".", ","


def task_text(*, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid]) -> str:
    """What a network is asked about a task.

    Args:
        agent: whose views are shown; the grid only where it has no other one.
        demonstrations: inputs and outputs.
        test_inputs: their outputs are not part of a request.
    """
    views = agent.views[1:] or agent.views
    shown = [_demonstration(pair, views=views) for pair in demonstrations]
    tests = [f"{'+'.join(_input(grid, view=view) for view in views)}\n" for grid in test_inputs]
    while len(shown) > _LEAST_SHOWN and sum(map(len, (*shown, *tests))) > MOST_CHARACTERS:
        shown.pop()
    return "".join([f"{VIEW}{agent.name}\n", *shown, TEST, *tests, PROGRAM])


def feedback_text(*, outputs: Sequence[Output], rights: Sequence[Grid]) -> str:
    """What a network is told about its program: a line for each demonstration."""
    lines = [f"{number}{_told(*pair)}" for number, pair in enumerate(zip(outputs, rights, strict=True), start=1)]
    return "".join([*lines, AGAIN])


def _told(output: Output, right: Grid) -> str:
    if isinstance(output, Wrong):
        return ERROR
    found = difference(expected=right, actual=output)
    if found.is_equal:
        return OK
    if not found.cells:
        return f" {_size(output)}{NOT}{_size(right)}\n"
    cells = [f"{_place(one.row, one.column)}{_letter(one.actual)}{NOT}{_letter(one.expected)}" for one in found.cells]
    return f" {len(cells)}:{''.join(cells[:_CELLS])}\n"


def _demonstration(pair: Demonstration, *, views: Sequence[View]) -> str:
    parts = [f"{_input(pair.input, view=view)}>{_output(pair, view=view)}" for view in views]
    return f"{'+'.join(parts)}\n"


def _input(grid: Grid, *, view: View) -> str:
    return _size(grid) + _whole(grid, view=view)


def _output(pair: Demonstration, *, view: View) -> str:
    if size_of(pair.input) != size_of(pair.output):
        return _input(pair.output, view=view)
    if view is View.GRID:
        return "=" + _changed_cells(pair)
    return "=" + (_changed_pixels(pair) if view is View.PIXELS else _changed_objects(pair, view=view))


def _whole(grid: Grid, *, view: View) -> str:
    if view is View.GRID:
        return "".join(f"/{''.join(row)}" for row in letters_of(grid))
    if view is View.PIXELS:
        return "".join(colour + "".join(places) for colour, places in _pixels(grid).items())
    return "".join(map("".join, _objects(grid, view=view)))


def _changed_cells(pair: Demonstration) -> str:
    rows = zip(letters_of(pair.input), letters_of(pair.output), strict=True)
    return "".join(
        "/" + "".join(_SAME if old == new else new for old, new in zip(*row, strict=True)) for row in rows
    )  # fmt: skip


def _changed_pixels(pair: Demonstration) -> str:
    old, new = _pixels(pair.input), _pixels(pair.output)
    text = ""
    for colour in dict.fromkeys([*old, *new]):
        before, after = old.get(colour, ()), new.get(colour, ())
        gone = [place for place in before if place not in after]
        come = [place for place in after if place not in before]
        text += "".join(f"{colour}{sign}{''.join(places)}" for sign, places in (("-", gone), ("+", come)) if places)
    return text


def _changed_objects(pair: Demonstration, *, view: View) -> str:
    old, new = _objects(pair.input, view=view), _objects(pair.output, view=view)
    gone = [f"-{colour}{place}" for colour, place, shape in old if (colour, place, shape) not in new]
    come = [f"+{''.join(one)}" for one in new if one not in old]
    return "".join([*gone, *come])


def _pixels(grid: Grid) -> Mapping[str, tuple[str, ...]]:
    """The places of each colour."""
    found = view_of(grid, view=View.PIXELS)
    assert isinstance(found, dict)
    return {colour: tuple(_pair(place) for place in _list(places)) for colour, places in found.items()}


def _objects(grid: Grid, *, view: View) -> list[tuple[str, str, str]]:
    """The colour, place and shape of each object; one of several colours has these in its shape."""
    found = []
    for one in _list(view_of(grid, view=view)):
        assert isinstance(one, dict)
        rows = ["".join(map(str, _list(row))) for row in _list(one["grid"])]
        colours = {cell for row in rows for cell in row} - {_BLANK}
        colour = min(colours) if len(colours) == 1 else ""
        size = f" {len(rows)}x{len(rows[0])}"
        if not colour:
            shape = "".join(f"/{row}" for row in rows)
        elif _BLANK in "".join(rows):
            shape = "/".join("".join("-" if cell == _BLANK else "#" for cell in row) for row in rows)
        else:
            shape = ""
        found.append((colour, _pair(one["tl"]), size + shape))
    return found


def _list(value: JsonValue) -> list[JsonValue]:
    assert isinstance(value, list)
    return value


def _pair(value: JsonValue) -> str:
    row, column = _list(value)
    return f" {row}:{column}"


def _place(row: int, column: int) -> str:
    return f" {row}:{column}"


def _size(grid: Grid) -> str:
    rows, columns = size_of(grid)
    return f"{rows}x{columns}"


def _letter(colour: int) -> str:
    return letters_of(((colour,),))[0][0]
