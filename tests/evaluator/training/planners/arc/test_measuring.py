"""Measuring with models that know the answers: what the compact style can reach, and what feedback is for."""

import pytest

from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.strategies.registry import named_strategy
from evaluator.planners.turns.strategies import strategy_planner_of
from evaluator.suites.arc.mini.draws import Source, draw_tasks
from evaluator.training.planners.arc.conversion import reply_of
from evaluator.training.planners.arc.measuring import Tasks, evaluator_of
from evaluator.world.seeds import Split
from tests.evaluator.training.planners.arc.test_lessons import VIEWS, asked

pytestmark = pytest.mark.full

TASKS = Tasks(split="validation", each=1)
DRAWN = draw_tasks(Source(split=Split.VALIDATION), count=1)
GOLD = {asked(task, view): task.rule.program() for task in DRAWN for view in VIEWS}
WRONG = reply_of("def transform_grid(grid):\n    return empty_grid(1, 1)")


def solved(strategy, script):
    planner = strategy_planner_of(
        strategy=named_strategy(f"{strategy}:model").strategy(with_model=True),
        model=ScriptedModel(script), name="oracle",
    )  # fmt: skip
    made = evaluator_of(TASKS)
    return [record.score for record in made.run(planner=planner, tasks=[task.key for task in made.suite.tasks])]


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_model_that_knows_the_program_solves_each_family(view):
    script = lambda call: reply_of(GOLD[call.messages[0].content])  # noqa: E731
    assert solved(f"arc-single:{view};style=compact;samples=1;loops=1", script) == [1.0] * len(DRAWN)


def test_a_model_that_needs_feedback_solves_only_with_it():
    def script(call):
        first, *told = call.messages
        return reply_of(GOLD[first.content]) if told and told[1].content.endswith("again\n") else WRONG

    assert solved("arc-single:grid;style=compact;samples=1;loops=2", script) == [1.0] * len(DRAWN)
    assert solved("arc-single:grid;style=compact;samples=2;loops=1", script) == [0.0] * len(DRAWN)
