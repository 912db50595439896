"""Boards of seasons side by side, and the course of planners over them. The arithmetic is pure; `seasons_of` reads."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.undecided import range_text, ranged
from leaderboard.boards.contents import contents_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.scales import tenths
from leaderboard.boards.services import newest_of_seasons
from leaderboard.catalog.models import Season, SeasonData

WIDTH, HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 720, 300, 16, 34, 48, 16
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


class Mark(NamedTuple):
    """A planner's mean in one season."""

    x: str
    y: str
    low: str
    high: str
    """Ends of the interval; empty where there is none."""
    words: str


class Line(NamedTuple):
    """The drawn course of a planner."""

    number: int
    """From 1; chooses shape and colour."""
    course: Course
    path: str
    marks: tuple[Mark, ...]


class Drawing(NamedTuple):
    """All lines with their axes."""

    lines: tuple[Line, ...]
    seasons: tuple[tuple[str, str], ...]
    """Place and name of each."""
    ticks: tuple[tuple[str, str], ...]


def seasons_of(suite: str) -> list[SeasonBoard]:
    """The seasons of a suite with their newest boards, the first one first."""
    newest = {snapshot.season_id: snapshot for snapshot in newest_of_seasons(suite)}
    contents = contents_of(newest.values())
    data = {one.season_id: one for one in SeasonData.objects.filter(suite=suite)}
    seasons = Season.objects.filter(name__in={*newest, *data}).order_by("opens", "name")
    return [
        SeasonBoard(season, data.get(season.name), found, contents[found.pk].rows if found else ())
        for season in seasons
        for found in [newest.get(season.name)]
    ]


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


def drawing(*, found: Sequence[Course], seasons: Sequence[str]) -> Drawing | None:
    """The first planners as lines; None where fewer than two seasons have values."""
    drawn = [course for course in found if any(place and place.value for place in course.places)][:MOST_DRAWN]
    measured = {number for course in drawn for number, place in enumerate(course.places) if place and place.value}
    ends = [
        place.value[name]
        for course in drawn
        for place in course.places
        if place and place.value
        for name in ("low", "mean", "high", "upper")
        if place.value.get(name) is not None
    ]
    scale = tenths(ends)
    if scale is None or len(measured) < 2:
        return None
    xs = [LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / len(seasons) for number in range(len(seasons))]
    return Drawing(
        lines=tuple(
            _line(number=number, of=len(drawn), course=course, xs=xs, seasons=seasons, scale=scale)
            for number, course in enumerate(drawn, start=1)
        ),
        seasons=tuple((f"{x:.1f}", name) for x, name in zip(xs, seasons, strict=True)),
        ticks=tuple((_y(value / 10, scale), f"{value / 10:.1f}") for value in _tenths_between(scale)),
    )


def _line(
    *, number: int, of: int, course: Course, xs: Sequence[float], seasons: Sequence[str], scale: tuple[float, float]
) -> Line:
    aside = (number - (of + 1) / 2) * _APART
    marks = []
    for x, season, place in zip(xs, seasons, course.places, strict=True):
        if place is None or not place.value:
            continue
        value = place.value
        known = value.get("low") is not None and value.get("high") is not None
        interval = f" ({value['low']:.3f} to {value['high']:.3f})" if known else ""
        marks.append(
            Mark(
                x=f"{x + aside:.1f}",
                y=_y(value["mean"], scale),
                low=_y(value["low"], scale) if known else "",
                high=_y(value["high"], scale) if known else "",
                words=f"{course.planner}, season {season}: {range_text(value)}{interval}",
            )
        )
    path = " ".join(f"{'L' if number else 'M'}{mark.x} {mark.y}" for number, mark in enumerate(marks))
    return Line(number, course, path, tuple(marks))


def _y(value: float, scale: tuple[float, float]) -> str:
    low, high = scale
    return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low):.1f}"


def _tenths_between(scale: tuple[float, float]) -> range:
    low, high = round(scale[0] * 10), round(scale[1] * 10)
    return range(low, high + 1, max(1, (high - low) // 5))
