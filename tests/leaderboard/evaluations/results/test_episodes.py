"""How the episodes of an evaluation went, without a database."""

import pytest

from evaluator.core.suites.facets import Facets
from evaluator.core.transcripts import EpisodeEnd, EpisodeSummary, ProblemCount, StopReason
from leaderboard.evaluations.results.breakdowns import MOST_TURNS, episode_lines
from leaderboard.evaluations.results.task_rows import TaskRow, index, select
from leaderboard.evaluations.web.line_plot import turn_plot

SOLVED, LIMIT = StopReason.STOPPED, StopReason.TURN_LIMIT


def row(key: str, *ends: tuple[StopReason, int, float | None], outcome: str = "scored", **problems: int) -> TaskRow:
    found = EpisodeSummary(
        ends=[EpisodeEnd(stop=stop, turns=turns, score=score) for stop, turns, score in ends],
        problems=[ProblemCount(tool="Add", problem=name, count=count) for name, count in problems.items()],
    )
    return TaskRow(
        key=key, position=int(key), text="", structure="", metric="", outcome=outcome, episodes=found if ends else None
    )


def test_success_counts_up_turn_by_turn_over_all_tasks():
    rows = [
        row("0", (SOLVED, 1, 1.0)),
        row("1", (SOLVED, 3, 1.0)),
        row("2", (LIMIT, 3, 0.0)),
        row("3", (StopReason.CALL_FAILED, 0, None), outcome="planner_fault"),
        row("4", (StopReason.CALL_FAILED, 1, None), outcome="infra_fault"),
        row("5", outcome="not_run"),
    ]
    found = episode_lines(rows)
    assert [(line.turn, line.ended, line.gained, line.until_now) for line in found.turns] == [
        (0, 1, 0.0, 0.0), (1, 1, 1.0, 0.25), (3, 2, 1.0, 0.5),
    ]  # fmt: skip
    assert (found.tasks, found.unknown) == (4, 0)
    assert [(line.stop, line.episodes, line.tasks, line.gained) for line in found.stops] == [
        ("stopped", 2, 2, 2.0), ("call_failed", 2, 2, 0.0), ("turn_limit", 1, 1, 0.0),
    ]  # fmt: skip


def test_the_episodes_of_one_task_share_its_weight_and_late_turns_a_line():
    found = episode_lines([row("0", (SOLVED, 1, 1.0), (SOLVED, 2, 0.5)), row("1", outcome="scored")])
    assert [line.until_now for line in found.turns] == [pytest.approx(0.25), pytest.approx(0.375)]
    assert found.unknown == 1, "results without episodes still count as tasks"
    found = episode_lines([row(str(turns), (SOLVED, turns, 1.0)) for turns in (1, MOST_TURNS + 1, 9_999_999)])
    assert [(line.turn, line.is_rest, line.ended) for line in found.turns] == [(1, False, 1), (MOST_TURNS + 1, True, 2)]
    assert episode_lines([row("0")]) is episode_lines([]) is None


def test_tasks_are_filtered_by_stop_reason_and_by_error():
    rows = [
        row("0", (SOLVED, 1, 1.0)),
        row("1", (LIMIT, 3, 0.0), bad_arguments=2),
        row("2", (LIMIT, 3, 0.0), too_much=1),
    ]
    tasks = index(rows=rows, suite=Facets(filters=()))

    def keys(**parameters: str) -> list[str]:
        return [one.key for one in select(tasks=tasks, parameters=parameters).rows]

    assert keys(stop="turn_limit") == ["1", "2"]
    assert keys(problem="too_much") == ["2"]
    assert keys(tool_problem="Add: bad arguments") == ["1"]
    assert keys(stop="turn_limit", problem="unknown_tool") == []
    filters = {one.name: one for one in select(tasks=tasks, parameters={}).filters}
    assert [(choice.words, choice.count) for choice in filters["stop"].choices] == [("Stopped", 1), ("Turn limit", 2)]
    assert "tool_problem" not in filters


def test_the_plot_has_its_points_where_the_table_has_lines():
    lines = episode_lines([row("0", (SOLVED, 1, 1.0)), row("1", (LIMIT, 4, 0.0))])
    plot = turn_plot(lines, is_share=True)
    assert [dot.words for dot in plot.dots] == ["Turn 1: 0.500, 1 ended", "Turn 4: 0.500, 1 ended"]
    assert [tick.text for tick in plot.x_ticks] == ["0", "1", "2", "3", "4"]
    assert float(plot.dots[0].x) == pytest.approx(plot.left + (plot.right - plot.left) / 4, abs=0.1)
    assert plot.line.startswith(f"M{plot.left} {plot.bottom}")
    for end in ((StopReason.CALL_FAILED, 0, None), (SOLVED, 1, 1.0)):
        assert turn_plot(episode_lines([row("0", end)]), is_share=True) is None, "without a second turn"
