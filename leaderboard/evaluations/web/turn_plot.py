"""Success by turn as a line."""

from leaderboard.evaluations.results.episodes import EpisodeLines
from leaderboard.evaluations.web.line_plot import LEFT, RIGHT, WIDTH, Dot, LinePlot, Tick, across, up

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
