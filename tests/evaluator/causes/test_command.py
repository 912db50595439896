"""`planarena evaluate` prints and writes the causes."""

import json

from typer.testing import CliRunner

from evaluator.cli.main import app


def evaluate(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *arguments])
    assert found.exit_code == 0, found.output
    return found.output


def test_causes_are_printed_below_the_scores_and_written(tmp_path):
    file = tmp_path / "out.json"
    tasks = "QA/0,QA/1,image_QA/0"
    text = evaluate("--suite", "toolmini", "--planner", "gold-minus-one", "--tasks", tasks, "--output", str(file))
    found = json.loads(file.read_text())["causes"]
    assert found["version"] == "causes/1"
    # Each gold plan has one step, so that nothing is left without it.
    assert found["tasks_by_cause"] == {"abstained": 3}
    assert found["findings"] == {key: [{"cause": "abstained"}] for key in tasks.split(",")}
    assert "Why 3 of 3 tasks are below the gold score" in text
    assert text.index("SE") < text.index("abstained")


def test_nothing_is_said_where_all_tasks_are_at_the_gold_score(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate("--suite", "toolmini", "--planner", "gold", "--tasks", "QA/0", "--output", str(file))
    assert "below the gold score" not in text
    assert json.loads(file.read_text())["causes"]["below"] == 0
