"""Hidden tasks: right by two implementations, determined, and out of reach of all rules of the open splits."""

import pytest

from evaluator.arc.mini.draws import HIDDEN_VERSION, Source, draw_tasks, explaining, is_determined, known_rules
from evaluator.arc.mini.hidden.composed import Composed
from evaluator.miniature.seeds import Split
from tests.evaluator.arc.mini.samples import FEW, drawn, program, unsolved
from tests.rings import usual

SEEDS = [f"season {number}" for number in range(20)]


@pytest.mark.parametrize("seed", usual(SEEDS, of=SEEDS[:1]))
def test_gold_programs_solve_hidden_tasks(seed):
    tasks = draw_tasks(Source(split=Split.HIDDEN, hidden_seed=seed), count=FEW)
    assert unsolved(tasks, [program(task.rule.program()) for task in tasks]) == []


def test_no_rule_of_a_family_explains_a_hidden_task():
    """A planner that has stored all rules of the open splits and tries each solves none."""
    for task in drawn("hidden", count=FEW):
        assert isinstance(task.rule, Composed)
        assert next(explaining(task.demonstrations), None) is None, task.key
        assert is_determined(demonstrations=task.demonstrations, tests=task.tests, composed=True), task.key


def test_rules_that_explain_some_demonstrations_hardly_solve_hidden_tasks_and_all_open_ones():
    shares = {}
    for split in ("hidden", "validation"):
        tasks = drawn(split, count=FEW)
        shares[split] = sum(map(is_solved_by_known_rules, tasks)) / len(tasks)
    assert shares["validation"] == 1
    assert shares["hidden"] < 0.2


def is_solved_by_known_rules(task):
    """Whether one of three rules does, of those that explain the most demonstrations."""
    fits = [
        (sum(rule.apply(pair.input) == pair.output for pair in task.demonstrations), rule)
        for rule in known_rules(task.demonstrations)
    ]
    best = sorted((fit for fit in fits if fit[0]), key=lambda fit: -fit[0])[:3]
    return any(all(rule.apply(pair.input) == pair.output for pair in task.tests) for _, rule in best)


def test_the_rule_of_a_hidden_task_is_among_those_that_are_known_with_compositions():
    for task in drawn("hidden", count=FEW)[::5]:
        assert task.rule in set(explaining(task.demonstrations, composed=True)), task.key


def test_seasons_have_some_of_the_changes():
    kinds = [
        {type(task.rule.change) for task in draw_tasks(Source(split=Split.HIDDEN, hidden_seed=seed), count=1)}
        for seed in SEEDS[:3]
    ]
    assert all(len(kind) <= 5 for kind in kinds)
    assert len(set().union(*kinds)) > 5
    assert HIDDEN_VERSION == "1"
