"""Scores of a file of plans, over a whole suite."""

import time

import pytest

from evaluator.plan_lines import PlanLine
from evaluator.plans import plan_to_json
from evaluator.suites import suite_of
from evaluator.suites.toolbench.plan_scores import score_lines

MINI = suite_of("toolmini")


def test_positions_name_the_same_task_whether_or_not_defective_entries_are_left_out(suites):
    suite = suites.get("tool100", MINI)
    lines = [PlanLine(n, str(n), (plan_to_json(task.gold),), {}) for n, task in enumerate(suite.tasks)]
    report = score_lines(suite=suite, lines=lines, active_only=True)
    assert report.summary["metrics"]["SE"]["mean"] == 1.0
    assert len(report.rows) == sum(task.active for task in suite.tasks)


def test_tasks_without_a_plan_count_as_the_worst_there_is():
    task = MINI.tasks[0]
    line = PlanLine(number=1, task=task.key, plans=(plan_to_json(task.gold),), rest={"note": "kept"})
    report = score_lines(suite=MINI, lines=[line])
    metrics = report.summary["metrics"]
    assert metrics["SE"]["mean"] == pytest.approx(1 / 120)
    assert metrics["IR"]["mean"] == pytest.approx(119 / 120)
    assert len(report.missing) == 119


def test_the_best_of_five_candidates_is_a_separate_column():
    task = MINI.tasks[0]
    line = PlanLine(number=1, task=task.key, plans=({"steps": [], "answers": []}, plan_to_json(task.gold)), rest={})
    (row,) = score_lines(suite=MINI, lines=[line]).rows
    assert (row.indicators["SE"], row.indicators["SE_best"]) == (0.0, 1.0)


def test_scoring_2500_plans_is_fast_enough_to_do_it_often(suites):
    """The bound for one idle core is 1.5 s; the test allows for a busy machine."""
    suite = suites.get("tool2k", MINI)
    tasks = [task for task in suite.tasks if task.gold is not None]
    lines = [PlanLine(n, t.key, (plan_to_json(t.gold),), {}) for n, t in enumerate((tasks * 25)[:2500])]
    started = time.process_time()
    score_lines(suite=suite, lines=lines)
    assert time.process_time() - started < 4.5
