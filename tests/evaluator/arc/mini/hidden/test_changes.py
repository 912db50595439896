"""Changes of whole grids: their programs and their inverses."""

import pytest

from evaluator.arc.candidates import Work, run_all
from evaluator.arc.grids import Demonstration
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.draws import Source
from evaluator.arc.mini.hidden.changes import NAMES, Exchange, Frame, Roll, changes, draw_change
from evaluator.arc.mini.hidden.composed import between
from evaluator.arc.mini.rules import program_of
from evaluator.miniature.seeds import Split
from evaluator.sandbox.programs.runner import Runner
from tests.evaluator.arc.mini.samples import program

DICE = Dice(Source(split=Split.TRAIN).stream("grids of a test", 0))
GRIDS = [
    tuple(tuple(DICE.below(4) for _ in range(cols)) for _ in range(rows))
    for rows, cols in ((1, 1), (1, 5), (4, 1), (3, 4), (5, 5), (6, 3))
]
EVERY = list(changes(colours=(1, 2, 3)))


@pytest.mark.parametrize("change", EVERY, ids=repr)
def test_a_change_can_be_undone(change):
    for grid in GRIDS:
        assert change.undo(change.apply(grid)) == grid
        if change.keeps_size:
            assert change.apply(change.undo(grid)) == grid


def test_programs_give_what_functions_give():
    works = [
        Work(candidate=program(program_of(*change.lines(), "return grid")), demonstrations=GRIDS, tests=[])
        for change in EVERY
    ]
    with Runner(library=[library()]) as runner:
        made = run_all(works, runner=runner)
    for change, outputs in zip(EVERY, made, strict=True):
        assert list(outputs.demonstrations) == [change.apply(grid) for grid in GRIDS], change


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_drawn_as_one_of_all_changes(name):
    colours = range(1, 10)
    assert draw_change(DICE, name) in set(changes(colours=colours))


@pytest.mark.parametrize("change", [Frame(1), Roll("rows", 1), Exchange(1, 2)], ids=repr)
def test_a_grid_that_is_no_result_of_a_change_leaves_nothing_to_explain(change):
    same = Demonstration(input=((3, 3), (3, 3)), output=((3, 3), (3, 3)))
    assert between(change, [same], change_first=False) is None
