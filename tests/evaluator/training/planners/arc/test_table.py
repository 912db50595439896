"""The tables of the comparison, on scores that were made up, and where scores come from."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.suites.arc.mini.families import FAMILIES
from evaluator.training.planners.arc.measuring import Tasks, evaluator_of, measure
from evaluator.training.planners.arc.table import best_single, compared, gains, rows
from evaluator.training.planners.arc.variants import AS_MANY, MULTI, VARIANTS, WITHOUT
from evaluator.training.planners.causal.comparing import Measured
from evaluator.training.planners.runs import ChoiceError

pytestmark = pytest.mark.full

TASKS = [f"turn/{number}" for number in range(10)] + [f"crop/{number}" for number in range(10)]


def scores(*solved):
    """1 for these of the twenty tasks."""
    return {task: float(place in solved) for place, task in enumerate(TASKS)}


def test_variants_are_compared_by_task_and_seed_and_feedback_counts_in_both_directions():
    solved = {
        MULTI: (range(10), range(8)), MULTI + WITHOUT: (range(2, 11), range(8)), "grid": (range(1),),
        "objects": (range(4), range(4)), "grid" + AS_MANY: (range(5),),
    }  # fmt: skip
    measured = [
        Measured(variant=variant, seed=seed, scores=scores(*tasks))
        for variant, seeds in solved.items()
        for seed, tasks in enumerate(seeds)
    ]
    found = {row[0]: row for row in rows(measured)}
    assert (found[MULTI][1], found[MULTI][2][:7], found[MULTI][3]) == ("36", "0.450 (", "0.500, 0.400")
    assert found[MULTI + WITHOUT][1] == "12"
    assert [best_single(measured), best_single(measured, ending=AS_MANY)] == ["objects", "grid" + AS_MANY]
    differences = {name: difference.mean for name, difference in compared(measured)}
    assert differences == {
        f"{MULTI} - objects": pytest.approx(10 / 40), f"{MULTI} - grid{AS_MANY}": pytest.approx(5 / 20),
        f"{MULTI} - {MULTI}{WITHOUT}": pytest.approx(1 / 40),
    }  # fmt: skip
    # Of 40: two tasks of the first seed only with feedback, one only without.
    ((_, only_with, only_without),) = gains(measured)
    assert (only_with[:7], only_without[:7]) == ("0.050 (", "0.025 (")


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
