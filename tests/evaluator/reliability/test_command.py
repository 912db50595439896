"""`planarena evaluate --reliability`, from the command line to the JSON document."""

import json

from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.reliability import perturbations_of
from evaluator.suites.registry import suite_of


def evaluate(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *arguments])
    assert found.exit_code == 0, found.output
    return found.output


def test_a_profile_of_a_judged_suite_is_printed_and_written(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate(
        "--suite", "toolmini", "--planner", "random-valid", "--tasks", "QA/0,QA/1,image_QA/0", "--reliability",
        "--runs", "2", "--output", str(file),
    )  # fmt: skip
    assert "Reliability, 2 runs" in text
    assert "No answer came with a confidence." in text
    found = json.loads(file.read_text())["reliability"]
    assert (found["version"], found["runs"], found["tasks"]) == ("reliability/4", 2, 3)
    # The second run draws other plans.
    assert found["equal_plans"]["mean"] < 1.0
    assert [one["name"] for one in found["robustness"]] == [
        one.name for one in perturbations_of(suite=suite_of("toolmini"), in_turns=False)
    ]
    assert all(one["left_out"] == 0 for one in found["robustness"])


def test_planners_in_turns_are_run_again_and_perturbed(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate(
        "--suite", "arc-mini", "--planner", "identity", "--tasks", "crop/0,crop/1", "--reliability", "--runs", "2",
        "--output", str(file),
    )  # fmt: skip
    assert "shuffled-tools" in text
    found = json.loads(file.read_text())["reliability"]["robustness"]
    assert [one["name"] for one in found] == [
        one.name for one in perturbations_of(suite=suite_of("arc-mini"), in_turns=True)
    ]
