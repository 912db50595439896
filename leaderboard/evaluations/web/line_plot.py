"""Line plots as coordinates for SVG (`components/line_plot.html`), and the plot of success by turn. A table beside each
plot has the same figures.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.scoring.metrics.statistics import Bounds
from leaderboard.evaluations.results.breakdowns import EpisodeLines

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 18, 18, 56


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    text: str


class Dot(NamedTuple):
    """A data point with its text for screen readers and tooltips."""

    x: str
    y: str
    words: str


class Whisker(NamedTuple):
    """The 95 % interval of a data point."""

    x: str
    low: str
    high: str


class LinePlot(NamedTuple):
    """A plot with a linear vertical axis."""

    key: str
    title: str
    description: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    line: str
    """Path through the values."""
    dots: tuple[Dot, ...]
    whiskers: tuple[Whisker, ...] = ()
    reference: str = ""
    """Path of the reference line; empty without one."""
    reference_words: str = ""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    middle: int = (LEFT + WIDTH - RIGHT) // 2
    center: int = (TOP + HEIGHT - BOTTOM) // 2
    """Middle of the y axis."""


def across(share: float) -> str:
    """The x coordinate of a share."""
    return f"{LEFT + (WIDTH - RIGHT - LEFT) * share:.1f}"


def up(share: float) -> str:
    """The y coordinate of a share, clamped to [0, 1]; y grows downwards."""
    return f"{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(max(share, 0.0), 1.0):.1f}"


_MOST_TICKS = 10


def turn_plot(lines: EpisodeLines, *, is_share: bool) -> LinePlot | None:
    """Plot the mean score of the episodes that ended by each turn; None if no episode has a second turn.

    Args:
        is_share: whether a task is either solved or not, so that the mean score is the share of solved tasks.
    """
    last = max((line.turn for line in lines.turns), default=0)
    if last < 2:
        return None
    placed = [(across(line.turn / last), up(line.until_now)) for line in lines.turns]
    subject = "Tasks solved" if is_share else "Mean score"
    final = lines.turns[-1].until_now
    step = next(step for step in (1, 2, 5, 10, 20) if last / step <= _MOST_TICKS)
    return LinePlot(
        key="turns",
        title=f"{subject} by turn",
        description=f"{subject} by an episode that ended at this turn or before, as a share of all "
        f"{lines.tasks} tasks: at last {final:.3f}."
        if is_share
        else f"Mean score over all {lines.tasks} tasks, with 0 where the episode ended later: at last {final:.3f}.",
        x_label="Turns of the episode",
        y_label="Share of tasks solved" if is_share else "Mean score",
        x_ticks=tuple(Tick(across(turn / last), str(turn)) for turn in range(0, last + 1, step)),
        y_ticks=tuple(Tick(up(share / 5), f"{share / 5:.1f}") for share in range(6)),
        line=f"M{LEFT} {up(0.0)}" + "".join(f"H{x}V{y}" for x, y in placed) + f"H{WIDTH - RIGHT}",
        dots=tuple(
            Dot(x, y, f"Turn {line.turn}: {line.until_now:.3f}, {line.ended} ended")
            for line, (x, y) in zip(lines.turns, placed, strict=True)
        ),
    )


class Point(NamedTuple):
    """A value in a sequence."""

    mean: float
    low: float | None
    """None, like `high`, without an interval."""
    high: float | None
    words: str


def sequence_plot(
    *,
    key: str,
    title: str,
    description: str,
    labels: tuple[str, str],
    points: Sequence[Point | None],
    scale: Bounds,
    first: int = 1,
) -> LinePlot:
    """Plot values in their order, at equal distances and numbered.

    Args:
        key: id of the picture on its page.
        title: of the picture.
        description: of the picture.
        labels: of the axes.
        points: at least one; None without a value, where the line is interrupted.
        scale: range of the vertical axis; without an upper end, up to the largest value.
        first: number of the first value.
    """
    bottom, top = scale
    if top is None:
        ends = [point.mean if point.high is None else point.high for point in points if point is not None]
        top = max([*ends, bottom + 1.0])

    def height(value: float) -> str:
        return up((value - bottom) / (top - bottom))

    places = [across((number + 0.5) / len(points)) for number in range(len(points))]
    known = [(x, point) for x, point in zip(places, points, strict=True) if point is not None]
    pen, path = "M", ""
    for x, point in zip(places, points, strict=True):
        path += "" if point is None else f"{pen}{x} {height(point.mean)}"
        pen = "M" if point is None else "L"
    step = next(step for step in (1, 2, 5, 10, 20, 50) if len(points) / step <= _MOST_TICKS + 2)
    return LinePlot(
        key=key,
        title=title,
        description=description,
        x_label=labels[0],
        y_label=labels[1],
        x_ticks=tuple(Tick(places[number], str(first + number)) for number in range(0, len(points), step)),
        y_ticks=tuple(Tick(up(share / 5), f"{bottom + (top - bottom) * share / 5:.3g}") for share in range(6)),
        line=path,
        dots=tuple(Dot(x, height(point.mean), point.words) for x, point in known),
        whiskers=tuple(
            Whisker(x, height(point.low), height(point.high))
            for x, point in known
            if point.low is not None and point.high is not None
        ),
    )
