"""Scores of a file of plans, over a whole suite."""

import json

import pytest

from evaluator.controlllm.commands import score_plans
from evaluator.controlllm.toolbench.plan_scores import score_given
from evaluator.core.plans.model import plan_to_json
from evaluator.core.plans_file import GivenPlan
from evaluator.core.suites.registry import suite_of
from tests.evaluator.scoring.arbiters.arbiter_server import MODEL, serving
from tests.leaderboard.planning import make_questions_undecided

MINI = suite_of("toolmini")


def given(tasks):
    return {task.key: GivenPlan(plan_to_json(task.gold)) for task in tasks}


def test_defective_entries_that_excuse_a_planner_can_be_left_out(suites):
    suite = suites.get("tool100", MINI)
    report = score_given(suite=suite, plans=given(suite.tasks), active_only=True)
    assert report.summary["metrics"]["SE"]["mean"] == 1.0
    assert len(report.rows) == sum(task.active for task in suite.tasks)


def test_tasks_without_a_plan_count_as_the_worst_there_is():
    task = MINI.tasks[0]
    report = score_given(suite=MINI, plans=given([task]))
    metrics = report.summary["metrics"]
    assert metrics["SE"]["mean"] == pytest.approx(1 / 120)
    assert metrics["IR"]["mean"] == pytest.approx(119 / 120)
    assert len(report.missing) == 119


def test_the_best_of_five_candidates_is_a_separate_column():
    task = MINI.tasks[0]
    call = {"id": "s1", "tool": "text_to_image", "inputs": {"text": "a dog"}, "outputs": {"image": "s1.image"}}
    plans = {task.key: GivenPlan({"steps": [call], "answers": ["s1.image"]}, (plan_to_json(task.gold),))}
    (row,) = score_given(suite=MINI, plans=plans).rows
    assert (row.indicators["SE"], row.indicators["SE_best"]) == (0.0, 1.0)


def test_undecided_plans_make_ranges_in_the_report_and_its_tables(monkeypatch, capsys, tmp_path):
    make_questions_undecided(monkeypatch)
    path = tmp_path / "plans.jsonl"
    lines = [json.dumps({"task": task.key, "plan": plan_to_json(task.gold)}) for task in MINI.tasks]
    path.write_text("\n".join(lines))
    score_plans(plans=path, suite="toolmini", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["metrics"]["SE"], told["metrics"]["undecided"], told["metrics"]["SE_high"]) == (0.65, 0.35, 1.0)
    assert (told["by_group"]["QA"]["SE"], told["by_group"]["QA"]["undecided"]) == (0.0, 1.0)
    (row,) = [row for row in told["tasks"] if row["task"] == "QA/0"]
    assert (row["undecided"], row["pairs"][0]["verdict"]) == (1, "undecided")
    assert "arbiter" not in told
    score_plans(plans=path, suite="toolmini")
    printed = capsys.readouterr().out
    assert "0.6500 \N{EN DASH} 1.0000" in printed
    assert "35.0 % undecided" in printed
    assert "SE, lower end" not in printed


def test_an_arbiter_settles_the_first_plans_of_a_file(monkeypatch, capsys, tmp_path):
    """Others are in the column of the best of several, which goes by the rules."""
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    make_questions_undecided(monkeypatch)
    path = tmp_path / "plans.jsonl"
    gold = plan_to_json(MINI.task("QA/0").gold)
    (step,) = gold["steps"]
    other = {**gold, "steps": [{**step, "inputs": dict.fromkeys(step["inputs"], "Something else?")}]}
    path.write_text(json.dumps({"task": "QA/0", "plan": gold, "alternatives": [other]}))
    with serving() as server:
        for _ in range(2):
            score_plans(plans=path, suite="toolmini", as_json=True, arbiter=server.name)
            told = json.loads(capsys.readouterr().out)
            assert told["arbiter"]["name"] == MODEL
            (row,) = told["tasks"]
            assert (row["SE"], row["SE_low"], row["SE_high"], row["undecided"]) == (1, 0, 1, 0)
            assert row["pairs"][0]["answers"] == ["same"] * 3
        assert len(server.asked) == 3
