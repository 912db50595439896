"""The page of a board's tasks: a heat map of tasks by planner whose cells link to the results."""

import re
from math import isnan
from typing import Any, NamedTuple
from urllib.parse import quote

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from leaderboard.boards.contents import content_of
from leaderboard.boards.drawing.heat_map import BAND_WORDS, Block, heat_map, level_of
from leaderboard.boards.drawing.picture import Picture, shortened
from leaderboard.boards.matrix import (
    AS_IN_SUITE,
    CLUSTERED,
    HARDEST,
    MOST_PLANNERS,
    RANKED,
    SIMILAR,
    Band,
    HeatTask,
    Solved,
    TaskMatrix,
    bands_of,
    matrix_as_csv,
    matrix_of,
    planners_in_order,
)
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.hidden_data import when_public
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.results.filters import written
from leaderboard.evaluations.visibility import withholds_tasks
from leaderboard.platform.http.caching import tagged_page
from leaderboard.platform.lru_cache import SharedCache

PER_PAGE = 100
"""Tasks per page of the table; the picture has all."""
MOST_WORDS = 90
ORDERS = {CLUSTERED: "Unsolved first, similar together", HARDEST: "Hardest first", AS_IN_SUITE: "As in the suite"}
COLUMNS = {RANKED: "By rank", SIMILAR: "Similar together"}
PLANNER_PAGE = "planner_page"
_NUMBER = re.compile("[1-9][0-9]{0,5}")
_SAFE = "/~:@!$&'()*+,;="


class Arrangement(NamedTuple):
    """The order that a query string selects."""

    order: str
    columns: str
    page: int = 1
    """Page of the planners, by rank."""


class Arranged(NamedTuple):
    """A matrix in an order."""

    bands: tuple[Band, ...]
    columns: tuple[int, ...]
    picture: Picture
    """All tasks, with a link to each page of the table."""


class HeatRow(NamedTuple):
    """One task."""

    task: HeatTask
    words: str
    """Its request, shortened."""
    heading: str
    """Heading of the band that starts here, or empty."""
    cells: SafeString
    """The cells of all planners."""


_arranged: SharedCache[tuple[int, str, Arrangement], Arranged] = SharedCache(maxsize=24)


@require_safe
def heat(request: HttpRequest, suite: str) -> HttpResponse:
    """All tasks of a board by planner, unsolved tasks first; each cell links to the result."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    parts: list[object] = [found.digest, found.title, found.description]
    if snapshot is not None:
        parts += [snapshot.pk, snapshot.digest]
    is_withheld = snapshot is not None and withholds_tasks(reader=None, of=snapshot)
    parts.append(is_withheld)

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "here": "tasks"}
        if snapshot is not None and is_withheld:
            context["tasks_withheld"] = when_public(snapshot)
        elif snapshot is not None:
            context |= _page(request=request, suite=found, snapshot=snapshot)
        return render(request, "boards/heat.html", context)

    return tagged_page(request=request, parts=parts, make=make)


@require_safe
def heat_file(request: HttpRequest, suite: str) -> HttpResponse:
    """The values of all tasks on the page, as CSV."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    if snapshot is None:
        raise Http404("nothing was published on this board yet")

    def make() -> HttpResponse:
        page = read_arrangement(request).page
        matrix = matrix_of(suite=found, snapshot=snapshot, rows=content_of(snapshot).rows, page=page)
        response = HttpResponse(matrix_as_csv(matrix), content_type="text/csv; charset=utf-8")
        name = f"planarena-{found.slug}-{snapshot.number}-tasks-{matrix.first + 1}-{matrix.last}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    parts = [found.digest, snapshot.pk, snapshot.digest]
    return tagged_page(request=request, parts=parts, make=make)


def _page(*, request: HttpRequest, suite: Suite, snapshot: Snapshot) -> dict[str, Any]:
    arrangement = read_arrangement(request)
    matrix = matrix_of(suite=suite, snapshot=snapshot, rows=content_of(snapshot).rows, page=arrangement.page)
    arranged = arranged_of(matrix=matrix, suite=suite, snapshot=snapshot, arrangement=arrangement)
    order = [task for band in arranged.bands for task in band.tasks]
    page = Paginator(order, PER_PAGE).get_page(request.GET.get("page"))
    return {
        "metric": primary_metric(suite),
        "matrix": matrix,
        "planners": [matrix.planners[position] for position in arranged.columns],
        "rows": _rows(matrix=matrix, arranged=arranged, tasks=list(page)),
        "page": page,
        "picture": arranged.picture,
        "orders": [(key, words, key == arrangement.order) for key, words in ORDERS.items()],
        "column_orders": [(key, words, key == arrangement.columns) for key, words in COLUMNS.items()],
        "unsolved": matrix.solved.count(Solved.NONE),
        "solved_by_all": matrix.solved.count(Solved.ALL),
        "planner_page": matrix.first // MOST_PLANNERS + 1,
        "planner_pages": _planner_pages(matrix),
        "shades": range(11),
    }


def _planner_pages(matrix: TaskMatrix) -> list[tuple[int, str, bool]]:
    """Number and label of each page of planners, and whether it is the current one; empty if there is only one."""
    firsts = range(0, matrix.ranked, MOST_PLANNERS)
    if len(firsts) < 2:
        return []
    return [
        (number, f"{first + 1:,} to {min(first + MOST_PLANNERS, matrix.ranked):,}", first == matrix.first)
        for number, first in enumerate(firsts, start=1)
    ]


def read_arrangement(request: HttpRequest) -> Arrangement:
    """The order that the query string selects; unknown values select the default."""
    order, columns, page = (request.GET.get(name, "") for name in ("order", "planners", PLANNER_PAGE))
    return Arrangement(
        order if order in ORDERS else CLUSTERED,
        columns if columns in COLUMNS else RANKED,
        int(page) if _NUMBER.fullmatch(page) else 1,
    )


def arranged_of(*, matrix: TaskMatrix, suite: Suite, snapshot: Snapshot, arrangement: Arrangement) -> Arranged:
    """The matrix of a snapshot in an order, cached per process."""

    def make() -> Arranged:
        bands = bands_of(matrix, order=arrangement.order)
        columns = planners_in_order(matrix, order=arrangement.columns)
        total = len(matrix.tasks)
        picture = heat_map(
            matrix=matrix,
            bands=bands,
            columns=columns,
            addresses=[reverse("evaluations:detail", args=[planner.evaluation]) for planner in matrix.planners],
            blocks=[_block(first=first, total=total, arrangement=arrangement) for first in range(0, total, PER_PAGE)],
            title=f"{suite.title}: tasks by planner",
        )
        return Arranged(bands, columns, picture)

    return _arranged.get_or_make((snapshot.pk, snapshot.digest, arrangement), make)


def _block(*, first: int, total: int, arrangement: Arrangement) -> Block:
    number, last = first // PER_PAGE + 1, min(first + PER_PAGE, total)
    planners = {"planners": arrangement.columns, PLANNER_PAGE: str(arrangement.page)}
    values = {"order": arrangement.order, **planners, "page": str(number)}
    defaults = {"order": CLUSTERED, "planners": RANKED, PLANNER_PAGE: "1", "page": "1"}
    query = written((name, value) for name, value in values.items() if value != defaults[name])
    words = f"Tasks {first + 1:,} to {last:,} in the table"
    return Block(f"{query or '?'}#table", words, first, last - first)


def _rows(*, matrix: TaskMatrix, arranged: Arranged, tasks: list[int]) -> list[HeatRow]:
    heads = {
        band.tasks[0]: f"{BAND_WORDS[band.solved]}: {len(band.tasks):,}"
        for band in arranged.bands
        if band.solved is not None
    }
    solved = {task: band.solved for band in arranged.bands for task in band.tasks}
    if tasks and tasks[0] not in heads and (kind := solved[tasks[0]]) is not None:
        heads[tasks[0]] = f"{BAND_WORDS[kind]}, continued"
    columns = []
    for position in arranged.columns:
        planner = matrix.planners[position]
        address = reverse("evaluations:task", args=[planner.evaluation, "0"]).removesuffix("0/")
        columns.append(_HeatColumn(position, escape(address), escape(planner.planner)))
    return [
        HeatRow(
            task=matrix.tasks[task],
            words=shortened(matrix.tasks[task].text, most=MOST_WORDS),
            heading=heads.get(task, ""),
            cells=_cells(matrix=matrix, task=task, columns=columns),
        )
        for task in tasks
    ]


class _HeatColumn(NamedTuple):
    """The shared parts of a planner's cells, escaped once, since a page has thousands of cells."""

    position: int
    address: str
    """URL of its tasks, without a key."""
    planner: str


def _cells(*, matrix: TaskMatrix, task: int, columns: list[_HeatColumn]) -> SafeString:
    key = escape(matrix.tasks[task].key)
    end = escape(quote(matrix.tasks[task].key, safe=_SAFE))
    values = matrix.values[task].tolist()
    cells = []
    for column in columns:
        value, shade, long, short = values[column.position], "missing", "no score", "\N{EN DASH}"
        if not isnan(value):
            shade, long = f"heat-{level_of(value, low=matrix.low, high=matrix.high)}", f"{value:.3f}"
            # Two decimals without the leading zero; whole numbers without decimals.
            text = f"{value:.2f}"
            short = text.removesuffix(".00") if text.endswith(".00") else text.replace("0.", ".", 1)
        cells.append((shade, column.address, end, key, column.planner, long, short))
    return format_html_join("", '<td class="{}"><a href="{}{}/" title="{}, {}: {}">{}</a></td>', cells)
