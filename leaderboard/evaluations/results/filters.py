"""Filters of lists, without a database: parse a query string, apply filters, count rows, and write query strings.

A facet is a property that rows are filtered by. The index is a bitmap of rows for each value of each facet, so that a
filter is a bitwise AND and a count is a number of bits.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from operator import and_, itemgetter
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from evaluator.core.suggestions import likely_name
from leaderboard.platform.problems import FieldErrors

MANY = 14
"""Facets with more values are drop-down lists instead of links."""
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
    """A facet with its values in a form."""

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
        """Whether it is a drop-down list instead of links."""
        return len(self.choices) > MANY


def tells_apart(choices: Sequence[Choice]) -> bool:
    """Whether a filter with these choices can change the selection."""
    return len(choices) > 1 or any(choice.chosen for choice in choices)


class Facet(NamedTuple, Generic[Row]):
    """A property to filter by."""

    name: str
    """Name of the query parameter."""
    label: str
    values: Callable[[Row], Sequence[str]]
    """The values of a row without duplicates."""
    words: Callable[[str], str] = in_words
    """The label of a value."""
    known: tuple[str, ...] = ()
    """Values that are offered first, even if no row has them."""
    sort_key: Callable[[str], Any] | None = None
    """Order of the values; None: order of first occurrence."""
    section: str = ""
    """Section of the form."""
    is_offered: bool = True
    """False: shown only if it is set, by links of other parts of the page."""
    is_shown: Callable[[Sequence[Choice]], bool] = tells_apart


class Index(NamedTuple, Generic[Row]):
    """Rows with their facets, and a bitmap of rows for each value of each facet."""

    rows: tuple[Row, ...]
    facets: tuple[Facet[Row], ...]
    bits: Mapping[str, Mapping[str, int]]

    @property
    def all(self) -> int:
        """The bitmap of all rows."""
        return (1 << len(self.rows)) - 1

    def chosen(self, mask: int) -> list[Row]:
        """The rows of a bitmap, in order."""
        return [row for place, row in enumerate(self.rows) if mask >> place & 1]

    def at(self, places: Sequence[int]) -> int:
        """The bitmap of the rows with these indices."""
        return _bits(places, size=len(self.rows))


class Selection(NamedTuple, Generic[Row]):
    """The selected rows, and the filters to show."""

    rows: list[Row]
    filters: tuple[Filter, ...]


def index(*, rows: Sequence[Row], facets: Sequence[Facet[Row]]) -> Index[Row]:
    """Index rows for `select`; takes about as long as twenty selections."""
    bits: dict[str, dict[str, int]] = {}
    for facet in facets:
        values_of, places = facet.values, dict[str, list[int]]()
        for place, row in enumerate(rows):
            for value in values_of(row):
                places.setdefault(value, []).append(place)
        bits[facet.name] = {value: _bits(members, size=len(rows)) for value, members in places.items()}
    return Index(rows=tuple(rows), facets=tuple(facets), bits=bits)


def _bits(places: Sequence[int], *, size: int) -> int:
    if not places:
        return 0
    # Shifting a bit for each row would copy the whole number each time.
    digits = bytearray(b"0") * size
    for place in places:
        digits[size - 1 - place] = 49
    return int(digits, 2)


def chosen_of(*, parameters: Texts, facets: Iterable[Facet[Row]]) -> dict[str, str]:
    """The facets set in a query string; empty values are ignored."""
    return {facet.name: parameters[facet.name] for facet in facets if parameters.get(facet.name)}


def select(
    *, indexed: Index[Row], chosen: Texts, within: int | None = None, counts_all: bool = False
) -> Selection[Row]:
    """Apply filters.

    Args:
        chosen: values by facet. A value without rows selects no rows.
        within: bitmap of the rows that meet other conditions; None: all rows.
        counts_all: whether counts are over all rows instead of those selected by the other filters.
    """
    base = indexed.all if within is None else within
    masks = {name: indexed.bits[name].get(value, 0) for name, value in chosen.items()}
    filters = []
    for facet in indexed.facets:
        others = () if counts_all else (mask for name, mask in masks.items() if name != facet.name)
        counted = reduce(and_, others, base)
        current = chosen.get(facet.name, "")
        bitmaps = indexed.bits[facet.name]
        values = [value for value, bits in bitmaps.items() if bits & base and value not in facet.known]
        if facet.sort_key is not None:
            values.sort(key=facet.sort_key)
        values = [*facet.known, *values] if facet.is_offered else []
        if current and current not in values:
            values.append(current)
        choices = tuple(
            Choice(value, facet.words(value), (bitmaps.get(value, 0) & counted).bit_count(), value == current)
            for value in values
        )
        if facet.is_shown(choices):
            filters.append(Filter(facet.name, facet.label, choices, facet.section))
    return Selection(rows=indexed.chosen(reduce(and_, masks.values(), base)), filters=tuple(filters))


def sort_by(*, rows: Iterable[Row], key: Callable[[Row], Any], descending: bool = False) -> list[Row]:
    """Sort rows stably by a key; rows without a value (None) are last in both directions."""
    valued = [(key(row), row) for row in rows]
    present = [pair for pair in valued if pair[0] is not None]
    present.sort(key=itemgetter(0), reverse=descending)
    return [*(row for _, row in present), *(row for value, row in valued if value is None)]


class Sort(NamedTuple):
    """A column to sort by; in query strings `-` before its key means descending."""

    key: str
    descending: bool = False

    @classmethod
    def read(cls, text: str, *, known: Container[str], default: str) -> "Sort":
        """Parse a column; unknown columns give the default."""
        key = text.removeprefix("-")
        return cls(key, text.startswith("-")) if key in known else cls(default)

    def direction(self, name: str) -> str:
        """The value of a heading's `aria-sort`; empty for other columns."""
        return ("descending" if self.descending else "ascending") if name == self.key else ""

    def link(self, name: str, *, ascends: bool) -> str:
        """The order after a click on a heading: reversed, or initially the column's default direction `ascends`."""
        ascends = self.descending if name == self.key else ascends
        return name if ascends else f"-{name}"


class Parameter(NamedTuple):
    """One parameter of a query string."""

    name: str
    read: Callable[[str], Any]
    """Parses a text; raises ValueError with a sentence for the reader. Called for empty texts only if the parameter is
    required."""
    default: Any = ""
    is_kept: bool = False
    """Whether pages use an invalid text, and then show that nothing matches."""
    is_required: bool = False


class Reading(NamedTuple):
    """The values of a query string."""

    values: Mapping[str, Any]
    """Values of all parameters by name."""
    problems: Mapping[str, list[str]]
    """Error messages by parameter. Pages ignore them, so that old links still work."""

    def checked(self) -> Mapping[str, Any]:
        """The values.

        Raises:
            FieldErrors: a parameter has an invalid value.
        """
        if self.problems:
            raise FieldErrors(self.problems)
        return self.values


def read(*, parameters: Any, declared: Iterable[Parameter]) -> Reading:
    """Parse a query string; undeclared parameters are ignored."""
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
    """A parser that accepts only known values; a function is called only if there is a text to parse."""

    def read_text(text: str) -> str:
        values = list(known() if callable(known) else known)
        if text not in values:
            likely = likely_name(text, values)
            hint = f" Did you mean {likely!r}?" if likely else ""
            raise ValueError(f"{text!r} is none of: {', '.join(values)}.{hint}")
        return text

    return read_text


def whole_number(text: str) -> int:
    """Parse an integer in ASCII digits."""
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"{text!r} is not a whole number.")
    return int(text)


def day(text: str) -> str:
    """Parse a day such as 2026-11-20."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r} is not a day such as 2026-11-20.") from None


def written(parameters: Iterable[tuple[str, str]]) -> str:
    """Parameters as a query string with its `?`; empty without parameters."""
    encoded = urlencode(list(parameters))
    return f"?{encoded}" if encoded else ""
