"""What planners spend on the same tasks: sums of their calls, and who is left out."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.core.records import Outcome, PlannerCall, ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.lumos.commands import efficiency
from evaluator.lumos.efficiency import NothingSpentError, first_of_each_metric, markdown, spent_on


def record(task, *, outcome=Outcome.SCORED, score=1.0, prompt=100, completion=10, seconds=0.5):
    call = PlannerCall(seconds=seconds, prompt_tokens=prompt, completion_tokens=completion)
    return ResultRecord(
        suite="x", task=task, request="?", metric="m", outcome=outcome, score=score, planner=call
    )  # fmt: skip


def test_means_are_over_the_tasks_that_count():
    spent = spent_on(
        [
            record("a", prompt=100, seconds=1.0),
            record("b", outcome=Outcome.PLANNER_FAULT, score=0.0, prompt=300, seconds=2.0),
            record("c", outcome=Outcome.INFRA_FAULT, score=None, prompt=9000, seconds=60.0),
        ],
        planner="p",
    )
    assert (spent.tasks, spent.solved.mean, spent.prompt_tokens.mean, spent.seconds) == (2, 0.5, 200, 3.0)


def test_tokens_are_unknown_if_a_call_reports_none():
    assert spent_on([record("a"), record("b", prompt=None)], planner="p").prompt_tokens is None
    assert "not reported" in markdown([spent_on([record("a", prompt=None)], planner="p")])


def test_a_planner_without_a_task_that_counts_is_refused():
    with pytest.raises(NothingSpentError, match=r"p: no task was run to its end\."):
        spent_on([record("a", outcome=Outcome.INFRA_FAULT, score=None)], planner="p")


def test_ratios_are_to_the_first_planner():
    first = spent_on([record("a", prompt=100, completion=10, seconds=1.0)], planner="one")
    other = spent_on([record("a", prompt=250, completion=40, seconds=3.0)], planner="two")
    said = "2.50 times the prompt tokens, 4.00 times the completion tokens, 3.00 times the seconds"
    assert f"two spends, for each task of one: {said}." in markdown([first, other])


def test_each_kind_of_task_has_as_many():
    keys = first_of_each_metric(suite_of("lumos-mini"), count=2)
    assert keys == [f"{group}/{n}" for group in ("maths", "sql", "qa", "web", "pictures") for n in range(2)]


def test_the_command_compares_formulations(tmp_path, monkeypatch):
    import typer

    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    stop = {"pattern": "The executed result", "text": "Yes, I will stop planning."}
    rows = [stop, {"pattern": "Please ground", "text": "R1 = SELECT 1"}, {"pattern": "", "text": "Subgoal 1: Look."}]
    script = tmp_path / "model.jsonl"
    script.write_text("".join(json.dumps(row) + "\n" for row in rows))
    app = typer.Typer()
    app.command()(efficiency)
    names = [f"lumos/{form}:scripted:{script}" for form in ("onepass", "iterative")]
    done = CliRunner().invoke(app, [*names, "--suite", "lumos-mini", "--each", "1", "--out", str(tmp_path / "t.md")])
    assert done.exit_code == 0, done.output
    table = (tmp_path / "t.md").read_text()
    assert all(f"| {name} | 5 | " in table for name in names)
    alone = CliRunner().invoke(app, names[:1])
    assert (alone.exit_code, "two or more" in alone.output) == (2, True)
    whole = CliRunner().invoke(app, [*names, "--suite", "toolmini"])
    assert (whole.exit_code, "whole plans" in whole.output) == (2, True)
