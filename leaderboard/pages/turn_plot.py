"""Success by turn as coordinates for SVG. No database. The table beside it has the same figures."""

from typing import NamedTuple

from leaderboard.results.episodes import EpisodeLines

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 68, 16, 18, 52
_MOST_TICKS = 10


class Mark(NamedTuple):
    """A mark on an axis."""

    at: str
    text: str


class Dot(NamedTuple):
    """A turn at which episodes ended."""

    x: str
    y: str
    words: str


class TurnPlot(NamedTuple):
    """The plot: turns to the right, the mean score of the episodes that had ended by then upwards."""

    title: str
    description: str
    y_label: str
    x_marks: tuple[Mark, ...]
    y_marks: tuple[Mark, ...]
    line: str
    dots: tuple[Dot, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    middle: int = (LEFT + WIDTH - RIGHT) // 2
    center: int = (TOP + HEIGHT - BOTTOM) // 2
    """Of the axis upwards."""


def turn_plot(lines: EpisodeLines, *, is_share: bool) -> TurnPlot | None:
    """The plot; None where fewer than two turns would be drawn.

    Args:
        is_share: whether a task is either solved or not, so that its mean score is the share that is solved.
    """
    last = max((line.turn for line in lines.turns), default=0)
    if last < 1:
        return None
    placed = [(_x(line.turn, last=last), _y(line.until_now)) for line in lines.turns]
    subject = "Tasks solved" if is_share else "Mean score"
    final = lines.turns[-1].until_now
    return TurnPlot(
        title=f"{subject} by turn",
        description=f"{subject} by an episode that ended at this turn or before, as a share of all "
        f"{lines.tasks} tasks: at last {final:.3f}."
        if is_share
        else f"Mean score over all {lines.tasks} tasks, with 0 where the episode ended later: at last {final:.3f}.",
        y_label="Share of tasks solved" if is_share else "Mean score",
        x_marks=tuple(Mark(_number(_x(turn, last=last)), str(turn)) for turn in _ticks(last)),
        y_marks=tuple(Mark(_number(_y(share / 5)), f"{share / 5:.1f}") for share in range(6)),
        line=_steps(placed),
        dots=tuple(
            Dot(_number(x), _number(y), f"Turn {line.turn}: {line.until_now:.3f}, {line.ended} ended")
            for line, (x, y) in zip(lines.turns, placed, strict=True)
        ),
    )


def _x(turn: int, *, last: int) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * turn / last


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(max(value, 0.0), 1.0)


def _ticks(last: int) -> list[int]:
    step = next(step for step in (1, 2, 5, 10, 20) if last / step <= _MOST_TICKS)
    return list(range(0, last + 1, step))


def _steps(placed: list[tuple[float, float]]) -> str:
    path = f"M{LEFT} {_number(_y(0.0))}"
    return path + "".join(f"H{_number(x)}V{_number(y)}" for x, y in placed) + f"H{_number(WIDTH - RIGHT)}"


def _number(value: float) -> str:
    return f"{value:.1f}"
