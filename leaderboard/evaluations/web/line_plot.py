"""Lines with dots as coordinates for SVG (`components/line_plot.html`), and success by turn as one. No database. A
table beside each has the same figures.
"""

from typing import NamedTuple

from leaderboard.evaluations.results.breakdowns import EpisodeLines

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 18, 18, 56


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    text: str


class Dot(NamedTuple):
    """A mark of a value, with its words for screen readers and tooltips."""

    x: str
    y: str
    words: str


class LinePlot(NamedTuple):
    """Shares to the right and upwards, from 0 to 1."""

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
    reference: str = ""
    """Path that the values are read against; empty: none."""
    reference_words: str = ""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    middle: int = (LEFT + WIDTH - RIGHT) // 2
    center: int = (TOP + HEIGHT - BOTTOM) // 2
    """Of the axis upwards."""


def across(share: float) -> str:
    """The place of a share of the width."""
    return f"{LEFT + (WIDTH - RIGHT - LEFT) * share:.1f}"


def up(share: float) -> str:
    """The place of a share of the height; y grows downwards. What is outside of [0, 1] is at its end."""
    return f"{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(max(share, 0.0), 1.0):.1f}"


_MOST_TICKS = 10


def turn_plot(lines: EpisodeLines, *, is_share: bool) -> LinePlot | None:
    """Turns to the right, the mean score of the episodes that had ended by then upwards; None where no episode
    has a second turn: one point is no line.

    Args:
        is_share: whether a task is either solved or not, so that its mean score is the share that is solved.
    """
    last = max((line.turn for line in lines.turns), default=0)
    if last < 2:
        return None
    placed = [(across(line.turn / last), up(line.until_now)) for line in lines.turns]
    subject = "Tasks solved" if is_share else "Mean score"
    final = lines.turns[-1].until_now
    return LinePlot(
        key="turns",
        title=f"{subject} by turn",
        description=f"{subject} by an episode that ended at this turn or before, as a share of all "
        f"{lines.tasks} tasks: at last {final:.3f}."
        if is_share
        else f"Mean score over all {lines.tasks} tasks, with 0 where the episode ended later: at last {final:.3f}.",
        x_label="Turns of the episode",
        y_label="Share of tasks solved" if is_share else "Mean score",
        x_ticks=tuple(Tick(across(turn / last), str(turn)) for turn in _ticks(last)),
        y_ticks=tuple(Tick(up(share / 5), f"{share / 5:.1f}") for share in range(6)),
        line=_steps(placed),
        dots=tuple(
            Dot(x, y, f"Turn {line.turn}: {line.until_now:.3f}, {line.ended} ended")
            for line, (x, y) in zip(lines.turns, placed, strict=True)
        ),
    )


def _ticks(last: int) -> list[int]:
    step = next(step for step in (1, 2, 5, 10, 20) if last / step <= _MOST_TICKS)
    return list(range(0, last + 1, step))


def _steps(placed: list[tuple[str, str]]) -> str:
    path = f"M{LEFT} {up(0.0)}"
    return path + "".join(f"H{x}V{y}" for x, y in placed) + f"H{WIDTH - RIGHT}"
