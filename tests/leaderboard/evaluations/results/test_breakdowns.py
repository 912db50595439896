"""Scores and indicators by kind of task, and the lines of episodes, without a database."""

import pytest

from evaluator.controlllm.toolbench.suite import COLUMNS
from evaluator.controlllm.toolbench.suite import FACETS as TOOLBENCH
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.transcripts import EpisodeEnd, EpisodeSummary, ProblemCount, StopReason
from evaluator.openagi.suite import FACETS as OPENAGI
from leaderboard.evaluations.results.breakdowns import MOST_TURNS, episode_lines, score_breakdowns, share_breakdowns
from leaderboard.evaluations.results.figures import marks
from leaderboard.evaluations.results.task_rows import TaskRow, index, select
from leaderboard.evaluations.web.line_plot import turn_plot

GOOD = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 1.0, "CR": 0.0}


def make_row(score: float | None = None, *, outcome: str = "scored", indicators=None, **facets: str) -> TaskRow:
    """A task; each facet is given by its values, separated by spaces."""
    return TaskRow(
        key="0", position=0, text="", structure="linear", metric="ViT", score=score, outcome=outcome,
        marks=marks(COLUMNS, outcome=outcome, indicators=indicators) if indicators else (),
        facets={name: tuple(values.split()) for name, values in facets.items()},
    )  # fmt: skip


def test_a_task_counts_in_each_of_its_groups_and_a_planners_fault_as_0():
    rows = [
        make_row(0.8, base="restoration", degradation="noise blur", steps="2"),
        make_row(0.0, outcome="planner_fault", base="restoration", degradation="noise", steps="10"),
        make_row(None, outcome="not_run", base="restoration", degradation="blur", steps="2"),
    ]
    found = {part.facet: {row.value: row for row in part.rows} for part in score_breakdowns(rows=rows, suite=OPENAGI)}
    assert set(found) == {"degradation", "steps"}, "what all tasks share is left out"
    noise, blur = found["degradation"]["noise"], found["degradation"]["blur"]
    assert (noise.interval.mean, noise.interval.count, noise.faults) == (pytest.approx(0.4), 2, 1)
    assert (blur.interval.mean, blur.interval.count, blur.faults) == (pytest.approx(0.8), 1, 0)
    assert list(found["steps"]) == ["2", "10"], "by number, not by letter"
    assert found["steps"]["2"].words == "2 steps"
    for nothing in ([], [make_row(None, outcome="infra_fault")]):
        assert score_breakdowns(rows=nothing, suite=OPENAGI) == ()


def test_tables_come_in_the_order_that_the_suite_declares():
    colour = Facet(name="colour", label="Colour", attribute="colour", heading="By colour", words={"r": "Red"})
    suite = Facets(filters=(STRUCTURE, colour, MODALITY), breakdowns=("modality", "colour"))
    rows = [
        make_row(0.5, structure="linear", modality="image→text", colour="r"),
        make_row(0.7, structure="nonlinear", modality="image→image", colour="dark_blue"),
    ]
    modality, by_colour = score_breakdowns(rows=rows, suite=suite)
    assert [row.words for row in modality.rows] == ["image→text", "image→image"]
    assert (by_colour.label, [row.words for row in by_colour.rows]) == ("By colour", ["Red", "Dark blue"])


def test_shares_come_in_the_order_of_their_facet_with_wilsons_interval():
    pairs = [make_row(indicators=values, level="easy") for values in (GOOD, WORST)] * 5
    rows = [make_row(indicators=WORST, level="hard"), *pairs, make_row(indicators=GOOD), make_row(level="easy")]
    (found,) = share_breakdowns(rows=rows, suite=TOOLBENCH)
    assert (found.facet, found.label) == ("level", "Difficulty")
    assert [(row.value, row.count) for row in found.rows] == [("easy", 10), ("hard", 1)]
    solved = found.rows[0].shares[0]
    # Wilson's interval of 5 of 10, computed by hand: 0.5 -+ 0.26341.
    assert (solved.name, solved.interval.mean) == ("SE", 0.5)
    assert solved.interval.ends == pytest.approx((0.2366, 0.7634), abs=5e-4)
    assert found.rows[1].shares[0].bar == pytest.approx(
        {"mean": 0.0, "low": 0.0, "high": 0.79345, "tasks": 1}, abs=1e-5
    )
    rows = [make_row(indicators=GOOD, level="easy", structure="linear", active="yes")]
    assert [part.facet for part in share_breakdowns(rows=rows, suite=TOOLBENCH)] == ["level"], "which stands alone"


def test_groups_and_shares_have_names_for_people():
    kind = Facet(name="kind", label="Kind", words={"r": "Red"})
    names = Facet(name="helper", label="Helper", verbatim=True)
    suite = Facets(filters=(kind, names), breakdowns=("kind", "helper"))
    rows = [
        make_row(indicators=GOOD, kind="r", helper="get_objects"),
        make_row(indicators=GOOD, kind="dark_blue", helper="crop_grid"),
    ]
    by_kind, by_helper = share_breakdowns(rows=rows, suite=suite)
    assert [row.words for row in by_kind.rows] == ["Dark blue", "Red"]
    assert [row.words for row in by_helper.rows] == ["crop_grid", "get_objects"]
    assert by_kind.rows[0].shares[0].label == next(column.label for column in COLUMNS if column.key == "SE")


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
