"""Levels come from the file, else from the smallest sufficient plan."""

from dataclasses import replace

import pytest

from evaluator.suites.toolbench.levels import level_of, level_of_plan
from evaluator.suites.toolbench.raw import RawTask

RAW = RawTask(key="0", group="QA", instruction="Why?", output=None, level=None)


@pytest.mark.parametrize(
    ("calls", "level"), [(1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (5, "hard"), (40, "hard")]
)
def test_more_calls_are_harder(calls, level):
    assert level_of_plan(calls) == level


def test_nothing_is_solved_by_no_call():
    with pytest.raises(ValueError, match="at least one call, not 0"):
        level_of_plan(0)


def test_the_file_has_the_first_word():
    assert level_of(raw=replace(RAW, level="medium"), calls=9) == "medium"
    assert level_of(raw=RAW, calls=9) == "hard"
    assert level_of(raw=RAW, calls=None) is None
