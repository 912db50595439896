"""What the picture of an evaluation says."""

from leaderboard.boards.web.previews import Line, Preview, line_of
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.web.sharing.citing import rank_words
from leaderboard.evaluations.web.sharing.placing import Place


def evaluation_preview(*, evaluation: Evaluation, place: Place | None) -> Preview:
    """Planner, suite, score with its interval, rank and tasks."""
    planner, suite = evaluation.submission.planner, evaluation.suite
    column = suite.ranking_column
    lines = []
    if evaluation.summary:
        lines.append(line_of(row=evaluation.summary, suite=suite, label=column.label))
        outcomes = evaluation.summary.get("outcomes") or {}
        lines.append(Line("Tasks scored", f"{outcomes.get('scored', 0)} of {evaluation.tasks_total}"))
    else:
        lines.append(Line("State", evaluation.get_state_display()))
    if place:
        lines.append(Line("Rank", rank_words(place).removeprefix("rank ")))
    finished = f"{evaluation.finished:%Y-%m-%d} \N{MIDDLE DOT} " if evaluation.finished else ""
    footer = f"{finished}{evaluation.profile} \N{MIDDLE DOT} split {evaluation.split}"
    subtitle = f"by {planner.owner.username} on {suite.title}"
    return Preview(planner.name, subtitle, tuple(lines), footer)
