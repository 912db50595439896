"""The benchmark measures what it says: the same scores, exactly the distinct calls, equal results again. No seconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from evaluator.benchmarks.execution import ExecutionReport
from evaluator.cli.bench import check_claims
from evaluator.cli.main import app
from evaluator.suites.registry import suite_of

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.full
@pytest.mark.timeout(900)  # loads every expert and scorer several times, on machines that may be busy
def test_the_engine_makes_exactly_the_distinct_calls_and_scores_as_the_baseline(tmp_path):
    out = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", "bench", "execution", "--tasks", "7,61,98", "--samples", "1",
         "--output", str(out)],
        cwd=ROOT, capture_output=True, text=True, timeout=800, check=True,
    )  # fmt: skip
    report = json.loads(out.read_text())
    phases = report["phases"]
    assert report["calls_are_distinct_nodes"] is True
    assert report["same_scores"] is True
    assert report["same_results"] is True
    assert report["same_in_process"] is True
    assert phases["process"]["calls"] == {}
    assert phases["cold"]["start"] > 0
    assert phases["cold"]["whole_overhead_share"] > phases["cold"]["overhead_share"]
    assert phases["cold"]["calls"] == report["distinct_calls"]
    assert sum(phases["released"]["calls"].values()) >= sum(phases["cold"]["calls"].values())
    assert phases["again"]["calls"] == {}
    assert phases["cold"]["loads"] == len(report["distinct_calls"])
    assert {phase["scored"] for phase in phases.values()} == {3}
    assert set(report["ratios"]) == {
        f"{name}_{by}" for name in ("cold", "second", "process", "again") for by in ("wall", "cpu")
    }
    assert "Expert calls" in done.stdout


@pytest.mark.full
@pytest.mark.timeout(300)
def test_tool_plans_are_measured_against_calls_one_after_the_other_and_with_any_second_planner(tmp_path):
    out = tmp_path / "report.json"
    tasks = "image_detection/0,count_object/0,compound_instructions/0"
    done = CliRunner().invoke(
        app,
        ["bench", "execution", "--suite", "toolworld", "--tasks", tasks, "--samples", "2", "--second", "no-op",
         "--output", str(out)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text())
    assert report["same_scores"] is report["calls_are_distinct_nodes"] is True
    released, cold = report["phases"]["released"], report["phases"]["cold"]
    plans = [suite_of("toolworld").task(key).gold for key in tasks.split(",")]
    assert sum(released["calls"].values()) == 2 * sum(len(plan.steps) for plan in plans)
    assert released["loads"] == len(released["calls"])
    assert sum(cold["calls"].values()) < sum(released["calls"].values())
    assert report["phases"]["second"]["what"].endswith(": no-op")
    assert report["phases"]["second"]["calls"] == {}


def test_a_second_planner_that_there_is_not_is_refused():
    done = CliRunner().invoke(app, ["bench", "execution", "--suite", "toolworld", "--second", "nothing"])
    assert done.exit_code == 2
    assert "there is no bundled planner 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("only", "said"), [("second", "second and again need cold"), ("cold,process", "process needs second")]
)
def test_phases_that_cannot_be_are_refused(only, said):
    done = CliRunner().invoke(app, ["bench", "execution", "--only", only])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_a_claim_that_does_not_hold_is_named_and_ends_the_command_with_1(capsys):
    report = ExecutionReport(conditions={}, same_scores=True, same_results=False)
    with pytest.raises(typer.Exit) as caught:
        check_claims(report.claims)
    assert caught.value.exit_code == 1
    said = capsys.readouterr()
    assert said.err == "planarena: this does not hold: running again gives byte-equal results\n"
    assert said.out.splitlines() == [
        "the cold run makes each distinct call once: not measured",
        "scores are those of the released structure: yes",
        "running again gives byte-equal results: NO",
        "a new process gives byte-equal results: not measured",
    ]
