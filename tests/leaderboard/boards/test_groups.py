"""Scores of the best planners by properties of the tasks, without a database."""

from evaluator.core.suites.facets import STRUCTURE, Facet
from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards.drawing.picture import Line, Link
from leaderboard.boards.groups import Series, groups
from leaderboard.evaluations.results.task_rows import TaskRow

FIRST, SECOND = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
ADA, BEA = Series(1, "gold", "ada", FIRST), Series(2, "other", "bea", SECOND)
LEVEL = Facet(name="level", label="Level", attribute="level")
DEGRADATION = Facet(name="degradation", label="Degradation", attribute="degradations", words={"blur": "Out of focus"})


def make_task(pk: int, **facets: str) -> TaskRow:
    """A task; each facet is given by its values, separated by spaces."""
    found = {name: tuple(values.split()) for name, values in facets.items()}
    return TaskRow(key=str(pk), position=pk, text="", structure="", metric="", pk=pk, facets=found)


def test_means_are_over_the_scored_tasks_of_each_group():
    tasks = [make_task(pk, level="easy" if pk < 3 else "hard") for pk in (1, 2, 3, 4)]
    scores = {FIRST: {1: 1.0, 2: 0.0, 3: 0.2}, SECOND: {1: 0.5}}
    [plot] = groups(series=[ADA, BEA], tasks=tasks, facets=[LEVEL], scores=scores).plots
    assert [(one.label, one.tasks, one.values) for one in plot.rows] == [
        ("Easy", 2, ("0.500", "0.500")),
        ("Hard", 1, ("0.200", "—")),
    ]
    assert [one.means for one in plot.rows] == [(0.5, 0.5), (0.2, None)]
    assert sum(isinstance(item, Link) for item in plot.picture.items) == 3


def test_a_task_with_two_values_counts_in_both_groups():
    tasks = [make_task(1, degradation="low_light blur"), make_task(2, degradation="blur")]
    [plot] = groups(series=[ADA], tasks=tasks, facets=[DEGRADATION], scores={FIRST: {1: 1.0, 2: 0.0}}).plots
    assert plot.key == "degradations", "the API names it by the attribute"
    assert {one.label: one.values for one in plot.rows} == {"Out of focus": ("0.500",), "Low light": ("1.000",)}
    # One group alone, or none with scores, is no plot.
    tasks = [make_task(1, level="easy", structure="linear"), make_task(2, structure="nonlinear")]
    assert groups(series=[ADA], tasks=tasks, facets=[LEVEL, STRUCTURE], scores={FIRST: {1: 1.0}}).plots == ()


def test_intervals_are_drawn_and_written_and_marks_lead_to_the_tasks():
    tasks = [make_task(pk, level="easy" if pk < 3 else "hard") for pk in (1, 2, 3, 4)]
    scores = {FIRST: {1: 1.0, 2: 0.0, 3: 0.2, 4: 0.4}}
    [plot] = groups(
        series=[ADA],
        tasks=tasks,
        facets=[LEVEL],
        scores=scores,
        intervals=lambda _, members: Interval(0.0, 0.1, 0.9, len(members)) if 1 in members else None,
    ).plots
    assert [one.values for one in plot.rows] == [("0.500 (0.100 to 0.900)",), ("0.300",)]
    [whisker] = [item for item in plot.picture.items if isinstance(item, Line) and item.role == "whisker-1"]
    assert whisker.points[0][1] == whisker.points[1][1]
    addresses = [item.address for item in plot.picture.items if isinstance(item, Link)]
    assert addresses == [f"/evaluations/{FIRST}/?level={value}#results" for value in ("easy", "hard")]
