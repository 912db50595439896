"""Filters of lists, without a database: read from an address, apply, count, write back.

A facet is a property that rows are filtered by. Rows are indexed once: for each value, the bits of a number say which
rows have it, so that a filter is an AND and a count is a number of bits, however many rows there are.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from operator import and_, itemgetter
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from leaderboard.platform.problems import FieldErrors

MANY = 14
"""A facet with more values is a list to choose from, not a row of links."""
Row = TypeVar("Row")
Texts = Mapping[str, str]


def in_words(code: str) -> str:
    """A machine-readable code such as `invalid_plan` as words."""
    if code in {"qa", "sql", "vqa"}:
        return code.upper()
    words = str(code).replace("_", " ").strip()
    return words[:1].upper() + words[1:]


class Choice(NamedTuple):
    """One value of a facet."""

    value: str
    words: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    chosen: bool


class Filter(NamedTuple):
    """A facet with its values, as forms show it."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    section: str = ""

    @property
    def is_set(self) -> bool:
        """Whether a value is chosen."""
        return any(choice.chosen for choice in self.choices)

    @property
    def is_long(self) -> bool:
        """Whether it is a list to choose from instead of a row of links."""
        return len(self.choices) > MANY


def tells_apart(choices: Sequence[Choice]) -> bool:
    """Whether a filter with these choices can change what is shown."""
    return len(choices) > 1 or any(choice.chosen for choice in choices)


class Facet(NamedTuple, Generic[Row]):
    """A property to filter by."""

    name: str
    """The parameter of addresses."""
    label: str
    values: Callable[[Row], Sequence[str]]
    """The values of a row, each once."""
    words: Callable[[str], str] = in_words
    """A value as people read it."""
    known: tuple[str, ...] = ()
    """Values that are offered even if no row has them, before all others."""
    sort_key: Callable[[str], Any] | None = None
    """Order of the values; None: as rows first have them."""
    section: str = ""
    """The part of the form that shows it."""
    is_offered: bool = True
    """False: shown only where it is set, since other parts of the page link to it."""
    is_shown: Callable[[Sequence[Choice]], bool] = tells_apart


class Index(NamedTuple, Generic[Row]):
    """Rows with their facets, and for each value of each facet the rows that have it, as the bits of a number."""

    rows: tuple[Row, ...]
    facets: tuple[Facet[Row], ...]
    bits: Mapping[str, Mapping[str, int]]

    @property
    def all(self) -> int:
        """The bits of all rows."""
        return (1 << len(self.rows)) - 1

    def chosen(self, mask: int) -> list[Row]:
        """The rows of a set of bits, in their order."""
        return [row for place, row in enumerate(self.rows) if mask >> place & 1]

    def at(self, places: Sequence[int]) -> int:
        """The bits of the rows at these places."""
        return _bits(places, size=len(self.rows))


class Selection(NamedTuple, Generic[Row]):
    """The rows that filters leave, and the filters as they can be shown."""

    rows: list[Row]
    filters: tuple[Filter, ...]


def index(*, rows: Sequence[Row], facets: Sequence[Facet[Row]]) -> Index[Row]:
    """Index rows for `select`; costs as much as some twenty selections."""
    places: dict[str, dict[str, list[int]]] = {}
    for facet in facets:
        values_of, of_facet = facet.values, places.setdefault(facet.name, {})
        for place, row in enumerate(rows):
            for value in values_of(row):
                of_facet.setdefault(value, []).append(place)
    size = len(rows)
    bits = {name: {value: _bits(found, size=size) for value, found in of.items()} for name, of in places.items()}
    return Index(rows=tuple(rows), facets=tuple(facets), bits=bits)


def _bits(places: Sequence[int], *, size: int) -> int:
    if not places:
        return 0
    # Through bytes: a shift for each row would copy the whole number each time.
    digits = bytearray(b"0") * size
    for place in places:
        digits[size - 1 - place] = 49
    return int(digits, 2)


def chosen_of(*, parameters: Texts, facets: Iterable[Facet[Row]]) -> dict[str, str]:
    """The facets that a query string sets; empty values do not count."""
    return {facet.name: parameters[facet.name] for facet in facets if parameters.get(facet.name)}


def select(
    *, indexed: Index[Row], chosen: Texts, within: int | None = None, count_alone: bool = False
) -> Selection[Row]:
    """Apply filters.

    Args:
        chosen: values by facet. A value that no row has leaves no row.
        within: bits of the rows that other conditions leave; None: all rows.
        count_alone: whether the count beside a value is over all rows, instead of over those that the other filters
            leave.
    """
    found = indexed.all if within is None else within
    masks = {name: indexed.bits[name].get(value, 0) for name, value in chosen.items()}
    filters = [
        _filter(facet=facet, indexed=indexed, found=found, masks={} if count_alone else masks, chosen=chosen)
        for facet in indexed.facets
    ]
    shown = (one for one, facet in zip(filters, indexed.facets, strict=True) if facet.is_shown(one.choices))
    return Selection(rows=indexed.chosen(reduce(and_, masks.values(), found)), filters=tuple(shown))


def _filter(*, facet: Facet[Row], indexed: Index[Row], found: int, masks: Mapping[str, int], chosen: Texts) -> Filter:
    others = reduce(and_, (mask for name, mask in masks.items() if name != facet.name), found)
    picked = chosen.get(facet.name, "")
    having = indexed.bits[facet.name]
    values = [value for value, bits in having.items() if bits & found and value not in facet.known]
    if facet.sort_key is not None:
        values.sort(key=facet.sort_key)
    values = [*facet.known, *values] if facet.is_offered else []
    if picked and picked not in values:
        values.append(picked)
    choices = tuple(
        Choice(value, facet.words(value), (having.get(value, 0) & others).bit_count(), value == picked)
        for value in values
    )
    return Filter(facet.name, facet.label, choices, facet.section)


def sort_by(*, rows: Iterable[Row], key: Callable[[Row], Any], descending: bool = False) -> list[Row]:
    """Rows by a key; ties as they came, and rows without a value (None) last in both directions."""
    valued = [(key(row), row) for row in rows]
    present = [pair for pair in valued if pair[0] is not None]
    present.sort(key=itemgetter(0), reverse=descending)
    return [*(row for _, row in present), *(row for value, row in valued if value is None)]


class Sort(NamedTuple):
    """A column to sort by; an address has `-` before its key where it descends."""

    key: str
    descending: bool = False

    @classmethod
    def read(cls, text: str, *, known: Container[str], default: str) -> "Sort":
        """The column that an address names, or the default if there is no such column."""
        key = text.removeprefix("-")
        return cls(key, text.startswith("-")) if key in known else cls(default)

    def direction(self, name: str) -> str:
        """The value of a heading's `aria-sort`; empty if its column is not sorted by."""
        return ("descending" if self.descending else "ascending") if name == self.key else ""

    def link(self, name: str, *, ascends: bool) -> str:
        """What a click on a heading sorts by: the other direction, or at first the one that the column begins with."""
        ascends = self.descending if name == self.key else ascends
        return name if ascends else f"-{name}"


class Parameter(NamedTuple):
    """One parameter of a query string."""

    name: str
    read: Callable[[str], Any]
    """The value of a text; raises ValueError with a sentence for the reader. Empty texts are read only if the parameter
    is required."""
    default: Any = ""
    is_kept: bool = False
    """Whether pages use a text that `read` refuses: they then show that nothing matches."""
    is_required: bool = False


class Reading(NamedTuple):
    """The values of a query string."""

    values: Mapping[str, Any]
    """By the names of all parameters."""
    problems: Mapping[str, list[str]]
    """Sentences by parameter. Pages ignore them: an old link still shows a page."""

    def checked(self) -> Mapping[str, Any]:
        """The values.

        Raises:
            FieldErrors: a parameter has a value that it cannot have.
        """
        if self.problems:
            raise FieldErrors(self.problems)
        return self.values


def read(*, parameters: Any, declared: Iterable[Parameter]) -> Reading:
    """Read a query string; names that are not declared do not count."""
    values: dict[str, Any] = {}
    problems: dict[str, list[str]] = {}
    for parameter in declared:
        text = str(parameters.get(parameter.name, ""))
        values[parameter.name] = parameter.default
        if not text and not parameter.is_required:
            continue
        try:
            values[parameter.name] = parameter.read(text)
        except ValueError as error:
            problems[parameter.name] = [str(error)]
            if parameter.is_kept:
                values[parameter.name] = text
    return Reading(values=values, problems=problems)


def one_of(known: Callable[[], Iterable[str]] | Iterable[str]) -> Callable[[str], str]:
    """Reads one of some values; a function that gives them is called only if a value is given."""

    def read_text(text: str) -> str:
        values = list(known() if callable(known) else known)
        if text not in values:
            raise ValueError(f"{text!r} is none of: {', '.join(values)}.")
        return text

    return read_text


def whole_number(text: str) -> int:
    """Reads a number in ASCII digits."""
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"{text!r} is no whole number.")
    return int(text)


def day(text: str) -> str:
    """Reads a day such as 2026-11-20."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r} is no day such as 2026-11-20.") from None


def written(parameters: Iterable[tuple[str, str]]) -> str:
    """Names and values as a query string with its `?`; nothing where there are none."""
    encoded = urlencode(list(parameters))
    return f"?{encoded}" if encoded else ""
