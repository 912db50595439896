"""Values of the arena's page, ready for its template: the matrix of planners and suites, and a line for each suite."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator

from evaluator.scoring.metrics.undecided import ranged, undecided_words
from leaderboard.boards.across_suites import AverageRank
from leaderboard.boards.arena import (
    ACROSS,
    CHANGES,
    COST,
    PLANNER,
    RELIABLE,
    SHOWN_RELIABILITY,
    VIEWS,
    Arena,
    Line,
    Row,
    Selected,
    Selection,
    ascends,
    select_planners,
)
from leaderboard.boards.arena_state import Progress
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.ranking import cost_of, tokens_of
from leaderboard.boards.selecting import HIDE
from leaderboard.boards.version_changes import KeptChange
from leaderboard.boards.web.presenters import (
    Part,
    answer_of,
    dollars_in_words,
    seconds_in_words,
    size_in_words,
)
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import figure, interval_words
from leaderboard.evaluations.results.filters import Filter, Sort
from leaderboard.reliability.columns import RELIABILITY, reliability_of

PER_PAGE = 50
MOST_ANSWERS = 3
"""Maximum number of boards whose answer opens the page."""
_NONE = "not on this board"
_TO = "\N{EN DASH}"


class Cell(NamedTuple):
    """The figures of a planner on a suite as text."""

    text: str
    """Empty without a figure."""
    detail: str
    title: str
    """Further facts; without a figure, why there is none."""
    evaluation: str
    """Empty if the planner is not on the board."""
    is_best: bool = False
    """Whether no other planner is significantly better, on a board where some are."""
    tone: str = ""
    """`better` or `worse`: a significant change."""


class MatrixRow:
    """A row of the matrix. Lazy, since pages take most rows from the fragment cache (`{% keptfor %}`)."""

    def __init__(
        self, line: Line, *, arena: Arena, view: str, planner: int | None, changes: Mapping[str, KeptChange]
    ) -> None:
        self.line = line
        self.planner = planner
        """Primary key; None for anchors."""
        self._arena, self._view, self._changes = arena, view, changes

    @property
    def kept_key(self) -> Hashable:
        """Identifies rows of a matrix, and in its view of changes what they show."""
        changes = [self._changes.get(row["evaluation"]) for row in self.line.rows.values()] if self._changes else []
        return self.line.key, *changes

    @property
    def newest(self) -> Row:
        """The row that was published last, whose facts are shown."""
        return self.line.newest

    @property
    def size(self) -> str:
        """Parameters of the language model; empty if unknown."""
        return size_in_words(self.newest.get("parameters"))

    @property
    def across(self) -> AverageRank | None:
        """The rank across suites."""
        return self._arena.across.ranks.get(self.line.key) if self._arena.across else None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """In the order of the suites."""
        rows = ((suite, self.line.rows.get(suite.pk)) for suite in self._arena.suites)
        return tuple(Cell("", "", _NONE, "") if row is None else self._cell(row, suite=suite) for suite, row in rows)

    def _cell(self, row: Row, *, suite: Suite) -> Cell:
        if self._view == COST:
            return _cost(row)
        if self._view == RELIABLE:
            return _reliability(row)
        if self._view == CHANGES:
            return _change(row, change=self._changes.get(row["evaluation"]))
        return _score(row, suite=suite, arena=self._arena)


def _score(row: Row, *, suite: Suite, arena: Arena) -> Cell:
    column = suite.ranking_column
    value = ranged(metrics=row["metrics"], column=column)
    if value is None:
        return Cell("", "", f"no value for {column.label}", row["evaluation"])
    low, high = row["rank_low"], row["rank_high"]
    notes = [column.label, interval_words(value), undecided_words(value)]
    if row.get("version"):
        notes.append(f"version {row['version']}")
    return Cell(
        text=figure(value),
        detail="" if row["rank"] is None else f"rank {row['rank'] if low == high else f'{low}{_TO}{high}'}",
        title=", ".join(note for note in notes if note),
        evaluation=row["evaluation"],
        is_best=row["rank"] is not None and low == 1 and suite.pk in arena.told_apart,
    )


def _cost(row: Row) -> Cell:
    """What a task costs: US dollars if prices are declared, tokens and seconds as far as they are known."""
    tokens = tokens_of(row)
    known = [
        dollars_in_words(cost_of(row)),
        "" if tokens is None else f"{tokens:,.0f} tokens",
        seconds_in_words((row.get("usage") or {}).get("seconds")),
    ]
    first, *others = [text for text in known if text] or [""]
    return Cell(first, " · ".join(others), "per task" if first else "not reported", row["evaluation"])


def _reliability(row: Row) -> Cell:
    values = {key: value for key in SHOWN_RELIABILITY if (value := reliability_of(row, key)) is not None}
    if not values:
        return Cell("", "", "not measured", row["evaluation"])
    first, *others = [f"{RELIABILITY[key][0].lower()} {value['mean']:.3f}" for key, value in values.items()]
    title = "; ".join(
        f"{RELIABILITY[key][0]}, {words}" for key, value in values.items() if (words := interval_words(value))
    )
    return Cell(first.rpartition(" ")[2], ", ".join([first.rpartition(" ")[0], *others]), title, row["evaluation"])


def _change(row: Row, *, change: KeptChange | None) -> Cell:
    """The tasks that the latest version of the planner fixed and broke."""
    if change is None:
        return Cell("", "", "no earlier version on this board", row["evaluation"])
    tone = "" if change.is_better is None else "better" if change.is_better else "worse"
    notes = [f"broke {change.broken}", *([f"{change.undecided} undecided"] if change.undecided else [])]
    title = f"since version {change.before}" if change.before else "since the version without a name"
    return Cell(f"fixed {change.fixed}", ", ".join(notes), title, row["evaluation"], tone=tone)


class Heading(NamedTuple):
    """The heading of a suite."""

    suite: Suite
    metric: str
    """Label of the metric that its board ranks by."""
    ranked: int
    """Number of its ranked planners."""
    sorted: str
    """The value of `aria-sort`; empty for other columns."""
    link: str
    """The `sort` parameter of its link."""


class SortLink(NamedTuple):
    """The heading of a column that is no suite."""

    sorted: str
    link: str


class Matrix(NamedTuple):
    """A page of the matrix of planners and suites."""

    headings: tuple[Heading, ...]
    planner: SortLink
    across: SortLink
    rows: tuple[MatrixRow, ...]
    anchors: tuple[MatrixRow, ...]
    """Reference lines; empty if they are hidden."""
    has_anchors: bool
    filters: tuple[Filter, ...]
    views: tuple[str, ...]
    has_figures: bool
    """Whether any planner has a figure in this view."""
    total: int
    """Number of planners, before filters and pages."""
    page: Page[Line]
    common: tuple[Suite, ...]
    """The suites of the ranks across suites."""
    across_planners: int
    """Number of planners that have such a rank."""

    @property
    def columns(self) -> int:
        """Number of columns without that of the ranks across suites."""
        return 1 + len(self.headings)


class Shown(NamedTuple):
    """The selected planners, and those on the page."""

    selected: Selected
    page: Page[Line]


def shown_of(*, arena: Arena, selection: Selection) -> Shown:
    """Select the planners of a page."""
    selected = select_planners(arena=arena, selection=selection)
    return Shown(selected, Paginator(selected.planners, PER_PAGE).get_page(selection.page))


def matrix_of(
    *, arena: Arena, selection: Selection, shown: Shown, planners: Mapping[str, int], changes: Mapping[str, KeptChange]
) -> Matrix:
    """The selected page of the matrix.

    Args:
        planners: primary keys by `Line.key`, of the lines on the page.
        changes: by evaluation, of the lines on the page; empty in other views.
    """
    sort, view = shown.selected.sort, selection.view
    across = arena.across if selection.across else None
    # Anchors have no versions that anybody improves.
    anchors = () if selection.reference == HIDE or view == CHANGES else arena.anchors
    common = frozenset(across.suites if across else ())
    return Matrix(
        headings=tuple(_heading(suite, arena=arena, sort=sort, view=view) for suite in arena.suites),
        planner=SortLink(sort.direction(PLANNER), sort.link(PLANNER, ascends=True)),
        across=SortLink(sort.direction(ACROSS), sort.link(ACROSS, ascends=True)),
        rows=tuple(
            MatrixRow(line, arena=arena, view=view, planner=planners.get(line.key), changes=changes)
            for line in shown.page.object_list
        ),
        anchors=tuple(MatrixRow(line, arena=arena, view=view, planner=None, changes={}) for line in anchors),
        has_anchors=bool(arena.anchors),
        filters=shown.selected.filters,
        views=VIEWS,
        has_figures=bool(changes) if view == CHANGES else view != RELIABLE or arena.has_reliability,
        total=len(arena.planners),
        page=shown.page,
        common=tuple(suite for suite in arena.suites if suite.pk in common),
        across_planners=len(across.ranks) if across else 0,
    )


def _heading(suite: Suite, *, arena: Arena, sort: Sort, view: str) -> Heading:
    return Heading(
        suite=suite,
        metric=suite.ranking_column.label,
        ranked=arena.ranked[suite.pk],
        sorted=sort.direction(suite.slug),
        link=sort.link(suite.slug, ascends=ascends(suite=suite, view=view)),
    )


class SuiteLine(NamedTuple):
    """A suite and its state."""

    suite: Suite
    sentence: str
    """What it measures."""
    tasks: int
    ranked: int
    """Number of ranked planners."""
    answer: Sequence[Part]
    """Who leads; empty without a ranked planner."""
    progress: Progress | None


def suite_line(*, suite: Suite, content: BoardContent | None, tasks: int, progress: Progress | None) -> SuiteLine:
    """The line of a suite, with the first sentence of its board."""
    answers = answer_of(suite=suite, content=content) if content is not None and content.ranked else []
    return SuiteLine(
        suite=suite,
        sentence=first_sentence(suite.description),
        tasks=tasks,
        ranked=content.ranked if content is not None else 0,
        answer=answers[0] if answers else (),
        progress=progress,
    )


def leading_lines(lines: Sequence[SuiteLine]) -> list[SuiteLine]:
    """The lines whose answers open the page, in their order: at most `MOST_ANSWERS`, of the suites with the most ranked
    planners."""
    answered = [line for line in lines if line.answer]
    chosen = sorted(answered, key=lambda line: -line.ranked)[:MOST_ANSWERS]
    return [line for line in answered if line in chosen]


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence."""
    sentence, stop, _ = " ".join(text.split()).partition(". ")
    return f"{sentence}." if stop else sentence


def state_parts(progress: Mapping[int, Progress]) -> list[Any]:
    """What is being computed, as JSON values for the page's ETag."""
    return [[suite, *one] for suite, one in sorted(progress.items())]
