"""Which rows and columns of a board its address asks for. Everything is in the address; no database."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, Protocol

from leaderboard.boards.ranking import cost_of, sort_rows, tokens_of

PER_PAGE = 50
PAGE_SIZES = (20, 50, 100)
DEFAULT_SORT = "rank"
HIDE = "hide"
BILLION = 10**9
SIZES = (
    ("none", "No size declared", None, None),
    ("small", "Below 1 B", 0, BILLION),
    ("medium", "1 B to 10 B", BILLION, 10 * BILLION),
    ("large", "10 B to 100 B", 10 * BILLION, 100 * BILLION),
    ("huge", "100 B and more", 100 * BILLION, None),
)
"""Ranges of the number of a model's parameters: what the address says, in words, from, and up to but without."""
WEIGHTS = (("open", "Open"), ("closed", "Closed"))
FACTS = ("strategy", "model_name", "parameters", "weights", "tokens", "cost", "seconds", "tasks", "finished")
"""Columns besides the metrics, in their order."""
UNSORTED = frozenset({"weights", "tasks"})


class Parameters(Protocol):
    """A query string, such as Django's `QueryDict`."""

    def get(self, name: str, default: str, /) -> Any:
        """The last value of a name."""
        ...

    def getlist(self, name: str, /) -> list[str]:
        """All values of a name."""
        ...


class Selection(NamedTuple):
    """What the address asks for. What it says wrongly is ignored: an old link still shows the board."""

    every: bool = False
    """All published evaluations instead of the best of each planner."""
    sort: str = ""
    search: str = ""
    kind: str = ""
    strategy: str = ""
    model: str = ""
    size: str = ""
    weights: str = ""
    since: str = ""
    until: str = ""
    """Days, as 2026-11-20."""
    own: bool = False
    columns: tuple[str, ...] = ()
    """Keys of the chosen columns; empty: the usual ones."""
    page: str = "1"
    per_page: int = PER_PAGE
    hide_reported: bool = False

    @property
    def is_filtered(self) -> bool:
        """Whether rows may be left out."""
        return any((self.search, self.own, *self._folded))

    @property
    def has_more(self) -> bool:
        """Whether something is chosen in the part of the form that can be folded away."""
        return any((*self._folded, self.columns)) or self.per_page != PER_PAGE

    @property
    def _folded(self) -> tuple[str, ...]:
        """The filters of that part."""
        return (self.kind, self.strategy, self.model, self.size, self.weights, self.since, self.until)


class Option(NamedTuple):
    """One choice of a filter."""

    value: str
    label: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    chosen: bool


class Facet(NamedTuple):
    """A filter that the rows of this board give choices for."""

    name: str
    label: str
    options: tuple[Option, ...]


def read_selection(parameters: Parameters) -> Selection:
    """Read the query string."""
    per_page = str(parameters.get("per_page", ""))
    return Selection(
        every=parameters.get("rows", "") == "all",
        sort=str(parameters.get("sort", "")),
        search=str(parameters.get("q", "")).strip()[:200],
        kind=str(parameters.get("kind", "")),
        strategy=str(parameters.get("strategy", "")),
        model=str(parameters.get("model", "")),
        size=_one_of(parameters.get("size", ""), [size[0] for size in SIZES]),
        weights=_one_of(parameters.get("weights", ""), [value for value, _ in WEIGHTS]),
        since=_day(parameters.get("since", "")),
        until=_day(parameters.get("until", "")),
        own=parameters.get("own", "") == "1",
        columns=tuple(dict.fromkeys(parameters.getlist("column"))),
        page=str(parameters.get("page", "1")),
        per_page=int(per_page) if per_page in {str(size) for size in PAGE_SIZES} else PER_PAGE,
        hide_reported=parameters.get("reference", "") == HIDE,
    )


def select_rows(
    *, rows: Sequence[Mapping[str, Any]], selection: Selection, metrics: Collection[str], reader: str
) -> list[Mapping[str, Any]]:
    """The rows that the selection leaves, in its order. `reader` is the user's name, empty if nobody is signed in."""
    key, descending = read_sort(sort=selection.sort, metrics=metrics)
    if selection.is_filtered:
        words = selection.search.casefold().split()
        rows = [row for row in rows if _is_wanted(row=row, selection=selection, words=words, reader=reader)]
    return sort_rows(rows=rows, key=key, descending=descending)


def read_sort(*, sort: str, metrics: Collection[str]) -> tuple[str, bool]:
    """The column and whether it descends."""
    key = sort.removeprefix("-")
    known = {
        "rank",
        "planner",
        "finished",
        "strategy",
        "model_name",
        "parameters",
        "tokens",
        "cost",
        "seconds",
        *metrics,
    }
    return (key, sort.startswith("-")) if key in known else (DEFAULT_SORT, False)


def usual_columns(*, facts: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    """What is shown unless others are chosen: all metrics, and each known fact but strategy and language model, which
    stand below the planner's name anyway."""
    return (*metrics, *(fact for fact in facts if fact not in {"strategy", "model_name"}))


def known_facts(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The columns besides the metrics that some row has a value for."""
    tests: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "strategy": lambda row: row.get("strategy"),
        "model_name": lambda row: row.get("model_name"),
        "parameters": lambda row: row.get("parameters") is not None,
        "weights": lambda row: row.get("open_weights") is not None,
        "tokens": lambda row: tokens_of(row) is not None,
        "cost": lambda row: cost_of(row) is not None,
        "seconds": lambda row: "seconds" in (row.get("usage") or {}),
    }
    return tuple(fact for fact in FACTS if fact not in tests or any(tests[fact](row) for row in rows))


def facets(*, rows: Sequence[Mapping[str, Any]], selection: Selection, kinds: Mapping[str, str]) -> tuple[Facet, ...]:
    """The filters with how many rows of the whole board each choice has. One that could change nothing is left out."""
    of_kind = Counter(str(row["kind"]) for row in rows)
    of_strategy = Counter(str(row.get("strategy") or "") for row in rows)
    of_model = Counter(str(row.get("model_name") or "") for row in rows)
    of_size = Counter(_size(row) for row in rows)
    of_weights = Counter(_weights(row) for row in rows)
    found = [
        Facet("kind", "Kind", _options(of_kind, chosen=selection.kind, labels=kinds)),
        Facet("strategy", "Strategy", _options(of_strategy, chosen=selection.strategy, labels={})),
        Facet("model", "Language model", _options(of_model, chosen=selection.model, labels={})),
        Facet("size", "Model size", _options(of_size, chosen=selection.size, labels=dict(s[:2] for s in SIZES))),
        Facet("weights", "Weights", _options(of_weights, chosen=selection.weights, labels=dict(WEIGHTS))),
    ]
    return tuple(facet for facet in found if _tells_rows_apart(facet))


def _tells_rows_apart(facet: Facet) -> bool:
    if facet.name == "size":
        return any(option.value != "none" for option in facet.options)
    return (
        len(facet.options) > 1
        or any(option.chosen for option in facet.options)
        or (facet.name == "weights" and bool(facet.options))
    )


def _options(counts: Counter[str], *, chosen: str, labels: Mapping[str, str]) -> tuple[Option, ...]:
    values = sorted(value for value in counts if value)
    if labels:
        values = [value for value in labels if value in counts] + [value for value in values if value not in labels]
    if chosen and chosen not in values:
        values.append(chosen)
    return tuple(Option(value, labels.get(value, value), counts[value], value == chosen) for value in values)


def _is_wanted(*, row: Mapping[str, Any], selection: Selection, words: Sequence[str], reader: str) -> bool:
    day = str(row["finished"])[:10]
    return (
        (not selection.kind or row["kind"] == selection.kind)
        and (not selection.strategy or row.get("strategy") == selection.strategy)
        and (not selection.model or row.get("model_name") == selection.model)
        and (not selection.size or _size(row) == selection.size)
        and (not selection.weights or _weights(row) == selection.weights)
        and (not selection.since or day >= selection.since)
        and (not selection.until or day <= selection.until)
        and (not selection.own or (bool(reader) and row["owner"] == reader))
        and all(word in _text(row) for word in words)
    )


def _text(row: Mapping[str, Any]) -> str:
    named = (row["planner"], row["owner"], row.get("team"), row.get("strategy"), row.get("model_name"), row["kind"])
    return " ".join(str(name) for name in named if name).casefold()


def _size(row: Mapping[str, Any]) -> str:
    parameters = row.get("parameters")
    if parameters is None:
        return "none"
    for value, _, low, high in SIZES:
        if low is not None and parameters >= low and (high is None or parameters < high):
            return value
    return "none"


def _weights(row: Mapping[str, Any]) -> str:
    declared = row.get("open_weights")
    return "" if declared is None else "open" if declared else "closed"


def _one_of(value: str, known: Collection[str]) -> str:
    return value if value in known else ""


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""
