"""Helps of commands are plain text that 80 columns hold, with options in groups."""

import re

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app, leaves, program
from evaluator.client.shapes import PlannerEntry
from evaluator.client.submitting import FIELD_OPTIONS
from evaluator.core.commands.groups import MOST_UNGROUPED
from gpu_jobs.__main__ import parser
from leaderboard.evaluations.web.reports.command import application
from leaderboard.wiring.console import usage

GROUPS = [name for name, command in program().commands.items() if hasattr(command.load(), "commands")]


@pytest.fixture
def help_of(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def run(words: str) -> str:
        done = CliRunner().invoke(app, [*words.split(), "--help"])
        assert done.exit_code == 0, (words, done.exception)
        return done.stdout

    return run


def test_no_line_of_any_help_is_wider_than_80_columns(help_of, monkeypatch):
    texts = {words: help_of(words) for words in ("", *GROUPS, *(words for words, _ in leaves()))}
    texts |= {"planarena": usage(), "worker": parser().format_help()}
    texts["view"] = CliRunner().invoke(application(), ["--help"]).stdout
    assert "--bundle DIR" in texts["view"]
    wide = {words: [line for line in text.splitlines() if len(line) > 80] for words, text in texts.items()}
    assert {words: lines for words, lines in wide.items() if lines} == {}


def test_every_option_is_printed_whole_with_one_sentence(help_of):
    for words, command in leaves():
        printed = help_of(words)
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert all(re.search(rf"{option}(?![\w-])", printed) for option in parameter.opts), (words, parameter)
            assert re.fullmatch(r"\S(?:(?![.?!]\s).)*\.", parameter.help or ""), (words, parameter.opts, parameter.help)


def test_options_of_submit_are_in_groups_by_kind_of_planner(help_of):
    groups = re.findall(r"^(\S.*):$((?:\n +.*)+)", help_of("submit"), re.MULTILINE)
    options = {heading: set(re.findall(r"^  (--[\w-]+)", lines, re.MULTILINE)) for heading, lines in groups}
    assert options["Planner, one of"] == {"--planner", "--model", "--checkpoint", "--chat", "--plans", "--agent"}
    assert options["With --model, --checkpoint or --chat, or a --role for each role"] == {
        "--strategy",
        "--chat-model",
        "--option",
        "--role",
        "--role-header",
    }
    assert {"--timeout", "--header"} < options["With --chat or the URL of an endpoint"]
    assert options["Options"] == {"--json", "--output", "--url", "--patience", "--help"}
    assert max(map(len, options.values())) < 12


def test_long_helps_list_their_options_in_groups(help_of):
    long, ungrouped = {}, {}
    for words, command in leaves():
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        if len(options) > MOST_UNGROUPED:
            headings = re.findall(r"^(\S.*):$((?:\n(?: +.*)?)+)", help_of(words), re.MULTILINE)
            groups = {heading: len(re.findall(r"^  --", lines, re.MULTILINE)) for heading, lines in headings}
            long[words] = groups
            if len(groups) < 2 or max(groups.values()) > 10:
                ungrouped[words] = groups
    assert ungrouped == {}
    assert list(long["evaluate"])[:2] == ["Suite and data", "Planner"]
    assert all(list(groups)[-1] == "Options" for groups in long.values())


def test_every_field_of_a_planner_is_an_option_of_submit_or_follows_from_others():
    others = {"name", "kind", "bundled_name", "endpoint_url", "model_id", "revision", "checkpoint_digest", "plans"}
    others |= {"options", "roles"}
    assert set(PlannerEntry.model_fields) == {*FIELD_OPTIONS, *others, "header_name", "header_value"}
