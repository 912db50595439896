"""Ranges of means over tasks some of which are undecided."""

import pytest

from evaluator.metrics.aggregate import TaskScore, summarise_columns
from evaluator.metrics.undecided import range_text, ranged, undecided_words
from evaluator.records import Outcome
from evaluator.suites.base import Column, companions, shown_columns
from leaderboard.boards.courses import courses, drawing

SE = Column(key="SE", label="SE", description="", indicator=True, undecided="open", by_rules=("low", "high"))
PARTS = [Column(key=key, label=key, description="", indicator=True, ordered=False) for key in ("open", "low", "high")]
OTHER = Column(key="IR", label="IR", description="", indicator=True)


def metrics(**means: float | None) -> dict[str, dict[str, float | None] | None]:
    return {key: {"mean": mean, "low": 0.1, "high": 0.9, "tasks": 10} for key, mean in means.items()}


@pytest.mark.parametrize(
    ("means", "text", "words"),
    [
        ({"SE": 0.81}, "0.810", ""),
        ({"SE": 0.81, "open": 0.0, "low": 0.81, "high": 0.81}, "0.810", ""),
        ({"SE": 0.81, "open": 0.05, "low": 0.81, "high": 0.86}, "0.810 - 0.860", "5.0 % undecided"),
        ({"SE": 0.83, "open": 0.0, "low": 0.81, "high": 0.86}, "0.830", "0.810 - 0.860 by the rules alone"),
        (
            {"SE": 0.83, "open": 0.02, "low": 0.81, "high": 0.86},
            "0.830 - 0.850",
            "2.0 % undecided, 0.810 - 0.860 by the rules alone",
        ),
    ],
)
def test_a_range_reaches_from_the_mean_over_the_undecided_share(means, text, words):
    value = ranged(metrics=metrics(**means), column=SE)
    assert value is not None
    assert range_text(value).replace("\N{EN DASH}", "-") == text
    assert undecided_words(value).replace("\N{EN DASH}", "-") == words


@pytest.mark.parametrize("found", [{}, {"SE": None}, metrics(SE=None)])
def test_nothing_measured_has_no_range(found):
    assert ranged(metrics=found, column=SE) is None


def test_columns_that_widen_another_one_are_no_columns_of_their_own():
    assert companions([SE, *PARTS, OTHER]) == {"open", "low", "high"}
    assert shown_columns([SE, *PARTS, OTHER]) == (SE, OTHER)
    assert Column.from_json(SE.to_json()) == SE


def test_a_column_that_was_registered_before_has_no_range():
    before = {name: value for name, value in OTHER.to_json().items() if name not in {"undecided", "by_rules"}}
    assert Column.from_json(before) == OTHER


def test_a_missing_plan_is_decided():
    results = [
        TaskScore(task="1", metric="SE", outcome=Outcome.SCORED, score=0.0, indicators={"SE": 0.0, "open": 1.0}),
        TaskScore(task="2", metric="SE", outcome=Outcome.PLANNER_FAULT, score=0.0),
    ]
    found = summarise_columns(columns=[SE, PARTS[0]], results=results)
    value = ranged(metrics=found["metrics"], column=SE)
    assert value is not None
    assert (value["mean"], value["upper"], value["undecided"]) == (0.0, 0.5, 0.5)


def test_the_course_over_seasons_has_room_for_the_range():
    row = {"owner": "ada", "planner": "p", "evaluation": "e", "rank": 1, "metrics": metrics(SE=0.3, open=0.68)}
    found = courses(boards=[[row], [row]], metric=SE)
    drawn = drawing(found=found, seasons=["one", "two"])
    assert drawn is not None
    assert drawn.ticks[-1][1] == "1.0"
    assert "0.300 \N{EN DASH} 0.980" in drawn.lines[0].marks[0].words
