"""The compact prompt, for networks of a million parameters: a task in one view, in a few hundred tokens.

For outputs of the input's size, only changes are written. The views `grid`, `objects` and `pixels`:

    view grid                  view objects                      view pixels
    2x3/a../.b.>=/,,a/,,,      2x3a 0:0 1x1b 1:1 1x1>=+a 0:2 1x1  2x3a 0:0b 1:1>=a+ 0:2
"""

from collections.abc import Mapping, Sequence

from evaluator.arc.candidates import Output, Wrong
from evaluator.arc.grids import LETTERS, Demonstration, Grid, difference, letters_of, size_of
from evaluator.arc.strategies.agents import Agent
from evaluator.arc.views import View, view_of
from evaluator.core.canonical_json import JsonValue

MOST_CHARACTERS = 2400
"""Maximum length of a task. A longer one loses its last demonstrations, but keeps the first two."""
_LEAST_SHOWN = 2
_CELLS = 3
"""Maximum number of wrong cells reported per demonstration."""
VIEW, TEST, PROGRAM = "view ", "test\n", "program\n"
OK, ERROR, AGAIN, NO_PROGRAM, NOT = " ok\n", " error\n", "again\n", "no program\n", " not "
WORDS = (VIEW, TEST, PROGRAM, OK, ERROR, AGAIN, NO_PROGRAM, NOT)
_BLANK, _SAME = ".", ","


def task_text(*, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid]) -> str:
    """The prompt for a task.

    Args:
        agent: its views are used; the grid only if it has no other view.
        demonstrations: inputs and outputs.
        test_inputs: their outputs are not part of a request.
    """
    views = agent.views[1:] or agent.views
    pairs = [
        "+".join(f"{_input(pair.input, view=view)}>{_output(pair, view=view)}" for view in views) + "\n"
        for pair in demonstrations
    ]
    tests = [f"{'+'.join(_input(grid, view=view) for view in views)}\n" for grid in test_inputs]
    while len(pairs) > _LEAST_SHOWN and sum(map(len, (*pairs, *tests))) > MOST_CHARACTERS:
        pairs.pop()
    return "".join([f"{VIEW}{agent.name}\n", *pairs, TEST, *tests, PROGRAM])


def feedback_text(*, outputs: Sequence[Output], rights: Sequence[Grid]) -> str:
    """Feedback on a program: a line per demonstration."""
    pairs = zip(outputs, rights, strict=True)
    lines = [f"{number}{_comparison(*pair)}" for number, pair in enumerate(pairs, start=1)]
    return "".join([*lines, AGAIN])


def _comparison(output: Output, right: Grid) -> str:
    if isinstance(output, Wrong):
        return ERROR
    wrong = difference(expected=right, actual=output)
    if wrong.is_equal:
        return OK
    if not wrong.cells:
        return f" {_size(output)}{NOT}{_size(right)}\n"
    cells = [f" {cell.row}:{cell.column}{LETTERS[cell.actual]}{NOT}{LETTERS[cell.expected]}" for cell in wrong.cells]
    return f" {len(cells)}:{''.join(cells[:_CELLS])}\n"


def _input(grid: Grid, *, view: View) -> str:
    if view is View.GRID:
        return _size(grid) + "".join(f"/{''.join(row)}" for row in letters_of(grid))
    if view is View.PIXELS:
        return _size(grid) + "".join(colour + "".join(places) for colour, places in _pixels(grid).items())
    return _size(grid) + "".join(map("".join, _objects(grid, view=view)))


def _output(pair: Demonstration, *, view: View) -> str:
    """The output, or its changes if the size is the same."""
    if size_of(pair.input) != size_of(pair.output):
        return _input(pair.output, view=view)
    if view is View.GRID:
        rows = zip(letters_of(pair.input), letters_of(pair.output), strict=True)
        return "=" + "".join(
            "/" + "".join(_SAME if old == new else new for old, new in zip(*row, strict=True)) for row in rows
        )
    if view is View.PIXELS:
        return "=" + _changed_pixels(pair)
    before, after = _objects(pair.input, view=view), _objects(pair.output, view=view)
    removed = [f"-{colour}{place}" for colour, place, shape in before if (colour, place, shape) not in after]
    return "".join(["=", *removed, *(f"+{''.join(obj)}" for obj in after if obj not in before)])


def _changed_pixels(pair: Demonstration) -> str:
    old, new = _pixels(pair.input), _pixels(pair.output)
    text = ""
    for colour in dict.fromkeys([*old, *new]):
        before, after = old.get(colour, ()), new.get(colour, ())
        removed = [place for place in before if place not in after]
        added = [place for place in after if place not in before]
        text += "".join(f"{colour}{sign}{''.join(places)}" for sign, places in (("-", removed), ("+", added)) if places)
    return text


def _pixels(grid: Grid) -> Mapping[str, tuple[str, ...]]:
    """The coordinates of each colour."""
    pixels = view_of(grid, view=View.PIXELS)
    assert isinstance(pixels, dict)
    return {colour: tuple(_pair(place) for place in _list(places)) for colour, places in pixels.items()}


def _objects(grid: Grid, *, view: View) -> list[tuple[str, str, str]]:
    """The colour, place and shape of each object; the shape of a multicoloured object includes its colours."""
    objects = []
    for obj in _list(view_of(grid, view=view)):
        assert isinstance(obj, dict)
        rows = ["".join(map(str, _list(row))) for row in _list(obj["grid"])]
        colours = {cell for row in rows for cell in row} - {_BLANK}
        colour = min(colours) if len(colours) == 1 else ""
        size = f" {len(rows)}x{len(rows[0])}"
        if not colour:
            shape = "".join(f"/{row}" for row in rows)
        elif _BLANK in "".join(rows):
            shape = "/".join("".join("-" if cell == _BLANK else "#" for cell in row) for row in rows)
        else:
            shape = ""
        objects.append((colour, _pair(obj["tl"]), size + shape))
    return objects


def _list(value: JsonValue) -> list[JsonValue]:
    assert isinstance(value, list)
    return value


def _pair(value: JsonValue) -> str:
    row, column = _list(value)
    return f" {row}:{column}"


def _size(grid: Grid) -> str:
    rows, columns = size_of(grid)
    return f"{rows}x{columns}"
