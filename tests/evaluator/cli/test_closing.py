"""The end of `evaluate`: a sentence, the causes, and where the report is."""

import json
import re

import pytest
from typer.testing import CliRunner

from evaluator.cli.kept_reports import MOST_KEPT, keep_report, reports_folder
from evaluator.cli.main import app

SUITE = ("--suite", "toolmini")
TASKS = ",".join(f"QA/{number}" for number in range(3))


@pytest.fixture
def evaluate(monkeypatch, tmp_path):
    """Runs `evaluate` with reports in a folder of its own."""
    monkeypatch.setenv("PLANARENA_REPORTS", str(tmp_path / "reports"))
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(planner, *arguments, suite="toolmini"):
        return CliRunner().invoke(app, ["evaluate", "--suite", suite, "--planner", planner, *arguments])

    return run


def test_one_planner_ends_with_its_score_in_a_sentence_and_the_path_of_the_report(evaluate, tmp_path):
    done = evaluate("gold")
    assert done.exit_code == 0, done.stderr
    assert "gold scores 1.000 in SE (95 % interval 0.969 to 1.000; 120 tasks)." in done.stdout
    (report,) = (tmp_path / "reports").iterdir()
    assert f"Report: {report}\n" in done.stdout
    assert re.fullmatch(r"\d{8}T\d{9}-toolmini-gold\.json", report.name)
    assert json.loads(report.read_text())["planner"] == "gold"


def test_a_named_file_is_the_report_and_nothing_else_is_kept(evaluate, tmp_path):
    file = tmp_path / "out.json"
    done = evaluate("gold", "--tasks", TASKS, "--output", str(file))
    assert f"Report: {file}\nOpen it with: planarena view {file}\n" in done.stdout
    assert not (tmp_path / "reports").exists()
    done = evaluate("gold", "--tasks", TASKS, "--json")
    assert json.loads(done.stdout)["planner"] == "gold"
    assert not (tmp_path / "reports").exists()


def test_several_planners_end_with_who_is_best_and_whether_that_is_real(evaluate, tmp_path):
    file = tmp_path / "gold.json"
    evaluate("gold", "--output", str(file))
    done = evaluate("random-valid", "--against", str(file))
    printed = done.stdout.partition("Compared in SE:\n")[2].splitlines()
    assert printed[0] == "gold is best (1.000)."
    assert re.match(r"It is better than random-valid by at least 0\.\d\d \(.+, p < \.001\)\.", printed[1])
    assert re.match(r"This comparison can tell \d+ points apart; 2 points would take about [\d,]+ tasks\.", printed[2])


def test_a_comparison_of_gold_plans_and_a_shortcut_ends_with_the_headroom(evaluate, tmp_path):
    file = tmp_path / "gold.json"
    evaluate("gold", "--output", str(file))
    done = evaluate("regex", "--against", str(file))
    assert "The shortcut regex scores " in done.stdout
    assert "the headroom is " in done.stdout or "there is no headroom" in done.stdout


def test_planners_are_compared_on_common_tasks_only(evaluate, tmp_path):
    file = tmp_path / "gold.json"
    evaluate("gold", "--output", str(file))
    done = evaluate("gold", "--tasks", TASKS, "--against", str(file))
    assert "gold (1) and gold (2) share the best score (1.000)." in done.stdout
    assert "Only the 3 tasks that all reports have count." in done.stdout


def test_reports_of_other_suites_and_other_files_are_refused_before_the_work(evaluate, tmp_path):
    file = tmp_path / "gold.json"
    evaluate("gold", "--tasks", TASKS, "--output", str(file))
    done = evaluate("gold", "--against", str(file), suite="toolmini-abstain")
    assert (done.exit_code, "is about the suite toolmini" in done.stderr) == (2, True)
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / "none.json").write_text("{")
    for name, why in {"other": "not a report", "none": "is not JSON", "missing": "cannot be read"}.items():
        done = evaluate("gold", "--against", str(tmp_path / f"{name}.json"))
        assert (done.exit_code, why in done.stderr) == (2, True), done.stderr


def test_a_report_that_cannot_be_kept_fails_nothing(evaluate, monkeypatch):
    monkeypatch.setenv("PLANARENA_REPORTS", "/proc/missing")
    done = evaluate("gold", "--tasks", TASKS)
    assert done.exit_code == 0
    assert "the report was not kept" in done.stderr


def test_the_newest_reports_are_kept_and_other_files_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for number in range(MOST_KEPT + 5):
        last = keep_report(b"{}", suite="s", planner="http://h:1/" + "x" * 500, folder=tmp_path, now=1e9 + number)
    assert len(list(tmp_path.glob("*.json"))) == MOST_KEPT
    assert last.exists()
    assert len(last.name) < 100
    assert (tmp_path / "notes.txt").exists()


def test_reports_are_in_the_folder_for_state(tmp_path):
    assert reports_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "planarena" / "reports"
    assert reports_folder({"PLANARENA_REPORTS": str(tmp_path)}) == tmp_path


def test_the_command_that_opens_a_report_is_named(evaluate):
    assert re.search(r"Open it with: planarena view \S+\.json\n", evaluate("gold", "--tasks", TASKS).stdout)
