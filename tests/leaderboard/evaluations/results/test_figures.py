"""Indicators, badges and usage of results, without a database."""

from evaluator.controlllm.toolbench.suite import COLUMNS
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Column, IntervalMethod
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.figures import badge_of, good_marks, marks, tokens_in_words
from leaderboard.evaluations.results.records import usage_fields
from leaderboard.evaluations.results.results import usage_of

GOOD = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 1.0, "CR": 0.0}


def of(values: dict[str, float]):
    return marks(COLUMNS, outcome="scored", indicators=values)


def test_a_planner_fault_counts_as_the_worst_and_what_was_not_measured_not_at_all():
    for outcome, indicators, counted in (
        ("scored", {**GOOD, "valid": 1.0}, of(GOOD)),
        ("planner_fault", {}, of(WORST)),
        ("infra_fault", GOOD, ()),
        ("not_run", {}, ()),
        ("", {}, ()),
    ):
        assert marks(COLUMNS, outcome=outcome, indicators=indicators) == counted, outcome


def test_marks_tell_good_from_bad_whatever_the_direction():
    assert all(mark.good for mark in of(GOOD))
    assert not any(mark.good for mark in of(WORST))
    assert [f"{mark.name} {mark.value}" for mark in of(WORST)] == ["SE 0", "IR 1", "NR 0", "HR 1", "CR 0"]
    assert (good_marks(of(GOOD)), good_marks(of(WORST)), good_marks(())) == (5, 0, None)


def test_a_suite_has_the_marks_that_its_columns_have_words_for():
    words = {"interval": IntervalMethod.WILSON, "good": "yes", "bad": "no"}
    solved = Column(key="solved", label="Solved", description="", indicator=True, **words)
    graded = Column(key="f1", label="F1", description="", indicator=True)
    (mark,) = marks([solved, graded], outcome="scored", indicators={"solved": 1.0, "f1": 0.5})
    assert (mark.title, mark.words, mark.good) == ("Solved", "yes", True)


def test_a_scored_task_without_steps_has_a_badge_of_its_own():
    for outcome in ("planner_fault", "infra_fault", "not_run", "cancelled", "pending"):
        assert badge_of(outcome=outcome, plan_summary="") == outcome
    assert badge_of(outcome="scored", plan_summary="") == "empty_plan"
    assert badge_of(outcome="scored", plan_summary="Colorization") == "scored"


def test_mean_usage_is_over_the_tasks_that_report_it():
    calls = PlannerCall(seconds=1.0, prompt_tokens=10, completion_tokens=2), PlannerCall(seconds=3.0), None
    assert usage_of([TaskResult(**usage_fields(call)) for call in calls]) == {
        "seconds": {"mean": 2.0, "tasks": 2},
        "prompt_tokens": {"mean": 10.0, "tasks": 1},
        "completion_tokens": {"mean": 2.0, "tasks": 1},
    }
    assert usage_of([]) == usage_of([TaskResult()]) == {}


def test_tokens_are_in_words_as_far_as_they_are_reported():
    for usage, words in (
        ({}, ""),
        ({"prompt_tokens": 1200.4, "completion_tokens": 34}, "1,200 in, 34 out"),
        ({"prompt_tokens": 0, "completion_tokens": None, "reasoning_tokens": 5}, "0 in"),
        (
            {"prompt_tokens": 1200, "cached_tokens": 900, "completion_tokens": 34, "reasoning_tokens": 20},
            "1,200 in (900 cached), 34 out (20 reasoning)",
        ),
    ):
        assert tokens_in_words(usage) == words
