"""Measuring with models that know the answers: what the compact style can reach, and what feedback is for."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.strategies.registry import named_strategy
from evaluator.planners.turns.strategies import strategy_planner_of
from evaluator.suites.arc.mini.draws import Source, draw_tasks
from evaluator.suites.arc.mini.families import FAMILIES
from evaluator.training.planners.arc.conversion import reply_of
from evaluator.training.planners.arc.measuring import Tasks, evaluator_of, measure
from evaluator.training.planners.arc.variants import MULTI, VARIANTS
from evaluator.training.planners.runs import ChoiceError
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


NAMES = [f"turn/{number}" for number in range(10)] + [f"crop/{number}" for number in range(10)]


def scores(*solved):
    """1 for these of the twenty tasks."""
    return {task: float(place in solved) for place, task in enumerate(NAMES)}


def test_the_command_prints_saved_scores_without_networks(tmp_path):
    folder = tmp_path / "seed-0" / "public-2"
    folder.mkdir(parents=True)
    for variant, solved in ((MULTI, [0, 1, 2]), ("objects", [0])):
        name = variant.replace(" ", "-")
        (folder / f"{name}.scores.json").write_text(json.dumps(scores(*solved)))
    out = tmp_path / "table.md"
    done = CliRunner().invoke(
        app, ["arc", "compare", "--work", str(tmp_path), "--seeds", "0", "--tasks", "2", "--out", str(out)]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "grid: the writer with the seed 0 is not trained yet" in done.output
    text = out.read_text()
    assert "| all views | 36 | 0.150 (" in text
    assert "| all views - objects | +0.100 (" in text
    assert "Share of 20 tasks of arc-mini (public-2)" in text


def test_tasks_to_measure_on_are_never_the_training_split_s(tmp_path):
    with pytest.raises(ChoiceError, match="there is no split 'train' to measure on; there are: public, validation"):
        evaluator_of(Tasks(split="train", each=1))
    made = evaluator_of(Tasks(split="validation", each=1))
    assert [task.key for task in made.suite.tasks] == [f"{family}/0" for family in FAMILIES]
    with pytest.raises(ChoiceError, match="the writer with the seed 3 is not trained yet"):
        measure(
            variant=VARIANTS[MULTI], seed=3, work=tmp_path, tasks=Tasks(split="public", each=1), evaluator=made
        )  # fmt: skip
