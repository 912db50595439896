"""DeAcc of decomposers that need no language model: gold against itself, nothing, and the rules."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.benchmarks import measure_decompositions
from evaluator.controlllm.strategies.subtasks import protocol_text, typed_subtasks
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.metrics.decomposition import FIELDS

SUITE = suite_of("toolmini")


def by_id(request):
    return SUITE.task(request.task.id)


def test_the_gold_itself_is_right_in_every_field():
    report = measure_decompositions(
        suite=SUITE, name="gold", decompose=lambda one: protocol_text(typed_subtasks(by_id(one).decomposition))
    )
    assert report.deacc.mean == report.but_description.mean == 1
    assert report.deacc.count == len(SUITE.tasks)
    assert {field: share.mean for field, share in report.fields.items()} == dict.fromkeys(FIELDS, 1.0)
    assert report.wrong == ()


def test_no_subtasks_and_no_json_are_wrong_in_every_field():
    for nothing in ("<Solution>[]</Solution>", "I cannot"):
        report = measure_decompositions(suite=SUITE, name="nothing", decompose=lambda _, text=nothing: text)
        assert report.deacc.mean == 0
        assert set(report.wrong) == {task.key for task in SUITE.tasks}


def test_another_description_costs_deacc_and_its_own_field_alone():
    def renamed(request):
        rows = json.loads(protocol_text(typed_subtasks(by_id(request).decomposition))[10:-11])
        return f"<Solution>{json.dumps([{**row, 'description': 'Do it somehow'} for row in rows])}</Solution>"

    report = measure_decompositions(suite=SUITE, name="renamed", decompose=renamed)
    assert report.but_description.mean == 1
    assert report.deacc.mean == report.fields["description"].mean < 0.2
    assert report.fields["args"].mean == 1


def test_the_command_refuses_a_suite_that_executes_plans():
    done = CliRunner().invoke(app, ["bench", "decompositions", "--suite", "openagi"])
    assert done.exit_code == 2
    assert "executes plans" in done.output


@pytest.mark.full
def test_the_command_compares_the_rules_with_the_trained_network(tmp_path):
    out = tmp_path / "found.json"
    done = CliRunner().invoke(app, ["bench", "decompositions", "--suite", SUITE.slug, "--output", str(out)])
    assert done.exit_code == 0, done.output
    rules, trained = json.loads(out.read_text())
    assert (rules["decomposer"], trained["decomposer"]) == ("rules", "trained")
    assert trained["deacc"]["mean"] > rules["deacc"]["mean"]
    assert trained["deacc"]["count"] == len(SUITE.tasks)
