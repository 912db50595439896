"""The check that demonstrations leave one answer."""

import json

import pytest

from evaluator.arc.candidates import ArcCandidate, Track
from evaluator.arc.grids import Demonstration, grid_of_letters
from evaluator.arc.mini.draws import explaining, is_determined, rivals
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.families.approach import Approach
from evaluator.arc.mini.families.count import Count
from evaluator.arc.mini.families.crop import Crop
from evaluator.arc.mini.families.denoise import Denoise
from evaluator.arc.mini.families.enclose import Fill
from evaluator.arc.mini.families.gravity import Fall
from evaluator.arc.mini.families.rays import Shoot
from evaluator.arc.mini.families.stamp import Stamp
from evaluator.arc.mini.families.symmetry import Mirror, Way
from evaluator.arc.mini.families.turn import Turn
from evaluator.arc.plan_forms import STEPS, read_candidate
from tests.evaluator.arc.letters import grid
from tests.evaluator.arc.mini.samples import FEW, drawn, unsolved


def pairs(rule, *inputs):
    grids = [grid_of_letters(grid(*rows)) for rows in inputs]
    return [Demonstration(input=one, output=rule.apply(one)) for one in grids]


HALF = Turn(quarters=2, is_flipped=False)
SYMMETRIC = ("aba", "c.c")
"""Its columns read the same in reverse, so that turning it by half is reversing its rows."""
OTHER = ("ab.", "c.c")


def test_every_drawn_task_is_determined(full):
    """Of a split all families share their code, so that a few tasks of each stand for the others."""
    for split in ("public", "validation", "hidden", "train"):
        tasks = drawn(split, count=10 if full else FEW)
        assert len(tasks) >= 24
        composed = split == "hidden"
        assert [
            task.key
            for task in tasks
            if not is_determined(demonstrations=task.demonstrations, tests=task.tests, composed=composed)
        ] == []


def test_no_rule_that_explains_a_task_is_left_out():
    colours = range(1, 10)
    every = [rule for family in FAMILIES.values() for rule in family.rules(read=colours, written=colours)]
    assert len(every) > 4_000
    for task in drawn("public", count=FEW)[::3]:
        shown = task.demonstrations
        found = {rule for rule in every if all(rule.apply(pair.input) == pair.output for pair in shown)}
        assert found == set(explaining(shown)), task.key


def test_an_undetermined_task_is_found_with_its_rival():
    shown, tests = pairs(HALF, SYMMETRIC), pairs(HALF, OTHER)
    assert not is_determined(demonstrations=shown, tests=tests)
    assert Mirror(way=Way.FLIP, axis="rows") in list(rivals(demonstrations=shown, tests=tests))
    # One more demonstration that is not symmetric leaves only the right rule.
    assert is_determined(demonstrations=[*shown, *pairs(HALF, ("d..", ".ee"))], tests=tests)


def test_rules_that_agree_on_the_tests_are_no_rivals():
    shown, tests = pairs(HALF, SYMMETRIC), pairs(HALF, ("bab", "d.d"))
    assert len(list(explaining(shown))) > 1
    assert is_determined(demonstrations=shown, tests=tests)


def test_rivals_of_another_colour_and_another_property_are_found():
    largest = Crop(which="largest")
    shown = pairs(largest, ("aa..", "a..b"), ("aa.b", "...."))
    tests = pairs(largest, ("a..b", "...b"))
    found = list(rivals(demonstrations=shown, tests=tests))
    assert Crop(which="colour", colour=1) in found


def test_a_rule_that_says_nothing_about_a_test_is_no_rival():
    down = Fall(side=0)
    shown, tests = pairs(down, ("aa", ".."), ("a.", "..")), pairs(down, ("bb", ".."))
    explained = list(explaining(shown))
    assert Fall(side=0, mover=1) in explained
    assert Fall(side=0, mover=1) not in list(rivals(demonstrations=shown, tests=tests))


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
    assert unsolved(tasks, [ArcCandidate(Track.STEPS, json.loads(one.arguments)) for one in candidates]) == []
