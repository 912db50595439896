"""The examples are what somebody starts from: they must be right, and short."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from evaluator.core.planner import request_for
from evaluator.core.suites.registry import suite_of
from evaluator.replies.read import read_plan
from tests.end_to_end.endpoints import example
from tests.processes import ROOT
from tests.recipes import apply, blocks, changed_files, linked_copy, titles


def test_the_example_endpoint_plans_every_request_as_the_gold_does():
    suite = suite_of("openagi")
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
        request = request_for(suite=suite, task=task, context=context).model_dump()
        plan = read_plan(value=example().make_plan(request), context=context).plan
        assert plan == task.gold, task.text


def test_the_example_endpoint_has_fewer_than_60_lines():
    assert len((ROOT / "examples" / "planner_server.py").read_text().splitlines()) < 60


MODULES = {
    "An expert": "evaluator/execution/experts/lead.py",
    "A strategy": "evaluator/openagi/strategies/first_fit.py",
    "A plan form": "evaluator/replies/backward.py",
    "A kind of planner": "leaderboard/planners/kinds/fixed.py",
    "A class of flaws": "evaluator/studies/audit/classes/long_plans.py",
    "A page": "frontend/templates/people/profiles/newest.html",
}
"""Where the module or template of each recipe goes."""
PROSE = frozenset({"A suite", "A suite of your own package", "An expert of your own package", "Migrations", "Testing"})
"""Chapters without a recipe."""


def follow(title: str, *, folder: Path) -> dict[str, str]:
    """A copy of the repository with what a recipe adds and changes, and the environment of programs in it."""
    written = [text for language, text in blocks(title) if language in {"python", "html"}]
    diffs = [text for language, text in blocks(title) if language == "diff"]
    copy = folder / "copy"
    linked_copy(copy, changed=[MODULES[title], *(name for diff in diffs for name in changed_files(diff))])
    (copy / MODULES[title]).write_text("".join(written))
    for diff in diffs:
        apply(diff, root=copy)
    program = folder / "planarena"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m leaderboard.wiring.console "$@"\n')
    program.chmod(0o755)
    return os.environ | {
        "PYTHONPATH": str(copy),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PLANARENA_DATA": str(folder / "data"),
    }


def test_every_recipe_is_followed():
    assert set(titles()) - PROSE == set(MODULES)


@pytest.mark.parametrize("title", MODULES)
def test_code_of_a_recipe_passes_the_linter(title, tmp_path):
    follow(title, folder=tmp_path)
    copy = tmp_path / "copy"
    files = [str(path.relative_to(copy)) for path in copy.rglob("*.py") if not path.is_symlink()]
    ruff = [sys.executable, "-m", "ruff"]
    for command in ([*ruff, "check", *files], [*ruff, "format", "--diff", *files]):
        done = subprocess.run([*command, "--no-cache"], cwd=copy, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize("title", ["An expert", "A strategy", "A plan form"])
def test_the_commands_of_a_recipe_run_in_a_copy_that_follows_it(title, tmp_path):
    environment = follow(title, folder=tmp_path)
    ((_, console),) = [block for block in blocks(title) if block[0] == "console"]
    commands = "\n".join(line.removeprefix("$ ") for line in console.splitlines())
    done = subprocess.run(
        ["bash", "-euc", f"{commands} --output report"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (record,) = json.loads((tmp_path / "report").read_text())["results"]
    assert record["outcome"] == "scored"
    check = {"An expert": shortened, "A strategy": one_call, "A plan form": backward}[title]
    check(record)


def shortened(record):
    experts = {step["tool"]: step["expert"] for sample in record["samples"] for step in sample["steps"]}
    assert experts["Text Summarization"] == "lead/summarization"


def one_call(record):
    assert len(record["plan"]["steps"]) == 1


def backward(record):
    assert record["plan_received"] == "Image Captioning <- Image Denoising"
    assert [step["tool"] for step in record["plan"]["steps"]] == ["Image Denoising", "Image Captioning"]


@pytest.mark.full
@pytest.mark.django_db
@pytest.mark.parametrize("title", ["A kind of planner", "A page"])
def test_the_recipe_of_a_site_works_in_a_copy_that_follows_it(title, tmp_path):
    """In another process, since models are loaded once."""
    environment = follow(title, folder=tmp_path)
    database = json.dumps(connection.settings_dict, default=str)
    done = subprocess.run(
        [sys.executable, "-m", "tests.site_recipes", title, database],
        cwd=tmp_path / "copy", env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
