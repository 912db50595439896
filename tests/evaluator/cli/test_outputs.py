"""Files that commands write: checked before the work, written before anything is printed, kept on Ctrl-C."""

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from evaluator.cli.main import app, commands
from evaluator.core.commands.options import writable, writable_folder
from tests.fakes.serving import Server
from tests.rings import usual

ROOT = Path(__file__).resolve().parents[3]
GOLD = ("evaluate", "--suite", "toolmini", "--planner", "gold", "--tasks", "QA/0")
WRITES = ("output", "out_", "junit_out", "summary")
"""Names of the parameters that are files to write."""


def targets(folder):
    """Files that cannot be written, each with why not. As root, permissions forbid nothing; /proc does."""
    (folder / "file").write_text("")
    yield folder, "it is a folder"
    yield folder / "file" / "out.json", "is no folder"
    yield Path("/proc/missing/out.json"), ""
    yield folder / ("x" * 300), "File name too long"


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("evaluator.cli.evaluate.chosen_suite", work)
    for target, why in targets(tmp_path):
        done = CliRunner().invoke(app, [*GOLD, "--output", str(target)])
        assert (done.exit_code, done.stdout) == (2, ""), done.exception
        assert f"{target} cannot be written: " in done.stderr
        assert why in done.stderr
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inner", Path("/proc/missing")):
        with pytest.raises(typer.Exit):
            writable_folder(folder)
    assert writable_folder(tmp_path / "new" / "inner") == tmp_path / "new" / "inner"
    assert not (tmp_path / "new").exists()


def test_an_existing_file_stays_as_it_is_until_there_is_something_to_write(tmp_path):
    file = tmp_path / "out.json"
    file.write_text("before")
    assert writable(file) == file
    assert file.read_text() == "before"
    assert writable(tmp_path / "a" / "b.json") == tmp_path / "a" / "b.json"
    assert not (tmp_path / "a").exists()


def test_every_option_that_names_a_file_to_write_is_checked_before_the_work():
    unchecked = []
    for name, callback in commands():
        for parameter in inspect.signature(inspect.unwrap(callback)).parameters.values():
            if parameter.name in WRITES and "Path | None" in str(get_args(parameter.annotation)[0]):
                option = get_args(parameter.annotation)[1]
                if option.callback not in {writable, writable_folder}:
                    unchecked.append(f"{name} --{parameter.name}")
    assert not unchecked


def test_a_missing_folder_is_made(tmp_path):
    target = tmp_path / "new" / "inner" / "out.json"
    assert CliRunner().invoke(app, [*GOLD, "--output", str(target)]).exit_code == 0
    assert json.loads(target.read_text())["summary"]


COMMANDS = """
import json, sys
from evaluator.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
    print("=====", flush=True)
"""


@pytest.mark.parametrize("encoding", usual(["ascii", "latin-1", "utf-8"], of=["ascii"]))
def test_a_terminal_without_unicode_loses_nothing(tmp_path, encoding):
    """All commands in one process, which takes its encoding from the environment."""
    target = tmp_path / "out.json"
    documents = (["suites", "croissant", "toolmini"], ["sbom"], ["suites", "show", "toolmini-abstain", "--json"])
    words = [
        *documents, [*GOLD, "--output", str(target)], ["planners", "list"], ["suites", "list"], ["tools", "list"],
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(words)], cwd=ROOT, capture_output=True, timeout=120,
        env=os.environ | {"PYTHONIOENCODING": encoding, "LANG": "C", "LC_ALL": "C"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.decode(encoding).split("=====\n")
    assert len(printed) == len(words) + 1
    assert all(json.loads(text) for text in printed[:2])
    assert json.loads(printed[2]) == json.loads(CliRunner().invoke(app, documents[2]).stdout)
    assert "95 % interval" in printed[3]
    assert json.loads(target.read_text())["summary"]["outcomes"] == {"scored": 1}


def test_the_file_is_written_although_nobody_reads_the_table(tmp_path):
    target = tmp_path / "out.json"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        subprocess.run(
            [sys.executable, "-m", "evaluator", *GOLD, "--output", str(target)], cwd=ROOT, stdout=closed,
            stderr=subprocess.DEVNULL, timeout=120, check=False,
        )  # fmt: skip
    assert json.loads(target.read_text())["summary"]["outcomes"] == {"scored": 1}


@pytest.fixture
def useless():
    """An endpoint that answers in words. `asked` is set with its first request, `held` lets later ones wait."""

    class Handler(BaseHTTPRequestHandler):
        count, held, asked = 0, threading.Event(), threading.Event()

        def log_message(self, *_):
            pass

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            Handler.count += 1
            if Handler.count > 2:
                Handler.asked.set()
                Handler.held.wait(600)
            body = b'{"plan": "[Action("}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", Handler
    Handler.held.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("suite", ["toolmini", "openagi"])
def test_an_endpoint_of_which_no_answer_can_be_used_is_exit_code_3(useless, tmp_path, suite):
    url, handler = useless
    handler.held.set()
    tasks = {"toolmini": "QA/0,QA/1", "openagi": "14"}[suite]
    target = tmp_path / "out.json"
    done = CliRunner().invoke(
        app,
        ["evaluate", "--suite", suite, "--planner", url, "--tasks", tasks, "--samples", "1", "--output", str(target)],
    )
    assert done.exit_code == 3, done.stderr
    assert "no plan of the planner could be used" in done.stderr
    assert set(json.loads(target.read_text())["summary"]["outcomes"]) == {"planner_fault"}


def test_ctrl_c_keeps_what_has_ended_and_says_where(useless, tmp_path):
    url, handler = useless
    target = tmp_path / "out.json"
    running = subprocess.Popen(
        [sys.executable, "-m", "evaluator", "evaluate", "--suite", "toolmini", "--planner", url, "--tasks",
         "QA/0,QA/1,QA/2,QA/3", "--timeout", "300", "--output", str(target)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Programs that a shell starts in the background ignore Ctrl-C, and hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert handler.asked.wait(100)
    running.send_signal(signal.SIGINT)
    # The endpoint still holds its requests.
    printed, said = running.communicate(timeout=100)
    assert (running.returncode, printed, "Traceback" in said) == (130, "", False), said
    assert f"{target} was not written" in said
    assert not target.exists()
    kept = tmp_path / "out.json.part.jsonl"
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    assert f"interrupted after {len(records)} of 4 tasks" in said
    assert (str(kept) in said) == bool(records)


def test_ctrl_c_while_the_reliability_is_measured_keeps_the_evaluation(monkeypatch, tmp_path):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.reliability.command.measured", interrupted)
    target = tmp_path / "out.json"
    (tmp_path / "out.json.part.jsonl").write_text("of an earlier run")
    done = CliRunner().invoke(app, [*GOLD, "--reliability", "--output", str(target)])
    assert done.exit_code == 130
    assert "has the evaluation without it" in " ".join(done.stderr.split())
    assert json.loads(target.read_text())["summary"]["outcomes"] == {"scored": 1}
    assert CliRunner().invoke(app, [*GOLD, "--output", str(target)]).exit_code == 0
    assert list(tmp_path.iterdir()) == [target]


def test_plans_of_which_none_can_be_read_are_exit_code_3(tmp_path):
    file = tmp_path / "plans.jsonl"
    file.write_text(json.dumps({"task": "QA/0", "plan": "[Action("}))
    done = CliRunner().invoke(app, ["score-plans", str(file), "--suite", "toolmini"])
    assert done.exit_code == 3
    assert "none of the plans could be read" in done.stderr


def test_ctrl_c_ends_every_command_with_a_sentence(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.controlllm.commands.chosen_suite", interrupted)
    done = CliRunner().invoke(app, ["score-plans", "-", "--suite", "toolmini"])
    assert (done.exit_code, done.stderr) == (130, "planarena: interrupted; no result was written.\n")
