"""Grids and programs of a task and of its candidates, ready for templates: demonstrations, tests, code, and drawings as
SVG.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from evaluator.core.process import literal
from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import ActionRun, Transcript

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of colours, each 0 (blank) to 9."""

COLOURS = 10
MOST_SIDE = 60
"""Rows and columns that are drawn; larger values are no grids."""
LETTERS = ".abcdefghi"
_LONGEST_SIDE = 240
"""Pixels."""
_CELLS = (8, 28)
"""The smallest and the largest cell, in pixels: whole pixels keep edges crisp."""


class ColourPath(NamedTuple):
    """All cells of one colour."""

    colour: int
    path: str
    """One unit for each cell."""


class DrawnGrid(NamedTuple):
    """A grid with everything that its picture needs."""

    rows: int
    columns: int
    width: int
    """Pixels."""
    height: int
    paths: tuple[ColourPath, ...]
    """Without blank, which is the ground."""
    lines: str
    """Between the cells."""
    crosses: str
    """On the cells that differ from another grid."""
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
    """A grid of lists of integers, or of texts of letters; None where the value is none."""
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_SIDE:
        return None
    rows = [_row(row) for row in value]
    found = tuple(row for row in rows if row is not None)
    if len(found) < len(rows) or not 1 <= len(found[0]) <= MOST_SIDE:
        return None
    return found if all(len(row) == len(found[0]) for row in found) else None


def draw_grid(grid: Grid, *, against: Grid | None = None) -> DrawnGrid:
    """The picture of a grid; crosses mark the cells that differ from `against`, if that has the same size."""
    rows, columns = len(grid), len(grid[0])
    cell = min(_CELLS[1], max(_CELLS[0], _LONGEST_SIDE // max(rows, columns)))
    return DrawnGrid(
        rows=rows, columns=columns, width=cell * columns, height=cell * rows,
        paths=tuple(_paths(grid)),
        lines="".join([f"M0 {y}h{columns}" for y in range(1, rows)] + [f"M{x} 0v{rows}" for x in range(1, columns)]),
        crosses="".join(
            f"M{x + 0.25} {y + 0.25}l.5 .5m0 -.5l-.5 .5" for y, x in different_cells(grid, against=against)
        ),
        text="\n".join("".join(LETTERS[cell] for cell in row) for row in grid),
    )  # fmt: skip


def different_cells(grid: Grid, *, against: Grid | None) -> list[tuple[int, int]]:
    """Row and column of each cell with another colour; none where sizes differ."""
    if against is None or (len(grid), len(grid[0])) != (len(against), len(against[0])):
        return []
    return [
        (y, x)
        for y, (row, other) in enumerate(zip(grid, against, strict=True))
        for x, (mine, right) in enumerate(zip(row, other, strict=True))
        if mine != right
    ]


def difference_in_words(grid: Grid, *, expected: Grid) -> str:
    """How an output differs from the right one, as a sentence; empty where it does not."""
    if (sizes := [size_in_words(len(one), len(one[0])) for one in (grid, expected)])[0] != sizes[1]:
        return f"The size is {sizes[0]} instead of {sizes[1]}."
    if not (cells := different_cells(grid, against=expected)):
        return ""
    return f"{len(cells)} of {len(grid) * len(grid[0])} cells {_verb(len(cells))}, marked with a cross."


def _paths(grid: Grid) -> Iterable[ColourPath]:
    for colour in range(1, COLOURS):
        if path := "".join(_runs(grid, colour=colour)):
            yield ColourPath(colour, path)


def _runs(grid: Grid, *, colour: int) -> Iterable[str]:
    """Neighbours of a row together: a grid of 30 x 30 then takes a few kilobytes."""
    for y, row in enumerate(grid):
        start = 0
        while start < len(row):
            end = start
            while end < len(row) and row[end] == colour:
                end += 1
            if end > start:
                yield f"M{start} {y}h{end - start}v1h-{end - start}z"
            start = max(end, start + 1)


def _row(value: object) -> tuple[int, ...] | None:
    if isinstance(value, str):
        found: Sequence[int] = [LETTERS.find(letter) for letter in value]
    elif isinstance(value, list | tuple):
        found = [_cell(cell) for cell in value]
    else:
        return None
    return tuple(found) if all(0 <= cell < COLOURS for cell in found) else None


def _cell(value: object) -> int:
    if isinstance(value, str):
        return LETTERS.find(value) if len(value) == 1 else -1
    # `True` is an integer to Python, but no colour.
    return value if type(value) is int else -1


def _verb(count: int) -> str:
    return "differs" if count == 1 else "differ"


_FAILING_LINE = re.compile(r"(?:^|error\. |: )Line (?P<line>\d{1,4})\b")
_FEWEST = 2
"""Lines that are worth numbers."""


class CodeLine(NamedTuple):
    """A line of a program."""

    number: int
    text: str
    is_failing: bool


def numbered(lines: Sequence[str], *, failing: int | None) -> tuple[CodeLine, ...]:
    """Lines with their numbers from 1."""
    return tuple(CodeLine(number, line, number == failing) for number, line in enumerate(lines, start=1))


def failing_line(message: str) -> int | None:
    """The line that a tool's message names first."""
    found = _FAILING_LINE.search(message)
    return int(found["line"]) if found else None


def code_lines(arguments: str, *, message: str) -> tuple[CodeLine, ...]:
    """The lines of an argument that is a program of several lines, or a list of steps; none of any other argument.

    Args:
        arguments: of an action, as the planner wrote them.
        message: what the tool says of it.
    """
    lines = _steps(arguments) or _program(arguments).splitlines()
    return numbered(lines, failing=failing_line(message)) if len(lines) >= _FEWEST else ()


def _steps(arguments: str) -> list[str]:
    if not arguments.startswith("["):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    is_steps = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return value if is_steps else []


def _program(arguments: str) -> str:
    """The text, without quotes around all of it."""
    if not arguments.startswith(("'", '"')):
        return arguments
    try:
        value = literal(arguments)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return arguments
    return value if isinstance(value, str) else arguments


MOST_TRIED = 8
"""Candidates that have a tab."""
_VERDICT = re.compile(r"(?P<pair>(?:Demonstration|Test) \d{1,2}): (?P<words>.*)")
_OK, _WRONG, _FAILED, _UNKNOWN = "right", "wrong", "error", "unknown"
_TRACKS = {"program": "Program", "steps": "Steps", "grids": "Grids"}


class Pair(NamedTuple):
    """A demonstration, or a test."""

    name: str
    input: DrawnGrid
    output: DrawnGrid | None
    """None of a test whose right output is not known."""


class Verdict(NamedTuple):
    """What a candidate made of one input."""

    name: str
    """Of the pair."""
    status: str
    """`right`, `wrong`, `error` or `unknown`."""
    words: str
    """What is wrong; empty where nothing is."""
    output: DrawnGrid | None
    expected: DrawnGrid | None
    """Beside a wrong output."""


class ShownCandidate(NamedTuple):
    """One candidate."""

    title: str
    track: str
    lines: tuple[CodeLine, ...]
    """None of output grids, and of contents that the record has no room for."""
    problem: str
    """Why it does not run at all, as a sentence; empty if it does."""
    demonstrations: tuple[Verdict, ...]
    tests: tuple[Verdict, ...]
    is_solution: bool | None
    """Whether it gives every test output; None where that is not known."""


class GridsPage(NamedTuple):
    """The grids of one task, and of one result."""

    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]
    tried: tuple[ShownCandidate, ...]
    """In the order of the episode."""
    tried_left_out: int
    final: tuple[ShownCandidate, ...]
    """Best first."""
    solved_by: int
    """The place of the first that solves the task, from 1; 0 where none does or that is not known."""

    @property
    def key(self) -> list[tuple[int, str]]:
        """Each colour with its letter in programs."""
        return list(enumerate(LETTERS))

    @property
    def has_answer(self) -> bool:
        """Whether there is anything of the planner."""
        return bool(self.tried or self.final)


def grids_page(*, given: Mapping[str, Any], record: ResultRecord | None, tools: Collection[str]) -> GridsPage | None:
    """The grids of a page; None where there is nothing to draw.

    Args:
        given: what planners are given; empty where the reader may not see it.
        record: without what is withheld.
        tools: names of those that try a candidate.
    """
    transcript = record.transcripts[0] if record and record.transcripts else None
    expected = _expected(transcript)
    demonstrations = tuple(_pairs(given.get("train"), name="Demonstration", outputs=None))
    tests = tuple(_pairs(given.get("test"), name="Test", outputs=expected))
    rights = [grid_of(pair.get("output")) for pair in _objects(given.get("train"))]
    actions = _tried(transcript, tools=tools)
    final = _final(transcript, expected=expected)
    page = GridsPage(
        demonstrations=demonstrations,
        tests=tests,
        tried=tuple(
            _of_action(action, turn=turn, number=number, rights=rights, tools=tools)
            for number, (turn, action) in enumerate(actions[:MOST_TRIED], start=1)
        ),
        tried_left_out=max(0, len(actions) - MOST_TRIED),
        final=final,
        solved_by=next((place for place, one in enumerate(final, start=1) if one.is_solution), 0),
    )
    return page if page.demonstrations or page.has_answer else None


def _pairs(value: Any, *, name: str, outputs: Sequence[Grid | None] | None) -> Iterable[Pair]:
    for number, pair in enumerate(_objects(value), start=1):
        given = grid_of(pair.get("input"))
        right = grid_of(pair.get("output")) if outputs is None else _at(outputs, number - 1)
        if given is not None:
            yield Pair(f"{name} {number}", draw_grid(given), None if right is None else draw_grid(right))


def _expected(transcript: Transcript | None) -> list[Grid | None]:
    """The right outputs; none where the record's text was cut."""
    value = _json(transcript.expected if transcript else None)
    return [grid_of(one) for one in value] if isinstance(value, list) else []


def _tried(transcript: Transcript | None, *, tools: Collection[str]) -> list[tuple[int, ActionRun]]:
    """The actions that try a candidate, each with the number of its turn."""
    if transcript is None:
        return []
    turns = enumerate(transcript.turns, start=1)
    return [
        (number, action)
        for number, turn in turns
        for action in turn.actions
        if action.tool in tools or any(map(_VERDICT.match, action.outputs.values()))
    ]


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
        # Of a helper's call, failures count lines of its program.
        lines=numbered(lines, failing=failing_line(action.error or feedback) if is_tried else None),
        problem=action.error,
        demonstrations=tuple(one for one in verdicts if one.name.startswith("Demonstration")),
        tests=tuple(one for one in verdicts if one.name.startswith("Test")),
        is_solution=None,
    )


def _content(arguments: str) -> list[str]:
    """The lines of a candidate as it was tried. Output grids have none: they are drawn."""
    value = _json(arguments)
    if isinstance(value, list):
        is_steps = all(isinstance(line, str) for line in value)
        return [str(line) for line in value] if is_steps else []
    return arguments.splitlines()


def _verdicts(feedback: str, *, rights: Sequence[Grid | None]) -> Iterable[Verdict]:
    """The lines of a try's result, each with the rows that follow it."""
    blocks: list[tuple[str, str, list[str]]] = []
    for line in feedback.splitlines():
        if found := _VERDICT.fullmatch(line):
            blocks.append((found["pair"], found["words"], []))
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
        return Verdict(
            pair, _WRONG, words.removesuffix("The output is").strip(), draw_grid(output) if output else None, None
        )
    told = difference_in_words(output, expected=right)
    return Verdict(pair, _WRONG, told, draw_grid(output, against=right), draw_grid(right))


def _final(transcript: Transcript | None, *, expected: Sequence[Grid | None]) -> tuple[ShownCandidate, ...]:
    value = _json(transcript.answer if transcript else None)
    return tuple(_of_answer(one, place=place, expected=expected) for place, one in enumerate(_objects(value), start=1))


def _of_answer(value: Mapping[str, Any], *, place: int, expected: Sequence[Grid | None]) -> ShownCandidate:
    demonstrations = [_stated(one, number=n) for n, one in enumerate(_list(value.get("demonstrations")), start=1)]
    outputs = value.get("tests")
    tests = [_made(one, number=n, right=_at(expected, n - 1)) for n, one in enumerate(_list(outputs), start=1)]
    content = value.get("content")
    lines = [str(line) for line in content] if isinstance(content, list) else str(content or "").splitlines()
    statuses = {one.status for one in tests}
    known = bool(tests) and _UNKNOWN not in statuses
    return ShownCandidate(
        title=f"Candidate {place}",
        track=_TRACKS.get(str(value.get("track")), "Candidate"),
        lines=numbered(lines, failing=_failing_line(value)),
        problem="",
        demonstrations=tuple(demonstrations),
        tests=tuple(tests),
        is_solution=statuses == {_OK} if known else None,
    )


def _stated(value: Any, *, number: int) -> Verdict:
    """A demonstration's outcome in an answer."""
    name = f"Demonstration {number}"
    if isinstance(value, Mapping):
        return Verdict(name, _FAILED, _failure(value), None, None)
    return Verdict(name, _OK if value == "ok" else _WRONG, "", None, None)


def _made(value: Any, *, number: int, right: Grid | None) -> Verdict:
    """A test's output in an answer."""
    name = f"Test {number}"
    if isinstance(value, Mapping):
        return Verdict(name, _FAILED, _failure(value), None, draw_grid(right) if right else None)
    output = grid_of(value)
    if output is None or right is None:
        return Verdict(name, _UNKNOWN, "", draw_grid(output) if output else None, None)
    words = difference_in_words(output, expected=right)
    return Verdict(name, _WRONG if words else _OK, words, draw_grid(output, against=right), draw_grid(right))


def _failing_line(value: Mapping[str, Any]) -> int | None:
    outcomes = [*_list(value.get("demonstrations")), *_list(value.get("tests"))]
    lines = (one.get("line") for one in outcomes if isinstance(one, Mapping))
    return next((line for line in lines if isinstance(line, int)), None)


def _failure(value: Mapping[str, Any]) -> str:
    message, line = str(value.get("message", "")), value.get("line")
    return message if line is None else f"Line {line}: {message}"


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []


def _at(values: Sequence[Grid | None], place: int) -> Grid | None:
    return values[place] if 0 <= place < len(values) else None


def _json(text: str | None) -> Any:
    """The value of a JSON text; None where it is none, or was cut."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
