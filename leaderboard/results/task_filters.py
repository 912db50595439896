"""Filtering the tasks of an evaluation, without a database: filters combine, and each value knows its count.

The count beside a value is the number of rows that choosing it would show, given all the *other* filters. Rows are
indexed once: of each value a set of bits says which rows have it, so that a filter is an AND and a count is a number of
bits, however many values and rows there are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import and_
from typing import NamedTuple

from leaderboard.results.badges import badge_of
from leaderboard.results.indicators import Mark, good_marks

PENDING = "pending"
YES_NO = {True: "yes", False: "no"}
MANY = 14
"""A facet with more values than this is a list to choose from, and no row of links."""


class TaskRow(NamedTuple):
    """One task of an evaluation with its slim result."""

    key: str
    position: int
    text: str
    structure: str
    metric: str
    base: str
    degradations: tuple[str, ...]
    outcome: str
    """The result's outcome, or `pending` where there is no result yet."""
    reason: str
    reason_text: str
    score: float | None
    seconds: float | None
    plan_summary: str
    plan_is_withheld: bool = False
    """Whether the plan's summary is empty because readers may not see the plan."""
    language: str = ""
    """Of suites that execute, as the next."""
    steps: str = ""
    """Number of steps of the gold plan."""
    modality: str = ""
    """What the request gives and what it expects, such as `image → text`."""
    tools: tuple[str, ...] = ()
    """Of the plan, each once."""
    ended: datetime | None = None
    cause: str = ""
    """Of a fault: which of the sentences that say the same (`failures.py`)."""
    group: str = ""
    """Of suites that judge plans, as the four below."""
    level: str = ""
    flags: tuple[str, ...] = ()
    active: bool | None = None
    marks: tuple[Mark, ...] = ()
    """Its indicators as the board counts them: the worst of each for a planner's fault."""

    @property
    def badge(self) -> str:
        """How the outcome is shown. Of a plan that is withheld, nothing says whether it is empty."""
        if self.plan_is_withheld:
            return self.outcome
        return badge_of(outcome=self.outcome, plan_summary=self.plan_summary)


class Facet(NamedTuple):
    """A property to filter by."""

    name: str
    """The GET parameter."""
    label: str
    values: Callable[[TaskRow], tuple[str, ...]]
    words: Callable[[str], str] | None = None
    """A value in words, where the value itself does not say it."""
    is_indicator: bool = False
    is_offered: bool = True
    """False: other parts of the page lead to it, and it is shown only where it is set."""


def _indicator(name: str, words: Mapping[str, str]) -> Facet:
    def values(row: TaskRow) -> tuple[str, ...]:
        return tuple(mark.value for mark in row.marks if mark.name == name)

    def in_words(value: str) -> str:
        return f"{value}: {words[value]}" if value in words else value

    return Facet(name, name, values, in_words, is_indicator=True)


def _one(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
    def values(row: TaskRow) -> tuple[str, ...]:
        value = getattr(row, name)
        return (value,) if value else ()

    return values


def language_in_words(code: str) -> str:
    """The language of a request as it is named to people."""
    return {"en": "English", "de": "German"}.get(code, code)


def steps_in_words(count: str) -> str:
    """A number of steps of a gold plan in words."""
    return f"{count} step{'' if count == '1' else 's'}"


def _as_it_is(value: str) -> str:
    return value


def _active(row: TaskRow) -> tuple[str, ...]:
    return () if row.active is None else (YES_NO[row.active],)


FACETS = (
    Facet("outcome", "Outcome", _one("outcome")),
    Facet("reason", "Reason", _one("reason")),
    Facet("metric", "Metric", _one("metric"), _as_it_is),
    Facet("base", "Base task", _one("base")),
    Facet("structure", "Structure", _one("structure")),
    Facet("degradation", "Degradation", lambda row: row.degradations),
    Facet("modality", "Modality", _one("modality"), _as_it_is),
    Facet("language", "Language", _one("language"), language_in_words),
    Facet("steps", "Gold plan", _one("steps"), steps_in_words),
    Facet("level", "Level", _one("level")),
    Facet("group", "Group", _one("group")),
    Facet("flag", "Defect", lambda row: row.flags),
    Facet("active", "Active split", _active),
    Facet("tool", "Step used", lambda row: row.tools, _as_it_is),
    Facet("cause", "Cause", _one("cause"), is_offered=False),
)
"""Of every suite; the indicators of a suite follow the outcome."""
_SORTED = frozenset({"steps", "tool"})
SORTS: Mapping[str, Callable[[TaskRow], float | str | None]] = {
    "task": lambda row: row.position,
    "outcome": lambda row: row.outcome,
    "score": lambda row: row.score,
    "marks": lambda row: good_marks(row.marks),
    "seconds": lambda row: row.seconds,
}


class Choice(NamedTuple):
    """One value of a facet."""

    value: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    chosen: bool
    words: str = ""


class Group(NamedTuple):
    """A facet with its values."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    is_set: bool
    is_indicator: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it is a list to choose from instead of a row of links."""
        return len(self.choices) > MANY


class Selection(NamedTuple):
    """The rows that the filters leave, and the filters as they can be shown."""

    rows: tuple[TaskRow, ...]
    groups: tuple[Group, ...]
    search: str
    is_filtered: bool


class Index(NamedTuple):
    """The rows of an evaluation, and for each value of each facet the rows that have it, as the bits of a number."""

    rows: tuple[TaskRow, ...]
    facets: tuple[Facet, ...]
    bits: Mapping[str, Mapping[str, int]]
    texts: tuple[str, ...]
    """What a search looks through, by row."""

    @property
    def all(self) -> int:
        return (1 << len(self.rows)) - 1

    def chosen(self, mask: int) -> list[TaskRow]:
        """The rows of a set of bits, in their order."""
        return [row for place, row in enumerate(self.rows) if mask >> place & 1]


def index(rows: Sequence[TaskRow]) -> Index:
    """Index rows for `select`; costs as much as some twenty selections."""
    facets = facets_of(rows)
    places: dict[str, dict[str, list[int]]] = {facet.name: {} for facet in facets}
    for facet in facets:
        of_facet, values_of = places[facet.name], facet.values
        for place, row in enumerate(rows):
            for value in values_of(row):
                of_facet.setdefault(value, []).append(place)
    size = len(rows)
    return Index(
        rows=tuple(rows),
        facets=facets,
        bits={name: {value: _bits(found, size=size) for value, found in of.items()} for name, of in places.items()},
        texts=tuple(f"{row.text} {row.plan_summary} {row.reason_text} {row.group}".casefold() for row in rows),
    )


def facets_of(rows: Iterable[TaskRow]) -> tuple[Facet, ...]:
    """What rows can be filtered by: every suite's facets, and the indicators that these rows have."""
    words: dict[str, dict[str, str]] = {}
    for row in rows:
        for mark in row.marks:
            words.setdefault(mark.name, {})[mark.value] = mark.words
    return FACETS[0], *(_indicator(name, words[name]) for name in words), *FACETS[1:]


def _bits(places: Sequence[int], *, size: int) -> int:
    # Through bytes: a shift for each row would copy the whole number each time.
    digits = bytearray(b"0") * size
    for place in places:
        digits[size - 1 - place] = 49
    return int(digits, 2)


def select(*, rows: Sequence[TaskRow] | Index, parameters: Mapping[str, str]) -> Selection:
    """Apply the filters that `parameters` (the query string) asks for. Empty and unknown parameters do not count."""
    indexed = rows if isinstance(rows, Index) else index(rows)
    chosen = {facet.name: parameters[facet.name] for facet in indexed.facets if parameters.get(facet.name)}
    search = parameters.get("q", "").strip()
    found = _searched(indexed, search)
    masks = {name: indexed.bits[name].get(value, 0) for name, value in chosen.items()}
    groups = tuple(
        _group(facet=facet, indexed=indexed, found=found, masks=masks, chosen=chosen) for facet in indexed.facets
    )
    kept = indexed.chosen(reduce(and_, masks.values(), found))
    return Selection(
        rows=tuple(sort_tasks(rows=kept, sort=parameters.get("sort", ""))),
        groups=tuple(group for group in groups if len(group.choices) > 1 or group.is_set),
        search=search,
        is_filtered=bool(chosen or search),
    )


def sort_tasks(*, rows: Iterable[TaskRow], sort: str) -> list[TaskRow]:
    """Rows by a key of `SORTS`, with `-` in front for descending; ties in the suite's order, missing values last."""
    key = SORTS.get(sort.removeprefix("-"), SORTS["task"])
    ordered = sorted(rows, key=lambda row: row.position)
    present = [row for row in ordered if key(row) is not None]
    absent = [row for row in ordered if key(row) is None]
    present.sort(key=key, reverse=sort.startswith("-"))  # type: ignore[arg-type]  # no key is None here
    return present + absent


def _searched(indexed: Index, search: str) -> int:
    """The rows in which every word of the search occurs, in the request, the plan, the reason or the group; `#12` is
    the task with the key 12."""
    if not search:
        return indexed.all
    if search.startswith("#"):
        found = [place for place, row in enumerate(indexed.rows) if row.key == search[1:]]
    else:
        words = search.casefold().split()
        found = [place for place, text in enumerate(indexed.texts) if all(word in text for word in words)]
    return _bits(found, size=len(indexed.rows)) if found else 0


def _group(*, facet: Facet, indexed: Index, found: int, masks: Mapping[str, int], chosen: Mapping[str, str]) -> Group:
    others = reduce(and_, (mask for name, mask in masks.items() if name != facet.name), found)
    picked = chosen.get(facet.name, "")
    values = [value for value, bits in indexed.bits[facet.name].items() if bits & found]
    if facet.is_indicator or facet.name in _SORTED:
        values.sort()
    if not facet.is_offered:
        values = [value for value in values if value == picked]
    if picked and picked not in values:
        values.append(picked)
    choices = tuple(
        Choice(
            value=value,
            count=(indexed.bits[facet.name].get(value, 0) & others).bit_count(),
            chosen=value == picked,
            words=facet.words(value) if facet.words else "",
        )
        for value in values
    )
    return Group(
        name=facet.name,
        label=facet.label,
        choices=choices,
        is_set=bool(picked),
        is_indicator=facet.is_indicator,
    )
