"""`gate` on two reports of `evaluate`."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of a good and a bad planner, on the tasks that `make` is given."""
    folder = tmp_path_factory.mktemp("reports")

    def make(planner: str, *options: str) -> str:
        file = folder / f"{planner}{len(options)}.json"
        if not file.exists():
            done = CliRunner().invoke(
                app, ["evaluate", "--suite", "toolmini", "--planner", planner, *options, "--output", str(file)]
            )
            assert file.exists(), done.stderr
        return str(file)

    return make


def run(*arguments: str):
    return CliRunner().invoke(app, ["gate", *arguments])


def test_a_worse_planner_is_1_with_the_tasks_that_broke(reports, tmp_path):
    comment, output = tmp_path / "comment.md", tmp_path / "gate.json"
    done = run(
        reports("random-valid"), "--baseline", reports("gold"), "--max-regression", "0.01", "--summary", str(comment),
        "--output", str(output),
    )  # fmt: skip
    assert done.exit_code == 1, done.output
    assert "toolmini: SE: worse, -0." in done.stdout
    (suite,) = json.loads(output.read_text())["suites"]
    assert suite["verdict"] == "worse"
    assert suite["fixed"] == []
    assert len(suite["broken"]) == suite["losses"] > 20
    assert suite["broken"][0] == {"task": suite["broken"][0]["task"], "before": 1.0, "after": 0.0}
    text = comment.read_text()
    assert text.startswith("### toolmini: worse\n\nrandom\\-valid against gold. SE: worse")
    assert "<summary>Broken</summary>" in text
    assert f"| and {suite['losses'] - 20} more |" in text


def test_a_better_and_an_equal_planner_pass(reports):
    better = run(reports("gold"), "--baseline", reports("random-valid"), "--json")
    assert better.exit_code == 0
    assert json.loads(better.stdout)["suites"][0]["verdict"] == "better"
    assert run(reports("gold"), "--baseline", reports("gold")).exit_code == 0


def test_too_few_tasks_cannot_tell_and_that_may_be_allowed(reports):
    few = ("--tasks", "QA/0,QA/1,QA/2")
    arguments = (reports("random-valid", *few), "--baseline", reports("gold", *few))
    done = run(*arguments)
    assert done.exit_code == 5, done.output
    assert "cannot tell" in done.stdout
    assert run(*arguments, "--allow-undecided").exit_code == 0


def test_other_files_metrics_and_suites_are_refused_with_a_sentence(reports, tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[" * 100_000)
    for arguments, sentence in {
        (str(wrong), "--baseline", reports("gold")): "cannot be read",
        (reports("gold"), "--baseline", str(wrong)): "is not JSON",
        (reports("gold"), "--baseline", "main"): "main cannot be read",
        (reports("gold"), "--baseline", reports("gold"), "--metric", "speed"): "has no metric 'speed'",
    }.items():
        done = run(*arguments)
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.output
