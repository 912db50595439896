"""Commands in the documentation are ones that this release has: every name, every option."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup

from evaluator.cli.main import member, program
from leaderboard.evaluations.web.reports.command import application
from tests.run import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
ELSEWHERE = {"demo", "dev", "lock", "manage", "serve", "test", "wheel", "worker"}
"""Commands of other programs, which `./planarena` or the site's own parsers read."""
_COMMAND = re.compile(r"(?:^|[\s`$(])(?:\./)?planarena ((?:[^`\n\\#]|\\\n)+)")


def commands(page: Path) -> Iterator[str]:
    """What stands behind `planarena` in blocks of code and between backquotes."""
    text = page.read_text(encoding="utf-8")
    # Fences lose their frames and lines keep their indentation of four; of running text only what is quoted counts.
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"^(?: {4}.*\n)+", rest, re.MULTILINE)
    for block in blocks:
        yield from _COMMAND.findall(block)
    for quoted in re.findall(r"`([^`\n]+)`", rest):
        yield from _COMMAND.findall(f" {quoted}")


def words_of(command: str) -> list[str]:
    before = re.split(r"\s[|>&;]|\s{2,}[a-z]", command.replace("\\\n", " "))[0]
    try:
        return shlex.split(before)
    except ValueError:
        return before.split()


def problem_with(words: list[str]) -> str:
    """What this release does not know; empty if nothing."""
    command: Any = program()
    rest = list(words)
    if not re.fullmatch(r"[a-z][a-z-]*", rest[0]) or rest[0] in ELSEWHERE:
        return ""
    if rest[0] == "view":
        command, rest = typer.main.get_command(application()), rest[1:]
    while isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        found = member(command, rest[0])
        if found is None:
            return f"no command {rest[0]}"
        command, rest = found, rest[1:]
    known = {"--help"} | {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in rest if re.match(r"--[a-z]", word) and word.partition("=")[0] not in known]
    return f"{command.name} has no {', '.join(unknown)}" if unknown else ""


def test_every_command_of_a_page_exists():
    found = {
        (page.name, command): problem_with(words)
        for page in PAGES
        for command in commands(page)
        if (words := words_of(command))
    }
    assert {command: problem for command, problem in found.items() if problem} == {}


def test_commands_are_found_where_they_stand():
    found = [words_of(command) for command in commands(ROOT / "README.md")]
    assert ["suites", "fetch", "controlllm"] in found
    assert len(found) > 20


def test_what_does_not_exist_is_found():
    assert problem_with(["evaluated"]) == "no command evaluated"
    assert problem_with(["evaluate", "--suits", "openagi"]) == "evaluate has no --suits"
    assert problem_with(["view", "report.json", "--bundel", "x"]) == "view has no --bundel"
    assert problem_with(["suites", "shows"]) == "no command shows"
