"""The examples are what somebody starts from: they must be right, and short."""

import json
import os
import subprocess
import sys

import pytest
from django.db import connection

from evaluator.planners import request_for
from evaluator.plans import read_plan
from evaluator.suites import suite_of
from tests.end_to_end.arena import ROOT
from tests.end_to_end.endpoints import example
from tests.recipes import apply, blocks, changed_files, linked_copy

OPENAGI = suite_of("openagi")


def test_the_example_endpoint_plans_every_request_as_the_gold_does():
    for task in OPENAGI.tasks:
        context = OPENAGI.context(task=task, offered=frozenset(OPENAGI.catalogue.tools))
        request = request_for(suite=OPENAGI, task=task, context=context).model_dump()
        plan = read_plan(value=example().make_plan(request), context=context).plan
        assert plan == task.gold, task.text


def test_the_example_endpoint_has_fewer_than_60_lines():
    assert len((ROOT / "examples" / "planner_server.py").read_text().splitlines()) < 60


def test_the_changes_in_the_recipe_for_a_page_fit_the_files(tmp_path):
    ((_, diff),) = [block for block in blocks("A page") if block[0] == "diff"]
    linked_copy(tmp_path, changed=changed_files(diff))
    apply(diff, root=tmp_path)
    for name in changed_files(diff):
        assert "newest" in (tmp_path / name).read_text()
        assert '"profiles:newest"' not in (ROOT / name).read_text()


@pytest.mark.django_db
def test_the_kind_of_planner_in_the_recipe_comes_from_the_api_to_a_board(tmp_path):
    """In a copy with the recipe's files and another process, since models are loaded once."""
    ((_, module),) = [block for block in blocks("A kind of planner") if block[0] == "python"]
    ((_, diff),) = [block for block in blocks("A kind of planner") if block[0] == "diff"]
    linked_copy(tmp_path, changed=changed_files(diff))
    (tmp_path / "leaderboard/planners/kinds/fixed.py").write_text(module)
    apply(diff, root=tmp_path)
    database = json.dumps(connection.settings_dict, default=str)
    done = subprocess.run(
        [sys.executable, "-m", "tests.example_kind", database],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
