"""Grids and programs of a task and of its candidates for templates: demonstrations, tests, code, and SVG drawings."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from evaluator.core.process import literal
from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import ActionRun

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of colours, each 0 (blank) to 9."""

COLOURS = 10
MOST_SIDE = 60
"""Maximum number of rows and of columns; larger values are not grids."""
LETTERS = ".abcdefghi"
_LONGEST_SIDE = 240
"""Pixels."""
_CELLS = (8, 28)
"""Minimum and maximum size of a cell in pixels; whole pixels keep edges crisp."""


class ColourPath(NamedTuple):
    """All cells of one colour as an SVG path, with one unit per cell."""

    colour: int
    path: str


class DrawnGrid(NamedTuple):
    """A grid as an SVG drawing."""

    rows: int
    columns: int
    width: int
    """Pixels."""
    height: int
    paths: tuple[ColourPath, ...]
    """Without the blank colour, which is the background."""
    lines: str
    """Path of the lines between the cells."""
    crosses: str
    """Path of the crosses on cells that differ from another grid."""
    text: str
    """Rows of letters."""

    @property
    def size(self) -> str:
        """Rows and columns in words."""
        return size_in_words(self.rows, self.columns)


def size_in_words(rows: int, columns: int) -> str:
    """Rows and columns, as `3 \N{MULTIPLICATION SIGN} 4`."""
    return f"{rows} \N{MULTIPLICATION SIGN} {columns}"


def grid_of(value: object) -> Grid | None:
    """Read a grid from lists of integers or strings of letters; None for any other value."""
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_SIDE:
        return None
    rows: list[tuple[int, ...]] = []
    for line in value:
        if not isinstance(line, str | list | tuple):
            return None
        row = tuple(map(LETTERS.find if isinstance(line, str) else _cell, line))
        if not all(0 <= cell < COLOURS for cell in row):
            return None
        rows.append(row)
    columns = len(rows[0])
    return tuple(rows) if 1 <= columns <= MOST_SIDE and all(len(row) == columns for row in rows) else None


def draw_grid(grid: Grid, *, against: Grid | None = None) -> DrawnGrid:
    """Draw a grid; crosses mark the cells that differ from `against`, if that has the same size."""
    rows, columns = len(grid), len(grid[0])
    cell = min(_CELLS[1], max(_CELLS[0], _LONGEST_SIDE // max(rows, columns)))
    paths = (ColourPath(colour, "".join(_runs(grid, colour=colour))) for colour in range(1, COLOURS))
    return DrawnGrid(
        rows=rows, columns=columns, width=cell * columns, height=cell * rows,
        paths=tuple(each for each in paths if each.path),
        lines="".join([f"M0 {y}h{columns}" for y in range(1, rows)] + [f"M{x} 0v{rows}" for x in range(1, columns)]),
        crosses="".join(
            f"M{x + 0.25} {y + 0.25}l.5 .5m0 -.5l-.5 .5" for y, x in different_cells(grid, against=against)
        ),
        text="\n".join("".join(LETTERS[cell] for cell in row) for row in grid),
    )  # fmt: skip


def different_cells(grid: Grid, *, against: Grid | None) -> list[tuple[int, int]]:
    """Row and column of each cell with another colour; empty if the sizes differ."""
    if against is None or (len(grid), len(grid[0])) != (len(against), len(against[0])):
        return []
    return [
        (y, x)
        for y, (row, other) in enumerate(zip(grid, against, strict=True))
        for x, (mine, right) in enumerate(zip(row, other, strict=True))
        if mine != right
    ]


def difference_in_words(grid: Grid, *, expected: Grid) -> str:
    """How an output differs from the right one, as a sentence; empty if they are equal."""
    size, right = (size_in_words(len(each), len(each[0])) for each in (grid, expected))
    if size != right:
        return f"The size is {size} instead of {right}."
    if not (cells := different_cells(grid, against=expected)):
        return ""
    verb = "differs" if len(cells) == 1 else "differ"
    return f"{len(cells)} of {len(grid) * len(grid[0])} cells {verb}, marked with a cross."


def _runs(grid: Grid, *, colour: int) -> Iterable[str]:
    """Merge neighbours in a row, so that a grid of 30 x 30 takes only a few kilobytes."""
    for y, row in enumerate(grid):
        start = 0
        while start < len(row):
            end = start
            while end < len(row) and row[end] == colour:
                end += 1
            if end > start:
                yield f"M{start} {y}h{end - start}v1h-{end - start}z"
            start = max(end, start + 1)


def _cell(value: object) -> int:
    if isinstance(value, str):
        return LETTERS.find(value) if len(value) == 1 else -1
    # `True` is an int, but not a colour.
    return value if type(value) is int else -1


_FAILING_LINE = re.compile(r"(?:^|error\. |: )Line (?P<line>\d{1,4})\b")
_FEWEST = 2
"""Minimum number of lines to be numbered."""


class CodeLine(NamedTuple):
    """A line of a program."""

    number: int
    text: str
    is_failing: bool


def numbered(lines: Sequence[str], *, failing: int | None) -> tuple[CodeLine, ...]:
    """Number lines from 1."""
    return tuple(CodeLine(number, line, number == failing) for number, line in enumerate(lines, start=1))


def failing_line(message: str) -> int | None:
    """The line that a tool's message names first."""
    match = _FAILING_LINE.search(message)
    return int(match["line"]) if match else None


def code_lines(arguments: str, *, message: str) -> tuple[CodeLine, ...]:
    """The lines of a program of several lines or of a list of steps; empty for any other argument.

    Args:
        arguments: of an action, as the planner wrote them.
        message: of the tool about the action.
    """
    value = _json(arguments) if arguments.startswith("[") else None
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        lines = value
    else:
        lines = _unquoted(arguments).splitlines()
    return numbered(lines, failing=failing_line(message)) if len(lines) >= _FEWEST else ()


def _unquoted(arguments: str) -> str:
    if not arguments.startswith(("'", '"')):
        return arguments
    try:
        value = literal(arguments)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return arguments
    return value if isinstance(value, str) else arguments


MOST_TRIED = 8
"""Maximum number of candidates with a tab."""
_VERDICT = re.compile(r"(?P<pair>(?:Demonstration|Test) \d{1,2}): (?P<words>.*)")
_OK, _WRONG, _FAILED, _UNKNOWN = "right", "wrong", "error", "unknown"
_TRACKS = {"program": "Program", "steps": "Steps", "grids": "Grids"}


class Pair(NamedTuple):
    """A demonstration or a test."""

    name: str
    input: DrawnGrid
    output: DrawnGrid | None
    """None for a test whose right output is unknown."""


class Verdict(NamedTuple):
    """A candidate's outcome on one input."""

    name: str
    """Of the pair."""
    status: str
    """`right`, `wrong`, `error` or `unknown`."""
    words: str
    """The error in words; empty without one."""
    output: DrawnGrid | None
    expected: DrawnGrid | None
    """Set for a wrong output."""


class ShownCandidate(NamedTuple):
    """One candidate."""

    title: str
    track: str
    lines: tuple[CodeLine, ...]
    """Empty for output grids and for contents that are too long for the record."""
    problem: str
    """Why it does not run, as a sentence; empty if it does."""
    demonstrations: tuple[Verdict, ...]
    tests: tuple[Verdict, ...]
    is_solution: bool | None
    """Whether every test output is right; None if unknown."""


class GridsPage(NamedTuple):
    """The grids of one task and one result."""

    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]
    tried: tuple[ShownCandidate, ...]
    """In the order of the episode."""
    tried_left_out: int
    final: tuple[ShownCandidate, ...]
    """Best first."""
    solved_by: int
    """Number of the first final candidate that solves the task, from 1; 0 if none is known to."""

    @property
    def key(self) -> list[tuple[int, str]]:
        """Each colour with its letter in programs."""
        return list(enumerate(LETTERS))

    @property
    def has_answer(self) -> bool:
        """Whether the planner tried or submitted a candidate."""
        return bool(self.tried or self.final)


def grids_page(*, given: Mapping[str, Any], record: ResultRecord | None, tools: Collection[str]) -> GridsPage | None:
    """The grids of a page; None if there is nothing to draw.

    Args:
        given: the values that planners receive; empty if the reader may not see them.
        record: without withheld parts.
        tools: names of the tools that try a candidate.
    """
    transcript = record.transcripts[0] if record and record.transcripts else None
    # Empty if the record's text was truncated.
    expected = [grid_of(grid) for grid in _list(_json(transcript.expected if transcript else None))]
    demonstrations = tuple(_pairs(given.get("train"), name="Demonstration", outputs=None))
    tests = tuple(_pairs(given.get("test"), name="Test", outputs=expected))
    rights = [grid_of(pair.get("output")) for pair in _objects(given.get("train"))]
    actions = [
        (number, action)
        for number, turn in enumerate(transcript.turns if transcript else (), start=1)
        for action in turn.actions
        if action.tool in tools or any(map(_VERDICT.match, action.outputs.values()))
    ]
    answer = _objects(_json(transcript.answer if transcript else None))
    final = tuple(_of_answer(value, place=place, expected=expected) for place, value in enumerate(answer, start=1))
    page = GridsPage(
        demonstrations=demonstrations,
        tests=tests,
        tried=tuple(
            _of_action(action, turn=turn, number=number, rights=rights, tools=tools)
            for number, (turn, action) in enumerate(actions[:MOST_TRIED], start=1)
        ),
        tried_left_out=max(0, len(actions) - MOST_TRIED),
        final=final,
        solved_by=next((place for place, candidate in enumerate(final, start=1) if candidate.is_solution), 0),
    )
    return page if page.demonstrations or page.has_answer else None


def _pairs(value: Any, *, name: str, outputs: Sequence[Grid | None] | None) -> Iterable[Pair]:
    for number, pair in enumerate(_objects(value), start=1):
        given = grid_of(pair.get("input"))
        right = grid_of(pair.get("output")) if outputs is None else _at(outputs, number - 1)
        if given is not None:
            yield Pair(f"{name} {number}", draw_grid(given), None if right is None else draw_grid(right))


def _of_action(
    action: ActionRun, *, turn: int, number: int, rights: Sequence[Grid | None], tools: Collection[str]
) -> ShownCandidate:
    feedback = "\n".join(action.outputs.values())
    verdicts = list(_verdicts(feedback, rights=rights))
    is_tried = action.tool in tools
    lines = _content(action.arguments) if is_tried else [f"{action.tool}({action.arguments})"]
    return ShownCandidate(
        title=f"Try {number}, turn {turn}",
        track=action.tool,
        # Line numbers in failures of other tools refer to the tool's program.
        lines=numbered(lines, failing=failing_line(action.error or feedback) if is_tried else None),
        problem=action.error,
        demonstrations=tuple(verdict for verdict in verdicts if verdict.name.startswith("Demonstration")),
        tests=tuple(verdict for verdict in verdicts if verdict.name.startswith("Test")),
        is_solution=None,
    )


def _content(arguments: str) -> list[str]:
    """The lines of a tried candidate; empty for output grids, which are drawn."""
    value = _json(arguments)
    if isinstance(value, list):
        is_steps = all(isinstance(line, str) for line in value)
        return [str(line) for line in value] if is_steps else []
    return arguments.splitlines()


def _verdicts(feedback: str, *, rights: Sequence[Grid | None]) -> Iterable[Verdict]:
    """Parse the feedback on a candidate: lines with verdicts, each followed by rows of an output."""
    blocks: list[tuple[str, str, list[str]]] = []
    for line in feedback.splitlines():
        if match := _VERDICT.fullmatch(line):
            blocks.append((match["pair"], match["words"], []))
        elif blocks:
            blocks[-1][2].append(line)
    for pair, words, rows in blocks:
        kind, _, number = pair.partition(" ")
        right = _at(rights, int(number) - 1) if kind == "Demonstration" else None
        yield _verdict(pair, words=words, rows=rows, right=right)


def _verdict(pair: str, *, words: str, rows: Sequence[str], right: Grid | None) -> Verdict:
    if words == "ok.":
        return Verdict(pair, _OK, "", None, None)
    if words.startswith("error. "):
        return Verdict(pair, _FAILED, words.removeprefix("error. "), None, None)
    if pair.startswith("Test"):
        return Verdict(pair, _UNKNOWN, words[:1].upper() + words[1:], None, None)
    output = grid_of(list(rows))
    if output is None or right is None:
        drawn = draw_grid(output) if output else None
        return Verdict(pair, _WRONG, words.removesuffix("The output is").strip(), drawn, None)
    difference = difference_in_words(output, expected=right)
    return Verdict(pair, _WRONG, difference, draw_grid(output, against=right), draw_grid(right))


def _of_answer(value: Mapping[str, Any], *, place: int, expected: Sequence[Grid | None]) -> ShownCandidate:
    stated, outputs = _list(value.get("demonstrations")), _list(value.get("tests"))
    demonstrations = tuple(_demonstration(outcome, number=n) for n, outcome in enumerate(stated, start=1))
    tests = tuple(_test(output, number=n, right=_at(expected, n - 1)) for n, output in enumerate(outputs, start=1))
    failing = (outcome.get("line") for outcome in (*stated, *outputs) if isinstance(outcome, Mapping))
    content = value.get("content")
    lines = [str(line) for line in content] if isinstance(content, list) else str(content or "").splitlines()
    statuses = {test.status for test in tests}
    known = bool(tests) and _UNKNOWN not in statuses
    return ShownCandidate(
        title=f"Candidate {place}",
        track=_TRACKS.get(str(value.get("track")), "Candidate"),
        lines=numbered(lines, failing=next((line for line in failing if isinstance(line, int)), None)),
        problem="",
        demonstrations=demonstrations,
        tests=tests,
        is_solution=statuses == {_OK} if known else None,
    )


def _demonstration(value: Any, *, number: int) -> Verdict:
    """A demonstration's outcome in an answer."""
    name = f"Demonstration {number}"
    if isinstance(value, Mapping):
        return Verdict(name, _FAILED, _failure(value), None, None)
    return Verdict(name, _OK if value == "ok" else _WRONG, "", None, None)


def _test(value: Any, *, number: int, right: Grid | None) -> Verdict:
    """A test's output in an answer."""
    name = f"Test {number}"
    if isinstance(value, Mapping):
        return Verdict(name, _FAILED, _failure(value), None, draw_grid(right) if right else None)
    output = grid_of(value)
    if output is None or right is None:
        return Verdict(name, _UNKNOWN, "", draw_grid(output) if output else None, None)
    words = difference_in_words(output, expected=right)
    return Verdict(name, _WRONG if words else _OK, words, draw_grid(output, against=right), draw_grid(right))


def _failure(value: Mapping[str, Any]) -> str:
    message, line = str(value.get("message", "")), value.get("line")
    return message if line is None else f"Line {line}: {message}"


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []


def _at(values: Sequence[Grid | None], place: int) -> Grid | None:
    return values[place] if 0 <= place < len(values) else None


def _json(text: str | None) -> Any:
    """The value of a JSON text; None if it is malformed or truncated."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
