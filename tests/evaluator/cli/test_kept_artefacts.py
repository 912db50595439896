"""`evaluate --artefacts`: what executed steps made is kept beside the report."""

import json

from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.records import ResultRecord
from evaluator.episodes.kept_artefacts import folder_beside, keep_artefacts
from evaluator.execution.engine.store import LocalStore, MemoryStore


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", "--planner", "gold", *map(str, arguments)])


def test_every_artefact_of_the_records_is_beside_the_report_and_none_of_other_runs(tmp_path):
    report, store = tmp_path / "out.json", tmp_path / "store"
    common = ("--suite", "toolworld", "--samples", 2, "--store", store)
    assert evaluate(*common, "--tasks", "image_detection/1", "--output", tmp_path / "other.json").exit_code == 0
    done = evaluate(*common, "--tasks", "image_detection/0", "--output", report, "--artefacts")
    assert done.exit_code == 0, done.stderr
    (record,) = [ResultRecord.model_validate(record) for record in json.loads(report.read_text())["results"]]
    referred = {reference.digest for reference in record.artefacts()}
    assert len(referred) > 4
    assert set(LocalStore(folder_beside(report)).digests()) == referred
    assert keep_artefacts([record], store=MemoryStore(), folder=tmp_path / "lost") == len(referred)


def test_it_needs_a_file_beside_which_to_keep_them(tmp_path):
    done = evaluate("--suite", "toolmini", "--artefacts")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--artefacts keeps them beside the file of --output; name that file, too" in done.stderr


def test_where_nothing_is_executed_it_says_that_there_are_none(tmp_path):
    report = tmp_path / "out.json"
    done = evaluate("--suite", "toolmini", "--tasks", "QA/0", "--output", report, "--artefacts")
    assert done.exit_code == 0
    assert "nothing was executed, so that there are no artefacts to keep" in done.stderr
    assert not folder_beside(report).exists()
