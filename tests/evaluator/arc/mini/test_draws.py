"""Drawn tasks: gold programs and steps, splits that share no input, and determinism."""

import pytest

from evaluator.arc.grids import numbers_of, size_of
from evaluator.arc.mini.draws import EACH, VERSION, Source, draw_family, draw_tasks, split_of
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.hidden.composed import Composed
from evaluator.core import canonical_json
from evaluator.miniature.seeds import Split
from tests.evaluator.arc.mini.samples import FEW, SOURCES, drawn, program, unsolved

DIGEST = "cdfd46b4391a9a8b398d07cfdebbe266cbfc62115eaf8601c46ce2cb1209dc4b"
"""Of the public tasks. A change of it needs a new version of the generators."""


def as_json(tasks):
    return [
        {"key": task.key, "pairs": [[numbers_of(pair.input), numbers_of(pair.output)] for pair in task.pairs]}
        for task in tasks
    ]


def test_gold_programs_solve_every_task_of_the_splits_that_are_no_boards():
    for split in ("validation", "train"):
        tasks = drawn(split, count=FEW)
        assert len(tasks) == len(FAMILIES) * FEW
        assert unsolved(tasks, [program(task.rule.program()) for task in tasks]) == []


def test_the_public_split_has_as_many_tasks_of_every_family_and_all_their_kinds():
    tasks = drawn("public")
    assert [task.family for task in tasks] == [name for name in FAMILIES for _ in range(EACH)]
    assert {(task.family, task.kind) for task in tasks} == {
        (f.name, kind) for f in FAMILIES.values() for kind in f.kinds
    }


def test_tasks_have_the_form_that_is_documented():
    for task in (task for split in SOURCES for task in drawn(split, count=FEW)):
        assert len(task.demonstrations) in {3, 4}
        assert len(task.tests) in {1, 2}
        grids = [grid for pair in task.pairs for grid in (pair.input, pair.output)]
        assert len(set(grids)) == len(grids), task.key
        assert max(side for grid in grids for side in size_of(grid)) <= (24 if isinstance(task.rule, Composed) else 12)


def test_splits_share_no_input_and_no_task_is_there_twice():
    inputs = {split: [pair.input for task in drawn(split, count=FEW) for pair in task.pairs] for split in SOURCES}
    every = [grid for grids in inputs.values() for grid in grids]
    assert len(set(every)) == len(every) > 4 * 12 * FEW * 4
    for split, grids in inputs.items():
        assert {split_of(grid) for grid in grids} == {Split(split)}
        outputs = {pair.output for task in drawn(split, count=FEW) for pair in task.pairs}
        assert outputs.isdisjoint(set(every) - set(grids))


def test_hidden_tasks_follow_from_the_seed():
    other = Source(split=Split.HIDDEN, hidden_seed="another secret")
    assert as_json(draw_tasks(other, count=1)) != as_json(drawn("hidden", count=1))
    with pytest.raises(ValueError, match="the hidden split needs its secret seed"):
        draw_tasks(Source(split=Split.HIDDEN))


def test_the_public_split_is_the_same_everywhere():
    assert VERSION == "1"
    assert canonical_json.digest(as_json(drawn("public"))) == DIGEST


def test_training_tasks_go_on_where_they_ended():
    whole = list(draw_family(family="turn", source=SOURCES["train"], count=6))
    assert list(draw_family(family="turn", source=SOURCES["train"], count=2, start=4)) == whole[4:]
