"""Lists suit a terminal of any width, and other programs."""

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.commands.listing import Listing

SENTENCE = "A planner that does what it says in a sentence that is longer than most terminals are wide, by some words."
WIDTHS = (40, 60, 80, 120)


def shown(listing: Listing, *, width: int, terminal: bool = True) -> list[str]:
    output = io.StringIO()
    listing.show(Console(file=output, width=width, force_terminal=terminal, color_system=None, legacy_windows=False))
    return output.getvalue().splitlines()


def planners() -> Listing:
    listing = Listing("planner", "language model", "suites", "what it does", prose="what it does")
    listing.add_row("gold", "none", "all", SENTENCE)
    listing.add_row("openagi/[odd]:MODEL", "must generate and score", "tool100, tool2k, toolmini", SENTENCE)
    return listing


@pytest.mark.parametrize("width", WIDTHS)
def test_a_pipe_gets_a_line_for_each_row_of_any_length(width, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert shown(planners(), width=width, terminal=False) == [
        "planner              language model           suites                     what it does",
        f"gold                 none                     all                        {SENTENCE}",
        f"openagi/[odd]:MODEL  must generate and score  tool100, tool2k, toolmini  {SENTENCE}",
    ]


def test_no_line_of_a_list_is_wider_than_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("planners list", "tools list", "profiles list", "suites list", "profiles show paper"):
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
