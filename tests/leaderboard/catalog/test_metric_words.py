"""Metrics in words follow from the columns that suites declare."""

import pytest

from evaluator.core.suites.base import Column, IntervalMethod
from leaderboard.catalog.metric_words import words_of_metric

SHARE = Column(key="IR", label="IR", description="Irrelevant calls.", higher_is_better=False, fault=1.0,
               interval=IntervalMethod.WILSON)  # fmt: skip


def test_the_tooltip_says_direction_range_tasks_and_faults():
    assert words_of_metric(SHARE).tooltip == (
        "Irrelevant calls. Lower is better. A share from 0 (no task) to 1 (all tasks). Over all tasks of the board. "
        "A fault of the planner counts 1."
    )


@pytest.mark.parametrize(
    ("column", "part", "words"),
    [
        (Column(key="a", label="A", description="", metric="ViT"), "source", "Over the tasks of the metric ViT only."),
        (Column(key="a", label="A", description="", tasks=("t",)), "source", "Over 1 task only."),
        (
            Column(key="a", label="A", description="", weights={"BERT": 0.75, "ViT": 0.25}),
            "source",
            "Weighted mean of metrics: 0.75 BERT, 0.25 ViT.",
        ),
        (Column(key="a", label="A", description="", high=None), "scale", "A number of 0 or more."),
        (Column(key="a", label="A", description=""), "scale", "A score from 0 to 1."),
        (
            Column(key="a", label="A", description="", ordered=False),
            "direction",
            "Neither high nor low values are better.",
        ),
        (Column(key="a", label="A", description="", fault=None), "fault", "Faults of the planner do not count."),
        (Column(key="a", label="A", description="", ordered=False), "fault", ""),
    ],
)
def test_each_part_is_a_sentence(column: Column, part: str, words: str):
    assert getattr(words_of_metric(column), part) == words
