"""Scores of the best planners by properties of the tasks, without a database."""

import pytest

from leaderboard.boards.groups import GroupTask, Series, group_task, groups

ADA, BEA = Series(1, "gold", "ada", "e1"), Series(2, "other", "bea", "e2")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {"base": "image_classification", "degradations": ["noise", "low_resolution"], "language": "de"},
            {"base": ["Image classification"], "degradations": ["Noise", "Low resolution"], "language": ["German"]},
        ),
        ({"base": "vqa", "degradations": [], "language": None}, {"base": ["VQA"]}),
        ({"group": "image_QA,count_object", "level": "hard"}, {"group": ["Several domains"], "level": ["Hard"]}),
    ],
)
def test_a_task_is_in_the_groups_that_its_suite_knows(attributes, expected):
    assert group_task(1, "linear", attributes).groups == {"structure": ["Linear"], **expected}


def test_means_are_over_the_scored_tasks_of_each_group():
    tasks = [
        GroupTask(1, {"level": ["easy"]}),
        GroupTask(2, {"level": ["easy"]}),
        GroupTask(3, {"level": ["hard"]}),
        GroupTask(4, {"level": ["hard"]}),
    ]
    found = groups(series=[ADA, BEA], tasks=tasks, scores={"e1": {1: 1.0, 2: 0.0, 3: 0.2}, "e2": {1: 0.5}})
    [plot] = found.plots
    assert [(one.label, one.tasks, one.values) for one in plot.rows] == [
        ("easy", 2, ("0.500", "0.500")),
        ("hard", 1, ("0.200", "—")),
    ]
    assert [len(one.marks) for one in plot.rows] == [2, 1]


def test_a_task_with_two_degradations_counts_in_both():
    tasks = [GroupTask(1, {"degradations": ["Noise", "Blur"]}), GroupTask(2, {"degradations": ["Blur"]})]
    [plot] = groups(series=[ADA], tasks=tasks, scores={"e1": {1: 1.0, 2: 0.0}}).plots
    assert {one.label: one.values for one in plot.rows} == {"Blur": ("0.500",), "Noise": ("1.000",)}


def test_one_group_alone_or_none_with_scores_is_no_plot():
    tasks = [GroupTask(1, {"level": ["easy"], "structure": ["Linear"]}), GroupTask(2, {"structure": ["Nonlinear"]})]
    assert groups(series=[ADA], tasks=tasks, scores={"e1": {1: 1.0}}).plots == ()
