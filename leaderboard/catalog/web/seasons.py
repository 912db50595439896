"""The page of a suite's seasons: their boards side by side, and the course of planners over them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.undecided import range_text, ranged
from leaderboard.boards.contents import contents_of
from leaderboard.boards.drawing.picture import Axis, Item, Line, Link, Mark, Picture, Text, tenths
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, snapshots_of
from leaderboard.catalog.models import Season, SeasonData, Suite
from leaderboard.platform.http.caching import tagged_page

WIDTH, HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 720.0, 300.0, 16.0, 34.0, 48.0, 16.0
MOST_DRAWN = 5
"""As many as there are shapes of marks."""
MOST_ROWS = 100
_APART = 8
"""Pixels between the marks of neighbours in one season."""

Row = Mapping[str, Any]


class SeasonBoard(NamedTuple):
    """One season of a suite and its newest board."""

    season: Season
    data: SeasonData | None
    snapshot: Snapshot | None
    rows: Sequence[Row]
    """In the format of `ranking.py`; empty without a snapshot."""


class Place(NamedTuple):
    """A planner in one season."""

    evaluation: str
    rank: int | None
    value: Mapping[str, Any] | None
    """Mean and interval of the column that ranks."""


class Course(NamedTuple):
    """A planner over all seasons."""

    planner: str
    owner: str
    places: tuple[Place | None, ...]
    """One for each season; None where it has no row."""


def courses(*, boards: Sequence[Sequence[Row]], metric: Column) -> list[Course]:
    """The planners of boards in the order of the last board that has them."""
    places: dict[tuple[str, str], list[Place | None]] = {}
    order: dict[tuple[str, str], tuple[int, int]] = {}
    for number, rows in enumerate(boards):
        for position, row in enumerate(rows):
            key = (str(row["owner"]), str(row["planner"]))
            found = places.setdefault(key, [None] * len(boards))
            found[number] = Place(str(row["evaluation"]), row["rank"], ranged(metrics=row["metrics"], column=metric))
            order[key] = (len(boards) - number, position)
    named = sorted(places, key=lambda key: order[key])
    return [Course(planner, owner, tuple(places[owner, planner])) for owner, planner in named]


def courses_plot(courses: Sequence[Course], *, seasons: Sequence[str], metric: Column) -> Picture | None:
    """The courses as lines over the seasons, with intervals; None where fewer than two seasons have values.

    Args:
        courses: at most `MOST_DRAWN`, each with a value in some season.
        seasons: names of the seasons.
        metric: the column that the boards rank by.
    """
    measured = {n for course in courses for n, place in enumerate(course.places) if place and place.value}
    scale = tenths(
        [
            value[end]
            for course in courses
            for place in course.places
            if place and (value := place.value)
            for end in ("low", "mean", "high", "upper")
            if value.get(end) is not None
        ]
    )
    if scale is None or len(measured) < 2:
        return None
    y = Axis(*scale, low=HEIGHT - BOTTOM, high=TOP)
    items: list[Item] = []
    lowest, highest = round(scale[0] * 10), round(scale[1] * 10)
    for tenth in range(lowest, highest + 1, max(1, (highest - lowest) // 5)):
        at = y.at(tenth / 10)
        items.append(Line("grid", ((LEFT, at), (WIDTH - RIGHT, at))))
        items.append(Text("tick", LEFT - 8, at + 4, f"{tenth / 10:.1f}", "end"))
    xs = [LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / len(seasons) for number in range(len(seasons))]
    items += [Text("tick", x, HEIGHT - BOTTOM + 22, name, "middle") for x, name in zip(xs, seasons, strict=True)]
    for number, course in enumerate(courses, start=1):
        role = f"course course-{number}"
        aside = (number - (len(courses) + 1) / 2) * _APART
        marks: list[Item] = []
        points = []
        for x, season, place in zip(xs, seasons, course.places, strict=True):
            if place is None or not (value := place.value):
                continue
            point = x + aside, y.at(value["mean"])
            points.append(point)
            words = f"{course.planner}, season {season}: {range_text(value)}"
            if value.get("low") is not None and value.get("high") is not None:
                words += f" ({value['low']:.3f} to {value['high']:.3f})"
                marks.append(Line(role, ((point[0], y.at(value["low"])), (point[0], y.at(value["high"])))))
            marks.append(Link("", words, (Mark("", *point, number),)))
        items += [Line(role, tuple(points)), *marks]
    return Picture(
        key="course",
        title=f"{metric.label} over seasons",
        description="One line for each planner. The table below has the same figures.",
        width=WIDTH,
        height=HEIGHT,
        items=tuple(items),
    )


@require_safe
def seasons(request: HttpRequest, suite: str) -> HttpResponse:
    """Every season of a suite, whether it has a board yet or not."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    newest = {
        snapshot.season_id: snapshot
        for snapshot in snapshots_of(suite).exclude(season=None).order_by("season", "-number").distinct("season")
    }
    contents = contents_of(newest.values())
    data = {row.season_id: row for row in SeasonData.objects.filter(suite=suite)}
    boards = [
        SeasonBoard(season, data.get(season.name), snapshot, contents[snapshot.pk].rows if snapshot else ())
        for season in Season.objects.filter(name__in={*newest, *data}).order_by("opens", "name")
        for snapshot in [newest.get(season.name)]
    ]
    usual = latest_snapshot(suite=found)
    states = [
        "closed" if board.season.closed else "open" if board.season.opens <= timezone.now() else "announced"
        for board in boards
    ]
    parts: list[object] = [found.digest, found.title, found.description, bool(usual)]
    parts += [
        [board.season.name, state, board.data and board.data.seed, board.snapshot and board.snapshot.digest]
        for board, state in zip(boards, states, strict=True)
    ]

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": usual, "here": "seasons"}
        context["seasons"] = list(zip(boards, states, strict=True))
        context["metric"] = found.ranking_column
        shown = [board for board in boards if board.snapshot is not None]
        every = courses(boards=[board.rows for board in shown], metric=found.ranking_column)
        names = [board.season.name for board in shown]
        context |= {"names": names, "courses": every[:MOST_ROWS], "left_out": max(0, len(every) - MOST_ROWS)}
        drawn = [course for course in every if any(place and place.value for place in course.places)][:MOST_DRAWN]
        context["drawn"] = list(enumerate(drawn, start=1))
        context["picture"] = courses_plot(drawn, seasons=names, metric=found.ranking_column)
        return render(request, "catalog/seasons.html", context)

    return tagged_page(request=request, parts=parts, make=make)
