"""Rules: what they do on small grids, written by hand, and their steps."""

import json

import pytest

from evaluator.suites.arc.candidates import STEPS, Kept, Track
from evaluator.suites.arc.candidates.forms import read_candidate
from evaluator.suites.arc.grids import grid_of_letters
from evaluator.suites.arc.mini.determined import explaining
from evaluator.suites.arc.mini.families import FAMILIES
from evaluator.suites.arc.mini.families.approach import Approach
from evaluator.suites.arc.mini.families.connect import Connect
from evaluator.suites.arc.mini.families.count import Count
from evaluator.suites.arc.mini.families.crop import Crop
from evaluator.suites.arc.mini.families.denoise import Denoise
from evaluator.suites.arc.mini.families.enclose import Fill
from evaluator.suites.arc.mini.families.gravity import Fall
from evaluator.suites.arc.mini.families.mark import Mark
from evaluator.suites.arc.mini.families.rays import Shoot
from evaluator.suites.arc.mini.families.stamp import Stamp
from evaluator.suites.arc.mini.families.symmetry import Mirror, Way
from evaluator.suites.arc.mini.families.turn import Turn
from tests.evaluator.suites.arc.letters import grid
from tests.evaluator.suites.arc.mini.samples import drawn, unsolved

CASES = [
    (Turn(quarters=1, is_flipped=False), ("ab", "c."), ("ca", ".b")),
    (Turn(quarters=1, is_flipped=True), ("ab", "c."), ("ac", "b.")),
    (Turn(quarters=2, is_flipped=False, old=1, new=4), ("ab", "c."), (".c", "bd")),
    (Mirror(way=Way.FLIP, axis="rows"), ("ab", "c."), ("c.", "ab")),
    (Mirror(way=Way.APPEND, axis="columns"), ("ab", "c."), ("abba", "c..c")),
    (Mirror(way=Way.PREPEND, axis="rows"), ("ab", "c."), ("c.", "ab", "ab", "c.")),
    (Mirror(way=Way.COMPLETE, axis="both"), ("a..", "...", "..."), ("a.a", "...", "a.a")),
    (Fall(side=0), ("a.", "bc", ".."), ("..", "a.", "bc")),
    (Fall(side=3, mover=1), (".b.a", "a..a"), (".ba.", "aa..")),
    (Connect(axes=("row",)), ("a..a", "b...", "b..c"), ("aaaa", "b...", "b..c")),
    (Connect(axes=("row", "col"), paint=2), ("a.a", "...", "a.c"), ("aba", "b..", "a.c")),
    (Shoot(ways="right", stops=True), ("a.b.", "..c."), ("aabb", "..cc")),
    (Shoot(ways="row", source=1), (".ab.", "c..."), ("aaba", "c...")),
    (Fill(inside=2), ("aaa..", "a.a..", "aaa.a"), ("aaa..", "aba..", "aaa.a")),
    (Fill(inside=0, frame=3), ("aaa", "a.a", "aaa"), ("ccc", "cac", "ccc")),
    (Count(what="objects", paint=2), ("aa.a", "...c"), ("bbb",)),
    (Count(what="cells", colour=1, layout="diagonal", paint=1), ("a.a", "b.a"), ("a..", ".a.", "..a")),
    (Count(what="bars"), ("a.b", "b.b"), ("bbb", "a..")),
    (Crop(which="largest", then="columns"), ("aa...", "a..b.", "....."), ("aa", ".a")),
    (Crop(which="all"), (".....", ".a.b.", "....."), ("a.b",)),
    (Crop(which="odd"), ("a..b", "....", "a..."), ("b",)),
    (Mark(which="largest", paint=2, others=3), ("aa..", "...a"), ("bb..", "...c")),
    (Mark(which="border", paint=2), ("a....", "..a..", "....."), ("b....", "..a..", ".....")),
    (Denoise(colour=2, mends=True), ("aaa.b", "aba..", "aaa.."), ("aaa..", "aaa..", "aaa..")),
    (Denoise(least=3), ("aaa.b", ".....", "...bb"), ("aaa..", ".....", ".....")),
    (Approach(mover=1, target=2), ("a.b", "..b", "..."), (".ab", "..b", "...")),
    (Approach(mover=1, target=2, paint=3, trails=True), ("a...b", "....."), ("aaacb", ".....")),
    (Stamp(marker=1, pattern="plus", paint=2), ("...", ".a.", "..."), (".b.", "bab", ".b.")),
    (Stamp(marker=1, pattern="copy"), ("cc...", "c....", "...a.", "....."), ("cc...", "c....", "...cc", "...c.")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "given", "right"), CASES, ids=lambda value: type(value).__name__)
def test_a_rule_does_what_its_description_says(rule, given, right):
    assert rule.apply(grid_of_letters(grid(*given))) == grid_of_letters(grid(*right))


def test_every_family_is_among_the_cases():
    modules = {type(rule).__module__.rpartition(".")[2] for rule, _, _ in CASES}
    assert modules == set(FAMILIES)


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


@pytest.mark.parametrize("split", ["public", "hidden", "train"])
def test_a_rule_is_among_those_that_explain_its_own_task(split):
    missing = [task.key for task in drawn(split) if task.rule not in list(explaining(task.demonstrations))]
    assert missing == []
