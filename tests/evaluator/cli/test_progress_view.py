"""The bar of an evaluation."""

import io
import re
import sys
import time
from itertools import pairwise
from threading import Event

import pytest
from rich.console import Console

from evaluator.cli import main as program
from evaluator.cli import progress_lines
from evaluator.cli.progress_lines import Cadence, span_in_words
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
    assert re.fullmatch(r"gold on openagi: 1/185 tasks; about .+ left, .+ tasks/s", first)
    assert last.startswith(
        "gold on openagi: 1/185 tasks; about 1 h 56 min left, 0.3 calls/s; Visual Question Answering, 8000 calls"
    )


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


def printed(*, hours, share):
    """The times at which lines are printed, in units of ten seconds, if a look is taken at each."""
    cadence = Cadence()
    times = range(1, int(hours * 360) + 1)
    return [time for time in times if cadence.is_due(text=f"{time} s", share=share(time / 360 / hours), units=time)]


def test_a_log_has_a_line_for_each_tenth_and_stays_short():
    steady = printed(hours=1, share=lambda time: time)
    assert len(steady) < 25
    assert all(later - earlier <= 36 for earlier, later in pairwise(steady))
    stuck = printed(hours=6, share=lambda _: 0.0)
    assert stuck[:5] == [1, 3, 7, 15, 31]
    assert len(stuck) < 80
    assert max(later - earlier for earlier, later in pairwise(stuck)) == 30
    fast = printed(hours=0.05, share=lambda time: time)
    assert len(fast) <= 18


def test_without_a_share_a_line_that_differs_in_words_is_printed():
    cadence = Cadence()
    due = [
        cadence.is_due(text=text, share=None, units=units)
        for units, text in enumerate(["openagi 1/3", "openagi 2/3", "arc 1/9", "arc 2/9"], start=1)
    ]
    assert due == [True, False, True, False]


def test_a_terminal_shows_rate_and_remaining_time_in_80_columns():
    output, now = io.StringIO(), [0.0]
    console = Console(file=output, force_terminal=True, width=80)
    with ProgressView(title="gold on toolmini", tasks=100, console=console, clock=lambda: now[0]) as view:
        now[0] = 5.0
        for _ in range(10):
            view.task_completed()
        view._bars.refresh()
        assert "about 45 s left, 2.0 tasks/s" in output.getvalue()
        view.executed(BUSY)
        view._bars.refresh()
        assert "about 1 h 56 min left" in output.getvalue()
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= 80


def test_spans_have_two_units_at_most():
    words = {0.2: "0 s", 41: "41 s", 200: "3 min 20 s", 1200: "20 min", 7000: "1 h 56 min", 7200: "2 h"}
    assert {seconds: span_in_words(seconds) for seconds in words} == words
