"""All boards side by side: a matrix of planners and suites, from the newest snapshot of each suite. No database access.

The row of a planner on a board is that of its latest published version. Anchors are reference lines: there is one for
each bundled strategy, whoever submitted it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from leaderboard.boards.across_suites import AcrossSuites, OpenRank, ranks_across
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.ranking import cost_of, is_anchor_row
from leaderboard.boards.selecting import FACETS, HIDE, SIZES, Parameters
from leaderboard.boards.selecting import KINDS as PLANNER_KINDS
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results import filters
from leaderboard.evaluations.results.filters import Filter, Index, Parameter, Sort, index, one_of, read, select, sort_by
from leaderboard.platform.lru_cache import Mark
from leaderboard.reliability.columns import CHOSEN, RELIABILITY, reliability_of

Row = Mapping[str, Any]
"""Of a snapshot, in the format of `ranking.py`."""
SCORES, COST, RELIABLE, CHANGES = "scores", "cost", "reliability", "changes"
VIEWS = (SCORES, COST, RELIABLE, CHANGES)
"""What the cells of the matrix show."""
ACROSS, PLANNER = "across", "planner"
"""Columns besides the suites."""
SHOWN_RELIABILITY = tuple(key for key in RELIABILITY if key not in CHOSEN)
"""Dimensions in the cells; the first one sorts."""
_FACETS = ("kind", "size")


@dataclass(frozen=True)
class Line:
    """A planner with its rows on the boards, or an anchor."""

    key: str
    """Evaluation of the row that was published last."""
    name: tuple[str, str]
    """Owner and planner."""
    rows: Mapping[int, Row]
    """By the suite's primary key, in the order of the boards."""

    @cached_property
    def newest(self) -> Row:
        """The row that was published last, whose facts are shown."""
        return max(self.rows.values(), key=lambda row: str(row["finished"]))


@dataclass(frozen=True)
class Arena:
    """The planners and anchors of all boards. Shared by all requests: do not modify."""

    suites: tuple[Suite, ...]
    """On whose boards planners have rows; without any planner, those with anchors."""
    planners: tuple[Line, ...]
    """Those on most boards first, then by name."""
    anchors: tuple[Line, ...]
    """By name, with a row on one of these suites."""
    mark: Mark = field(default_factory=Mark, compare=False)
    """Identifies this matrix in cache keys."""

    @cached_property
    def index(self) -> Index[Line]:
        """The planners by kind and size of their models."""
        facets = [
            filters.Facet(
                facet.name, facet.label, partial(_of_newest, facet.values), facet.words, sort_key=facet.sort_key,
                is_shown=facet.is_shown,
            )
            for facet in FACETS
            if facet.name in _FACETS
        ]  # fmt: skip
        return index(rows=self.planners, facets=facets)

    @cached_property
    def usual(self) -> Suite | None:
        """The suite that the matrix is sorted by: the first of those with most ranked planners."""
        return max(self.suites, key=lambda suite: self.ranked.get(suite.pk, 0), default=None)

    @cached_property
    def ranked(self) -> Mapping[int, int]:
        """Number of ranked planners by the suite's primary key."""
        return {
            suite.pk: sum((line.rows.get(suite.pk) or {}).get("rank") is not None for line in self.planners)
            for suite in self.suites
        }

    @cached_property
    def told_apart(self) -> frozenset[int]:
        """The suites on which some planner is significantly better than another, by primary key."""
        return frozenset(pk for line in self.planners for pk, row in line.rows.items() if (row["rank_low"] or 1) > 1)

    @cached_property
    def has_reliability(self) -> bool:
        """Whether any row has a reliability profile."""
        return any(row.get("reliability") for line in (*self.planners, *self.anchors) for row in line.rows.values())

    @cached_property
    def across(self) -> AcrossSuites[str] | None:
        """The ranks across suites by `Line.key`; None if no two planners are ranked on two suites in common."""
        boards = {
            suite.pk: {
                line.key: OpenRank(row["rank"], row["rank_low"], row["rank_high"])
                for line in self.planners
                if (row := line.rows.get(suite.pk)) is not None and row["rank"] is not None
            }
            for suite in self.suites
        }
        return ranks_across(boards)


def _of_newest(values: Callable[[Row], Sequence[str]], line: Line) -> Sequence[str]:
    return values(line.newest)


def arena_of(boards: Iterable[tuple[Suite, BoardContent]]) -> Arena:
    """Put boards side by side.

    Args:
        boards: the newest content of each suite, in the order of pages.
    """
    shown = []
    planners: dict[tuple[str, str], dict[int, Row]] = {}
    anchors: dict[str, dict[int, Row]] = {}
    for suite, content in boards:
        shown.append(suite)
        for row in content.rows:
            if is_anchor_row(row):
                of_anchor = anchors.setdefault(row["strategy"], {})
                other = of_anchor.get(suite.pk)
                if other is None or str(other["finished"]) < str(row["finished"]):
                    of_anchor[suite.pk] = row
            else:
                planners.setdefault((row["owner"], row["planner"]), {})[suite.pk] = row
    on_board = {pk for rows in (planners or anchors).values() for pk in rows}
    lines = [_line(name, rows) for name, rows in planners.items()]
    lines.sort(key=lambda line: (-len(line.rows), line.name[1].casefold(), line.name[0]))
    return Arena(
        suites=tuple(suite for suite in shown if suite.pk in on_board),
        planners=tuple(lines),
        anchors=tuple(
            _line(("", strategy), rows) for strategy, rows in sorted(anchors.items()) if on_board & rows.keys()
        ),
    )


def _line(name: tuple[str, str], rows: Mapping[int, Row]) -> Line:
    newest = max(rows.values(), key=lambda row: str(row["finished"]))
    return Line(key=str(newest["evaluation"]), name=name, rows=rows)


class Selection(NamedTuple):
    """The values of a query string by parameter."""

    view: str = SCORES
    sort: str = ""
    kind: str = ""
    size: str = ""
    across: str = ""
    """`1`: with the ranks across suites."""
    reference: str = ""
    """`hide`: without anchors."""
    page: str = "1"

    @property
    def chosen(self) -> dict[str, str]:
        """The facets that are set."""
        return {name: value for name in _FACETS if (value := getattr(self, name))}


_PARAMETERS = (
    Parameter("view", one_of(VIEWS), default=SCORES),
    Parameter("sort", str),
    Parameter("kind", one_of(PLANNER_KINDS), is_kept=True),
    Parameter("size", one_of([size[0] for size in SIZES])),
    Parameter(ACROSS, one_of(["1"])),
    Parameter("reference", one_of([HIDE])),
    Parameter("page", str, default="1"),
)


def read_selection(parameters: Parameters) -> Selection:
    """Read the query string of the arena's page. Invalid values are ignored, so that old links keep working."""
    return Selection(**read(parameters=parameters, declared=_PARAMETERS).values)


class Selected(NamedTuple):
    """The selected planners in the selected order."""

    planners: Sequence[Line]
    filters: tuple[Filter, ...]
    sort: Sort


def select_planners(*, arena: Arena, selection: Selection) -> Selected:
    """The planners that a query string selects; those without a value in the column that sorts come last."""
    chosen = select(indexed=arena.index, chosen=selection.chosen, counts_all=True)
    suites = {suite.slug: suite for suite in arena.suites}
    keys = {*suites, PLANNER, *([ACROSS] if selection.across else [])}
    sort = Sort.read(selection.sort, known=keys, default="")
    if not sort.key and arena.usual is not None:
        sort = Sort(arena.usual.slug, not ascends(suite=arena.usual, view=selection.view))
    key = _key(arena=arena, sort=sort, suites=suites, view=selection.view)
    return Selected(sort_by(rows=chosen.rows, key=key, descending=sort.descending), chosen.filters, sort)


def _key(*, arena: Arena, sort: Sort, suites: Mapping[str, Suite], view: str) -> Callable[[Line], Any]:
    if sort.key == PLANNER:
        return lambda line: (line.name[1].casefold(), line.name[0])
    if sort.key == ACROSS:
        ranks = arena.across.ranks if arena.across else {}
        return lambda line: ranks[line.key].mean if line.key in ranks else None
    suite = suites.get(sort.key)
    return lambda line: None if suite is None else value_of(line.rows.get(suite.pk), suite=suite, view=view)


def ascends(*, suite: Suite, view: str) -> bool:
    """Whether the better figures of a column are the lower ones."""
    return view == COST or (view in {SCORES, CHANGES} and not suite.ranking_column.higher_is_better)


def value_of(row: Row | None, *, suite: Suite, view: str) -> float | None:
    """The figure that a column is sorted by; None if the row has none. Changes are sorted by the score."""
    if row is None:
        return None
    if view == COST:
        return cost_of(row)
    if view == RELIABLE:
        return (reliability_of(row, SHOWN_RELIABILITY[0]) or {}).get("mean")
    return (row["metrics"].get(suite.ranking_column.key) or {}).get("mean")
