"""What the task page shows of a suite with grids: its pairs, and the candidates of an episode, tried and final.

The formats are those of `Panel.GRIDS`.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import ActionRun, Transcript
from leaderboard.evaluations.web.tasks.code_shown import CodeLine, failing_line, numbered
from leaderboard.evaluations.web.tasks.grid_drawing import (
    LETTERS,
    DrawnGrid,
    Grid,
    difference_in_words,
    draw_grid,
    grid_of,
)

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
