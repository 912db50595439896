"""Levels come from the file, else from the smallest sufficient plan."""

from dataclasses import replace
from itertools import combinations

import pytest

from evaluator.suites.toolbench.levels import (
    MOST_CALLS_OF_EASY,
    MOST_CALLS_OF_MEDIUM,
    level_of,
    level_of_plan,
)
from evaluator.suites.toolbench.released.files import read_tool100
from evaluator.suites.toolbench.released.raw import RawTask
from evaluator.suites.toolbench.tasks import tool_task

RAW = RawTask(key="0", group="QA", instruction="Why?", output=None, level=None)


@pytest.mark.parametrize(
    ("calls", "level"), [(1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (5, "hard"), (40, "hard")]
)
def test_more_calls_are_harder(calls, level):
    assert level_of_plan(calls) == level


def test_the_file_has_the_first_word():
    assert level_of(raw=replace(RAW, level="medium"), calls=9) == "medium"
    assert level_of(raw=RAW, calls=9) == "hard"
    assert level_of(raw=RAW, calls=None) is None


def agreement(calls_and_levels, *, easy, medium):
    """How many requests thresholds put where the file puts them."""
    levels = ["easy" if calls <= easy else "medium" if calls <= medium else "hard" for calls, _ in calls_and_levels]
    return sum(level == given for level, (_, given) in zip(levels, calls_and_levels, strict=True))


def test_no_thresholds_agree_better_with_the_levels_of_tool100(controlllm_folder):
    requests = read_tool100(controlllm_folder / "tool100.json")
    found = [(len(tool_task(raw).gold.steps), raw.level) for raw in requests]
    ours = agreement(found, easy=MOST_CALLS_OF_EASY, medium=MOST_CALLS_OF_MEDIUM)
    assert ours == max(agreement(found, easy=easy, medium=medium) for easy, medium in combinations(range(1, 12), 2))
    assert ours / len(found) >= 0.88
