"""The bar of an evaluation."""

import io
import sys
import time
from threading import Event

import pytest
from rich.console import Console

from evaluator.cli import main as program
from evaluator.cli import progress_lines
from evaluator.cli.progress_view import ProgressView
from evaluator.execution.engine.progress import Progress

BUSY = Progress(
    steps=900, steps_total=1000, jobs=100, jobs_total=185, calls=8000, calls_left=2000.0, seconds=60.0, rate=0.3,
    eta_seconds=7000.0, tool="Visual Question Answering",
)  # fmt: skip


def test_without_a_terminal_lines_go_on_while_nothing_happens(monkeypatch):
    monkeypatch.setattr(progress_lines, "LINE_SECONDS", 0.01)
    output = io.StringIO()
    console = Console(file=output, force_terminal=False)
    with ProgressView(title="gold on openagi", tasks=185, console=console) as view:
        view.task_completed()
        until = time.monotonic() + 30
        while output.getvalue().count("\n") < 3 and time.monotonic() < until:
            time.sleep(0.01)
        view.executed(BUSY)
        until = time.monotonic() + 30
        while "Visual" not in output.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    first, *_, last = output.getvalue().splitlines()
    assert first == "gold on openagi: 1/185 tasks"
    assert last.startswith("gold on openagi: 1/185 tasks; Visual Question Answering; 8000 calls")


def test_without_a_terminal_every_long_command_says_that_it_is_running(monkeypatch, capsys):
    class Stream(io.StringIO):
        def write(self, text):
            lines.append(text)
            printed.set()
            return len(text)

    lines, printed = [], Event()

    def command(*, args, prog_name):
        printed.clear()
        # A command with a line of its own, or of a site, prints none here.
        printed.wait(60 if args[0] == "bench" else 0.1)
        raise SystemExit(0)

    monkeypatch.setattr(progress_lines, "LINE_SECONDS", 0.01)
    monkeypatch.setattr(program, "app", command)
    monkeypatch.setattr(sys, "stderr", Stream())
    for words in (["evaluate"], ["mcp"], ["status"], ["nothing"], ["bench", "execution", "--only", "cold"]):
        with pytest.raises(SystemExit):
            program.main(words)
    assert set(lines) == {"planarena bench execution: 0 s\n"}
