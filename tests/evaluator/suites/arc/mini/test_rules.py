"""Rules: what they do on small grids, written by hand, and their steps."""

import json

import pytest

from evaluator.suites.arc.candidates import STEPS, Kept, Track
from evaluator.suites.arc.candidates.forms import read_candidate
from evaluator.suites.arc.grids import grid_of_letters
from evaluator.suites.arc.mini.families.approach import Approach
from evaluator.suites.arc.mini.families.count import Count
from evaluator.suites.arc.mini.families.crop import Crop
from evaluator.suites.arc.mini.families.denoise import Denoise
from evaluator.suites.arc.mini.families.enclose import Fill
from evaluator.suites.arc.mini.families.gravity import Fall
from evaluator.suites.arc.mini.families.rays import Shoot
from evaluator.suites.arc.mini.families.stamp import Stamp
from evaluator.suites.arc.mini.families.turn import Turn
from tests.evaluator.suites.arc.letters import grid
from tests.evaluator.suites.arc.mini.samples import drawn, unsolved


@pytest.mark.parametrize(
    "rule",
    [
        Turn(quarters=1, is_flipped=False, old=9, new=1), Fall(side=0, mover=9), Shoot(ways="up", source=9),
        Count(what="objects", paint=1, colour=9), Crop(which="colour", colour=9), Denoise(colour=9),
        Approach(mover=9, target=1), Approach(mover=1, target=9), Stamp(marker=9, pattern="ring"), Fill(inside=9),
    ],
    ids=repr,
)  # fmt: skip
def test_a_rule_says_nothing_about_what_does_not_occur(rule):
    assert rule.apply(grid_of_letters(grid("a.b", "...", "..c"))) is None


def test_steps_solve_the_tasks_of_the_rules_that_have_them():
    tasks = [task for task in drawn("public") if task.rule.steps()]
    assert {task.family for task in tasks} == {"turn", "symmetry", "crop", "denoise"}
    candidates = [read_candidate(task.rule.steps()) for task in tasks]
    assert {candidate.tool for candidate in candidates} == {STEPS}
    assert unsolved(tasks, [Kept(Track.STEPS, json.loads(one.arguments)) for one in candidates]) == []
