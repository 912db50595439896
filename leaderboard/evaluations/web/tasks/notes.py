"""A strategy's notes for the task page, as titled blocks of facts, texts and tables.

All notes are shown. Common ones have better titles and marks: completions turn by turn with the observations between
them, lines without a tool, candidates with scores.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leaderboard.evaluations.results.filters import in_words

MAX_DEPTH = 5
"""Levels of nesting that get blocks of their own; what is deeper is shown as JSON."""
MAX_ROWS = 200
MAX_CELL = 400
MAX_COLUMNS = 8
SHORT = 120
"""Characters up to which a text is a fact and not a block."""

TITLES = {
    "answer": "What the language model wrote",
    "beams": "Beams, the most probable first",
    "candidates": "Candidates, the best first",
    "completion": "What the language model wrote",
    "completions": "What the language model wrote",
    "lines": "Lines, and what each was mapped to",
    "problem": "Why there is no plan",
    "prompt": "Prompt",
    "subtasks": "Subtasks",
    "tolerated": "Tolerated when reading",
    "tool_scores": "Scores of tools",
    "unreadable": "Why it cannot be read",
}
"""What keys are called that strategies share; others are shown as words."""
FIRST = ("id", "line", "tools", "names", "best", "score", "similarity", "log_probability", "description")
"""Columns that come first, where a table has them; records keep no order of keys."""
_CHAINS = frozenset({"tools", "names"})
"""Lists under these keys are in the order of the plan."""


class NoteRow(NamedTuple):
    """One row of a table."""

    cells: tuple[str, ...]
    tone: str
    """`bad` for what led to nothing, else nothing."""


class NoteBlock(NamedTuple):
    """One part of the notes."""

    kind: str
    """`facts`, `text`, `list`, `table`, `turns`, `scores` or `group`."""
    title: str
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[NoteRow, ...] = ()
    children: tuple["NoteBlock", ...] = ()
    left_out: int = 0
    """How many rows or items are not shown."""


def note_blocks(notes: Mapping[str, Any]) -> tuple[NoteBlock, ...]:
    """The blocks of a record's `planner_notes`, facts first; none if there are no notes."""
    return tuple(_blocks(notes, depth=0))


def _blocks(notes: Mapping[str, Any], *, depth: int) -> Iterator[NoteBlock]:
    facts = tuple((_title(key), _scalar(value)) for key, value in notes.items() if _is_fact(value))
    if facts:
        yield NoteBlock(kind="facts", title="", facts=facts)
    for key, value in notes.items():
        if key == "observations" and isinstance(notes.get("completions"), list):
            continue
        if not _is_fact(value) and value not in ("", [], {}, None):
            observations = notes.get("observations") if key == "completions" else None
            yield _block(key=key, value=value, depth=depth, observations=observations)


def _block(*, key: str, value: Any, depth: int, observations: Any = None) -> NoteBlock:
    title = _title(key)
    if not isinstance(value, Mapping | list):
        return NoteBlock(kind="text", title=title, text=_scalar(value))
    if depth >= MAX_DEPTH:
        return NoteBlock(kind="text", title=title, text=json.dumps(value, indent=2, ensure_ascii=False))
    if isinstance(value, Mapping):
        if _are_scores(value):
            return _scores(title=title, value=value)
        return NoteBlock(kind="group", title=title, children=tuple(_blocks(value, depth=depth + 1)))
    return _sequence(key=key, title=title, values=list(value), depth=depth, observations=observations)


def _sequence(*, key: str, title: str, values: list[Any], depth: int, observations: Any) -> NoteBlock:
    shown, left_out = values[:MAX_ROWS], max(0, len(values) - MAX_ROWS)
    if key == "completions" and all(isinstance(value, str) for value in shown):
        return NoteBlock(kind="turns", title=title, rows=tuple(_turns(shown, observations)), left_out=left_out)
    if _is_table(shown):
        return _table(title=title, values=shown, left_out=left_out)
    if all(not isinstance(value, Mapping | list) for value in shown):
        return NoteBlock(kind="list", title=title, items=tuple(map(_scalar, shown)), left_out=left_out)
    children = tuple(
        _block(key=f"{key} {number}", value=value, depth=depth + 1) for number, value in enumerate(shown, start=1)
    )
    return NoteBlock(kind="group", title=title, children=children, left_out=left_out)


def _turns(completions: Sequence[str], observations: Any) -> Iterator[NoteRow]:
    """Each completion with the observation that follows it, if there is one."""
    told = observations if isinstance(observations, list) else []
    for index, completion in enumerate(completions):
        yield NoteRow(cells=(completion, str(told[index]) if index < len(told) else ""), tone="")


def _table(*, title: str, values: Sequence[Mapping[str, Any]], left_out: int) -> NoteBlock:
    found = list(dict.fromkeys(key for value in values for key in value))
    keys = sorted(found, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST))
    filled = [key for key in keys if any(value.get(key) not in (None, "", [], {}) for value in values)]
    rows = tuple(
        NoteRow(
            cells=tuple(_cell(key, value.get(key)) for key in filled),
            tone="bad" if value.get("mapped") is False else "",
        )
        for value in values
    )
    return NoteBlock(kind="table", title=title, columns=tuple(map(_title, filled)), rows=rows, left_out=left_out)


def _scores(*, title: str, value: Mapping[str, Any]) -> NoteBlock:
    ordered = sorted(value.items(), key=lambda pair: (-pair[1], pair[0]))
    facts = tuple((name, _scalar(score)) for name, score in ordered[:MAX_ROWS])
    return NoteBlock(kind="scores", title=title, facts=facts, left_out=max(0, len(ordered) - MAX_ROWS))


def _is_fact(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= SHORT and "\n" not in value
    return isinstance(value, bool | int | float)


def _are_scores(value: Mapping[str, Any]) -> bool:
    numbers = [isinstance(score, int | float) and not isinstance(score, bool) for score in value.values()]
    return len(numbers) > 3 and all(numbers)


def _is_table(values: Sequence[Any]) -> bool:
    if not values or not all(isinstance(value, Mapping) for value in values):
        return False
    keys = {key for value in values for key in value}
    return len(keys) <= MAX_COLUMNS and all(
        _fits_a_cell(item) and len(_cell(key, item)) <= MAX_CELL for value in values for key, item in value.items()
    )


def _fits_a_cell(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_flat(item) for item in value)
    return _is_flat(value)


def _is_flat(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(not isinstance(item, Mapping | list) for item in value.values())
    return not isinstance(value, list)


def _cell(key: str, value: Any) -> str:
    if isinstance(value, list):
        join = " → " if key in _CHAINS else ", "
        return join.join(_cell("", item) for item in value)
    if isinstance(value, Mapping):
        return " ".join(_scalar(item) for item in value.values())
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _title(key: str) -> str:
    return TITLES.get(key) or in_words(key)
