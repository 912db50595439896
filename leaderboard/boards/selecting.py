"""The rows and columns of a board that a query string selects. No database access."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from leaderboard.boards.ranking import cost_of, sort_rows, tokens_of
from leaderboard.evaluations.results import filters
from leaderboard.evaluations.results.filters import (
    Choice,
    Facet,
    Index,
    Parameter,
    Sort,
    day,
    one_of,
    read,
    select,
    written,
)
from leaderboard.planners.models import PlannerKind
from leaderboard.reliability.columns import RELIABILITY, reliability_of

Row = Mapping[str, Any]

PER_PAGE = 50
PAGE_SIZES = (20, 50, 100)
HIDE = "hide"
BILLION = 10**9
SIZES = (
    ("none", "No size declared", None, None),
    ("small", "Below 1 B", 0, BILLION),
    ("medium", "1 B to 10 B", BILLION, 10 * BILLION),
    ("large", "10 B to 100 B", 10 * BILLION, 100 * BILLION),
    ("huge", "100 B and more", 100 * BILLION, None),
)
"""Ranges of parameter counts: value, label, lower end (inclusive) and upper end (exclusive)."""
WEIGHTS = {"open": "Open", "closed": "Closed"}
KINDS = {kind.value: kind.label for kind in PlannerKind}
FACTS = (
    "normalised",
    "strategy",
    "model_name",
    "parameters",
    "weights",
    "tokens",
    "cost",
    "seconds",
    "readable",
    *RELIABILITY,
    "tasks",
    "finished",
)
"""Columns besides the metrics, in their order."""
UNSORTED = frozenset({"weights", "tasks"})
USUAL_COLUMNS = "usual_columns"
"""Sent by the form: the default columns, which a URL need not name."""


class Parameters(Protocol):
    """A query string, such as Django's `QueryDict`."""

    def get(self, name: str, default: str, /) -> Any: ...

    def getlist(self, name: str, /) -> list[str]: ...

    def lists(self) -> Iterable[tuple[str, list[str]]]: ...


class Selection(NamedTuple):
    """The values of a query string by parameter."""

    rows: str = ""
    """`all`: all published evaluations instead of one row per planner."""
    sort: str = ""
    q: str = ""
    own: str = ""
    """`1`: only the reader's own."""
    kind: str = ""
    strategy: str = ""
    model: str = ""
    size: str = ""
    weights: str = ""
    since: str = ""
    until: str = ""
    """Days, such as 2026-11-20."""
    column: tuple[str, ...] = ()
    """Keys of the selected columns; empty: the default columns."""
    page: str = "1"
    per_page: int = PER_PAGE
    reference: str = ""
    """`hide`: without the figures that papers report."""

    @property
    def every(self) -> bool:
        """Whether all published evaluations are shown instead of one row per planner."""
        return self.rows == "all"

    @property
    def is_filtered(self) -> bool:
        """Whether rows may be left out."""
        return any((self.q, self.own, *self._folded))

    @property
    def has_more(self) -> bool:
        """Whether the collapsible part of the form has values."""
        return any((*self._folded, self.column)) or self.per_page != PER_PAGE

    @property
    def chosen(self) -> dict[str, str]:
        """The facets that are set."""
        return {facet.name: value for facet in FACETS if (value := getattr(self, facet.name))}

    @property
    def _folded(self) -> tuple[str, ...]:
        return (*self.chosen.values(), self.since, self.until)


def _size(row: Row) -> str:
    parameters = row.get("parameters")
    if parameters is None:
        return "none"
    for value, _, low, high in SIZES:
        if low is not None and parameters >= low and (high is None or parameters < high):
            return value
    return "none"


def _weights(row: Row) -> tuple[str, ...]:
    is_open = row.get("open_weights")
    return () if is_open is None else ("open",) if is_open else ("closed",)


def _field(name: str) -> Callable[[Row], tuple[str, ...]]:
    return lambda row: (str(row[name]),) if row.get(name) else ()


def _facet(
    name: str,
    label: str,
    values: Callable[[Row], tuple[str, ...]],
    words: Mapping[str, str],
    is_shown: Callable[[Sequence[Choice]], bool] = filters.tells_apart,
) -> Facet[Row]:
    """A facet whose values are sorted as in `words`, followed by unlabelled ones by name."""
    positions = {value: position for position, value in enumerate(words)}
    return Facet(
        name=name,
        label=label,
        values=values,
        words=lambda value: words.get(value, value),
        sort_key=lambda value: (positions.get(value, len(positions)), value),
        is_shown=is_shown,
    )


FACETS = (
    _facet("kind", "Kind", _field("kind"), KINDS),
    _facet("strategy", "Strategy", _field("strategy"), {}),
    _facet("model", "Language model", _field("model_name"), {}),
    _facet(
        "size",
        "Model size",
        lambda row: (_size(row),),
        {value: words for value, words, *_ in SIZES},
        lambda choices: any(choice.value != "none" for choice in choices),
    ),
    _facet("weights", "Weights", _weights, WEIGHTS, bool),
)


def _page_number(text: str) -> str:
    if not (text.isascii() and text.isdecimal() and len(text) <= 8 and int(text) >= 1):
        raise ValueError("Give the number of a page, from 1.")
    return text


def _page_size(text: str) -> int:
    if text not in map(str, PAGE_SIZES):
        raise ValueError(f"Give one of {', '.join(map(str, PAGE_SIZES))}.")
    return int(text)


def _sort(metrics: Collection[str]) -> Callable[[str], str]:
    known = one_of(sorted(_sortable(metrics)))

    def read_text(text: str) -> str:
        try:
            known(text.removeprefix("-"))
        except ValueError as error:
            raise ValueError(str(error).replace(repr(text.removeprefix("-")), repr(text), 1)) from None
        return text

    return read_text


_PARAMETERS = (
    Parameter("rows", one_of(["all"])),
    Parameter("q", lambda text: text.strip()[:200]),
    Parameter("own", one_of(["1"])),
    Parameter("kind", one_of(KINDS), is_kept=True),
    Parameter("strategy", str),
    Parameter("model", str),
    Parameter("size", one_of([size[0] for size in SIZES])),
    Parameter("weights", one_of(WEIGHTS)),
    Parameter("since", day),
    Parameter("until", day),
    Parameter("page", _page_number, default="1", is_kept=True),
    Parameter("per_page", _page_size, default=PER_PAGE),
    Parameter("reference", str),
)


def read_selection(parameters: Parameters, *, metrics: Collection[str] = (), strict: bool = False) -> Selection:
    """Read the query string of a board with these metrics.

    Args:
        strict: whether invalid values are errors. Otherwise they are ignored, so that old links keep working.

    Raises:
        FieldErrors: a parameter has an invalid value, and `strict` is set.
    """
    declared = (*_PARAMETERS, Parameter("sort", _sort(metrics), is_kept=True))
    reading = read(parameters=parameters, declared=declared)
    values = reading.checked() if strict else reading.values
    return Selection(**values, column=tuple(dict.fromkeys(parameters.getlist("column"))))


def tidied(parameters: Parameters) -> str | None:
    """The query string without the empty and default fields that the form sends; None if the form did not send it."""
    if not (usual := parameters.getlist(USUAL_COLUMNS)):
        return None
    is_usual = sorted(usual[-1].split()) == sorted(parameters.getlist("column"))
    dropped = {USUAL_COLUMNS, "column"} if is_usual else {USUAL_COLUMNS}
    return written((name, text) for name, texts in parameters.lists() for text in texts if text and name not in dropped)


def select_rows(
    *, indexed: Index[Row], selection: Selection, metrics: Collection[str], reader: str
) -> filters.Selection[Row]:
    """The selected rows in the selected order, and the filters with the number of rows of the whole board for each
    choice. `reader` is the username, or empty for anonymous readers."""
    words = selection.q.casefold().split()
    matching = [
        position
        for position, row in enumerate(indexed.rows)
        if _matches(row=row, selection=selection, words=words, reader=reader)
    ]
    selected = select(indexed=indexed, chosen=selection.chosen, within=indexed.at(matching), counts_all=True)
    key, descending = read_sort(sort=selection.sort, metrics=metrics)
    return selected._replace(rows=sort_rows(rows=selected.rows, key=key, descending=descending))


def _matches(*, row: Row, selection: Selection, words: Sequence[str], reader: str) -> bool:
    day = str(row["finished"])[:10]
    if (selection.since and day < selection.since) or (selection.until and day > selection.until):
        return False
    if selection.own and (not reader or row["owner"] != reader):
        return False
    if not words:
        return True
    names = (row["planner"], row["owner"], row.get("team"), row.get("strategy"), row.get("model_name"), row["kind"])
    text = " ".join(str(name) for name in names if name).casefold()
    return all(word in text for word in words)


def _sortable(metrics: Collection[str]) -> set[str]:
    return {"rank", "planner", *FACTS, *metrics} - UNSORTED


def read_sort(*, sort: str, metrics: Collection[str]) -> Sort:
    """The sort order of rows; by rank if the parameter is empty or unknown."""
    return Sort.read(sort, known=_sortable(metrics), default="rank")


MOST_USUAL = 5
"""Default columns besides rank and planner."""


def usual_columns(*, facts: Sequence[str], metrics: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The default columns: the metrics that the suite declares, or its first ones, then what a plan costs."""
    declared = [metric["key"] for metric in metrics if metric.get("is_default")]
    columns = declared or [metric["key"] for metric in metrics]
    spent = [fact for fact in ("cost", "tokens", "seconds") if fact in facts]
    return tuple([*columns, *spent[:1]][:MOST_USUAL])


def known_facts(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns besides the metrics for which some row has a value."""
    tests: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "strategy": lambda row: row.get("strategy"),
        "model_name": lambda row: row.get("model_name"),
        "parameters": lambda row: row.get("parameters") is not None,
        "weights": lambda row: row.get("open_weights") is not None,
        "tokens": lambda row: tokens_of(row) is not None,
        "cost": lambda row: cost_of(row) is not None,
        "normalised": lambda row: "normalised" in row,
        "seconds": lambda row: "seconds" in (row.get("usage") or {}),
        "readable": lambda row: row.get("readable"),
        **{key: partial(reliability_of, key=key) for key in RELIABILITY},
    }
    return tuple(fact for fact in FACTS if fact not in tests or any(tests[fact](row) for row in rows))
