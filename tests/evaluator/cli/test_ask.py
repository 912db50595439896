"""`planarena ask`, on this machine. On a site: tests/leaderboard/workbench/test_ask_on_a_site.py."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.ask import _drawn
from evaluator.cli.main import app
from evaluator.core.commands.usage import out
from evaluator.workbench.tree import RunTree
from tests.evaluator.workbench.test_tree import EVENTS

PICTURES = Path(__file__).resolve().parents[3] / "leaderboard" / "workbench" / "prepared"
FILE = ("--file", f"kitchen.png={PICTURES / 'kitchen.png'}")
EDGES = "Make the edge map of kitchen.png."


def ask(*words: str):
    return CliRunner().invoke(app, ["ask", *words], env={"PLANARENA_URL": None})


def test_a_request_runs_here_and_is_written(tmp_path):
    done = ask(EDGES, *FILE, "--output", str(tmp_path / "new"))

    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "file kitchen.png: image"
    assert lines[-1] == "Done: I called image_to_edge. The result of image_to_edge is a picture."
    assert (tmp_path / "new" / "results" / "1.png").read_bytes().startswith(b"\x89PNG")
    events = [json.loads(line) for line in (tmp_path / "new" / "events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["given", "asked", "plan", "step", "ended"]


def test_json_has_one_event_a_line():
    done = ask(EDGES, *FILE, "--json")

    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()][-2:] == ["step", "ended"]


@pytest.mark.parametrize(
    ("ending", "code"), [("made", 0), ("partly", 1), ("declined", 1), ("no_plan", 3), ("failed", 4)]
)
def test_each_ending_has_its_exit_code(monkeypatch, ending, code):
    def ended(*_, **__):
        from evaluator.workbench.events import Ending, ended

        yield ended(ending=Ending(ending), text="It ended.")

    monkeypatch.setattr("evaluator.workbench.running.run", ended)
    assert ask(EDGES, *FILE).exit_code == code


def test_a_failed_step_is_no_fault_of_the_infrastructure(monkeypatch):
    class Failed:
        def __init__(self, body):
            self._body = body

        def to_json(self):
            return self._body

    def events(*_, **__):
        yield Failed({**EVENTS[3], "error": "It fell over.", "outputs": {}})
        yield Failed({**EVENTS[-1], "ending": "failed"})

    monkeypatch.setattr("evaluator.workbench.running.run", events)
    assert ask(EDGES, *FILE).exit_code == 1


def test_ctrl_c_ends_with_130_and_a_sentence(monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("evaluator.workbench.running.run", interrupted)
    done = ask(EDGES, *FILE)
    assert (done.exit_code, done.stderr) == (130, "planarena: interrupted; the run was cancelled.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((EDGES, *FILE, "--point", "kitchen.png:1"), "--point is NAME:X,Y"),
        ((EDGES, *FILE, "--point", "kitchen.png:99999,1"), "Places are column and row"),
        ((EDGES, *FILE, "--point", "kitchen.png:9999,1"), "point-1 lies outside kitchen.png"),
        ((EDGES, *FILE, "--box", "kitchen.png:1,1"), "A box has 2 places"),
        ((EDGES, "--file", "missing.png"), "missing.png cannot be read"),
        ((EDGES, "--file", f"a.exe={PICTURES / 'kitchen.png'}"), "unknown type"),
        ((EDGES, "--planner", "nobody"), "there is no bundled planner 'nobody'"),
        ((EDGES, "--suite", "nowhere"), "nowhere"),
        ((EDGES, "--site", "ftp://example.org"), "ftp://example.org"),
    ],
)
def test_bad_usage_is_said_before_the_work(words, says, monkeypatch):
    monkeypatch.setenv("PLANARENA_TOKEN", "pa_x")
    done = ask(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_the_tree_has_steps_with_values_and_escapes_what_terminals_would_interpret():
    tree = RunTree(request="Describe\x1b[31m it [bold]", values=lambda _: None)
    for event in EVENTS[:4]:
        tree.take(event)
    with out.capture() as captured:
        out.print(_drawn(tree))

    drawn = captured.get()
    assert "\x1b[31m it" not in drawn
    assert "it [bold]" in drawn
    assert "s1 find (finder, 0.25 s)" in drawn
    assert "-> bbox: a result" in drawn
    assert "s2 say (waits)" in drawn
