"""`planarena suites show SUITE TASK --view NAME`."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.arc.grids import Demonstration
from evaluator.arc.suite import arc_suite
from evaluator.arc.tasks import ArcTask, arc_task
from evaluator.cli import suites as commands
from evaluator.core.suites.registry import suite_of

PAIR = Demonstration(input=((0, 1), (2, 0)), output=((1, 1), (2, 2)))


@pytest.fixture
def show(monkeypatch):
    task = arc_task(key="a1", demonstrations=(PAIR, PAIR), test_inputs=(((0, 3), (0, 3)),))
    assert isinstance(task, ArcTask)
    suite = arc_suite(slug="arc-tiny", title="Tiny", description="", tasks=(task,))
    monkeypatch.setattr(commands, "chosen_suite", lambda _: suite)

    def run(*arguments):
        return CliRunner().invoke(commands.app, ["show", "arc-tiny", *arguments])

    return run


def test_a_view_is_printed_and_tells_no_test_output(show):
    found = json.loads(show("a1", "--view", "grid").stdout)
    assert found["train"][0] == {
        "input": [[".", "a"], ["b", "."]], "input_grid_size": [2, 2],
        "output": [["a", "a"], ["b", "b"]], "output_grid_size": [2, 2],
    }  # fmt: skip
    assert found["test"] == [{"input": [[".", "c"], [".", "c"]], "input_grid_size": [2, 2]}]
    assert json.loads(show("a1", "--view", "grid", "--json").stdout) == found


def test_what_is_not_there_is_refused_with_what_is(show):
    assert "there is no view 'colours'; there are: grid, objects, objects_diag" in _error(
        show("a1", "--view", "colours")
    )
    assert "arc-tiny has no task 'b2'; its tasks are a1, ..." in _error(show("b2"))
    assert "arc-tiny has no task ''" in _error(show("--view", "grid"))


def test_a_suite_without_views_says_so():
    key = suite_of("toolmini").tasks[0].key
    done = CliRunner().invoke(commands.app, ["show", "toolmini", key, "--view", "grid"])
    assert done.exit_code == 2
    assert "toolmini shows its tasks in one way only; leave out --view" in _error(done)


def _error(done):
    return " ".join((done.stderr or done.output).replace("│", " ").split())
