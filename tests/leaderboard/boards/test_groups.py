"""Scores of the best planners by properties of the tasks, without a database."""

from evaluator.suites.facets import STRUCTURE, Facet
from leaderboard.boards.groups import Series, groups
from leaderboard.results.task_filters import TaskRow

ADA, BEA = Series(1, "gold", "ada", "e1"), Series(2, "other", "bea", "e2")
LEVEL = Facet(name="level", label="Level", attribute="level")
DEGRADATION = Facet(name="degradation", label="Degradation", attribute="degradations", words={"blur": "Out of focus"})


def make_task(pk: int, **facets: str) -> TaskRow:
    """A task; each facet is given by its values, separated by spaces."""
    found = {name: tuple(values.split()) for name, values in facets.items()}
    return TaskRow(key=str(pk), position=pk, text="", structure="", metric="", pk=pk, facets=found)


def test_means_are_over_the_scored_tasks_of_each_group():
    tasks = [make_task(pk, level="easy" if pk < 3 else "hard") for pk in (1, 2, 3, 4)]
    scores = {"e1": {1: 1.0, 2: 0.0, 3: 0.2}, "e2": {1: 0.5}}
    [plot] = groups(series=[ADA, BEA], tasks=tasks, facets=[LEVEL], scores=scores).plots
    assert [(one.label, one.tasks, one.values) for one in plot.rows] == [
        ("Easy", 2, ("0.500", "0.500")),
        ("Hard", 1, ("0.200", "—")),
    ]
    assert [len(one.marks) for one in plot.rows] == [2, 1]


def test_a_task_with_two_values_counts_in_both_groups():
    tasks = [make_task(1, degradation="low_light blur"), make_task(2, degradation="blur")]
    [plot] = groups(series=[ADA], tasks=tasks, facets=[DEGRADATION], scores={"e1": {1: 1.0, 2: 0.0}}).plots
    assert plot.key == "degradations", "the API names it by the attribute"
    assert {one.label: one.values for one in plot.rows} == {"Out of focus": ("0.500",), "Low light": ("1.000",)}


def test_one_group_alone_or_none_with_scores_is_no_plot():
    tasks = [make_task(1, level="easy", structure="linear"), make_task(2, structure="nonlinear")]
    assert groups(series=[ADA], tasks=tasks, facets=[LEVEL, STRUCTURE], scores={"e1": {1: 1.0}}).plots == ()
