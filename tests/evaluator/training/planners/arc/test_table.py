"""The tables of the comparison, on scores that were made up, and where scores come from."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.suites.arc.mini.families import FAMILIES
from evaluator.training.planners.arc.measuring import Tasks, evaluator_of, measure
from evaluator.training.planners.arc.table import best_single, compared, rows
from evaluator.training.planners.arc.variants import AS_MANY, MULTI, VARIANTS, WITHOUT
from evaluator.training.planners.causal.comparing import Measured
from evaluator.training.planners.runs import ChoiceError

TASKS = [f"turn/{number}" for number in range(10)] + [f"crop/{number}" for number in range(10)]


def scores(*solved):
    """1 for these of the twenty tasks."""
    return {task: float(place in solved) for place, task in enumerate(TASKS)}


MEASURED = [
    Measured(variant=MULTI, seed=0, scores=scores(*range(10))),
    Measured(variant=MULTI, seed=1, scores=scores(*range(8))),
    Measured(variant=MULTI + WITHOUT, seed=0, scores=scores(*range(2, 11))),
    Measured(variant=MULTI + WITHOUT, seed=1, scores=scores(*range(8))),
    Measured(variant="grid", seed=0, scores=scores(0)),
    Measured(variant="objects", seed=0, scores=scores(*range(4))),
    Measured(variant="objects", seed=1, scores=scores(*range(4))),
    Measured(variant="grid" + AS_MANY, seed=0, scores=scores(*range(5))),
]


def test_a_row_has_the_mean_over_seeds():
    found = {row[0]: row for row in rows(MEASURED)}
    assert found[MULTI][1] == "36"
    assert found[MULTI][2].startswith("0.450 (")
    assert found[MULTI][3] == "0.500, 0.400"
    assert found["objects"][1:] == ("9", found["objects"][2], "0.200, 0.200")
    assert found[MULTI + WITHOUT][1] == "12"
    assert "pixels" not in found


def test_the_best_single_view_is_compared_with_all_views_by_task_and_seed():
    assert best_single(MEASURED) == "objects"
    assert best_single(MEASURED, ending=AS_MANY) == "grid" + AS_MANY
    assert best_single([]) == ""
    found = dict(compared(MEASURED))
    assert found[f"{MULTI} - objects"].mean == pytest.approx((6 + 4) / 40)
    assert found[f"{MULTI} - grid{AS_MANY}"].mean == pytest.approx(5 / 20)
    assert found[f"{MULTI} - {MULTI}{WITHOUT}"].mean == pytest.approx((10 - 9 + 0) / 40)
    assert len(found) == 3


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
