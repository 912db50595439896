"""Filtering the tasks of an evaluation, without a database: filters combine, and each value knows its count.

The count beside a value is the number of rows that choosing it would show, given all the *other* filters.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from leaderboard.evaluations.indicators import ORDER, Mark, good_marks, marks, words_of

PENDING = "pending"
YES_NO = {True: "yes", False: "no"}


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
    language: str = ""
    """Of suites that execute, as the next."""
    steps: str = ""
    """Number of steps of the gold plan."""
    group: str = ""
    """Of suites that judge plans, as the five below."""
    level: str = ""
    flags: tuple[str, ...] = ()
    active: bool | None = None
    indicators: Mapping[str, float] = MappingProxyType({})
    """The five as the board counts them: the worst of each for a planner's fault."""

    @property
    def marks(self) -> tuple[Mark, ...]:
        return marks(self.indicators)


class Facet(NamedTuple):
    """A property to filter by."""

    name: str
    """The GET parameter."""
    label: str
    values: Callable[[TaskRow], tuple[str, ...]]
    words: Callable[[str], str] | None = None
    """A value in words, where the value itself does not say it."""
    is_indicator: bool = False


def _indicator(name: str) -> Facet:
    def values(row: TaskRow) -> tuple[str, ...]:
        return (f"{row.indicators[name]:.0f}",) if name in row.indicators else ()

    def words(value: str) -> str:
        return f"{value}: {words_of(name, float(value))}" if value in {"0", "1"} else value

    return Facet(name, name, values, words, is_indicator=True)


def language_in_words(code: str) -> str:
    """The language of a request as it is named to people."""
    return {"en": "English", "de": "German"}.get(code, code)


def steps_in_words(count: str) -> str:
    """A number of steps of a gold plan in words."""
    return f"{count} step{'' if count == '1' else 's'}"


def _active(row: TaskRow) -> tuple[str, ...]:
    return () if row.active is None else (YES_NO[row.active],)


FACETS = (
    Facet("outcome", "Outcome", lambda row: (row.outcome,)),
    *(_indicator(name) for name in ORDER),
    Facet("metric", "Metric", lambda row: (row.metric,)),
    Facet("base", "Base task", lambda row: (row.base,) if row.base else ()),
    Facet("degradation", "Degradation", lambda row: row.degradations),
    Facet("language", "Language", lambda row: (row.language,) if row.language else (), language_in_words),
    Facet("steps", "Gold plan", lambda row: (row.steps,) if row.steps else (), steps_in_words),
    Facet("level", "Level", lambda row: (row.level,) if row.level else ()),
    Facet("group", "Group", lambda row: (row.group,) if row.group else ()),
    Facet("flag", "Defect", lambda row: row.flags),
    Facet("active", "Active split", _active),
    Facet("structure", "Structure", lambda row: (row.structure,)),
    Facet("reason", "Reason", lambda row: (row.reason,) if row.reason else ()),
)
SORTS: Mapping[str, Callable[[TaskRow], float | str | None]] = {
    "task": lambda row: row.position,
    "outcome": lambda row: row.outcome,
    "score": lambda row: row.score,
    "marks": lambda row: good_marks(row.indicators),
    "seconds": lambda row: row.seconds,
}


class Choice(NamedTuple):
    """One value of a facet."""

    value: str
    count: int
    chosen: bool
    words: str = ""


class Group(NamedTuple):
    """A facet with its values."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    is_set: bool
    is_indicator: bool = False


class Selection(NamedTuple):
    """The rows that the filters leave, and the filters as they can be shown."""

    rows: tuple[TaskRow, ...]
    groups: tuple[Group, ...]
    search: str
    is_filtered: bool


class FailureGroup(NamedTuple):
    """Tasks without a normal score, by the reason."""

    outcome: str
    reason: str
    count: int
    example: TaskRow
    sentences: int
    """Number of different sentences among them; the example's is one."""


def select(*, rows: Sequence[TaskRow], parameters: Mapping[str, str]) -> Selection:
    """Apply the filters that `parameters` (the query string) asks for. Empty and unknown parameters do not count."""
    chosen = {facet.name: parameters[facet.name] for facet in FACETS if parameters.get(facet.name)}
    search = parameters.get("q", "").strip()
    found = [row for row in rows if _matches_text(row, search)]
    kept = [row for row in found if _matches(row, chosen)]
    groups = tuple(_group(facet=facet, rows=found, chosen=chosen) for facet in FACETS)
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
    present.sort(key=key, reverse=sort.startswith("-"))  # type: ignore[arg-type]
    return present + absent


def failures(rows: Iterable[TaskRow]) -> list[FailureGroup]:
    """Tasks that ended without a normal score, grouped by outcome and reason, the largest group first."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for row in rows:
        if row.outcome in {"planner_fault", "infra_fault"}:
            groups.setdefault((row.outcome, row.reason), []).append(row)
    found = [
        FailureGroup(
            outcome=outcome,
            reason=reason,
            count=len(members),
            example=members[0],
            sentences=len({member.reason_text for member in members}),
        )
        for (outcome, reason), members in groups.items()
    ]
    return sorted(found, key=lambda group: (group.outcome, -group.count, group.reason))


def _matches(row: TaskRow, chosen: Mapping[str, str], *, without: str = "") -> bool:
    return all(
        chosen[facet.name] in facet.values(row) for facet in FACETS if facet.name in chosen and facet.name != without
    )


def _matches_text(row: TaskRow, search: str) -> bool:
    """Every word of the search occurs in the request, the plan, the reason or the group; `#12` is the task with the
    key 12."""
    if search.startswith("#"):
        return row.key == search[1:]
    text = f"{row.text} {row.plan_summary} {row.reason_text} {row.group}".casefold()
    return all(word in text for word in search.casefold().split())


def _group(*, facet: Facet, rows: Iterable[TaskRow], chosen: Mapping[str, str]) -> Group:
    all_values: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for row in rows:
        values = facet.values(row)
        all_values.update(dict.fromkeys(values))
        if _matches(row, chosen, without=facet.name):
            counts.update(values)
    picked = chosen.get(facet.name, "")
    if picked:
        all_values.setdefault(picked)
    values = sorted(all_values) if facet.is_indicator or facet.name == "steps" else all_values
    choices = tuple(
        Choice(value, counts[value], value == picked, facet.words(value) if facet.words else "") for value in values
    )
    return Group(
        name=facet.name,
        label=facet.label,
        choices=choices,
        is_set=bool(picked),
        is_indicator=facet.is_indicator,
    )
