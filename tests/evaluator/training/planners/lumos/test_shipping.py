"""Shipping LUMOS's modules: copies, cards with figures, digests."""

import json

import pytest

from evaluator.experts.weights import weights_digest
from evaluator.planners.language_models.shipped import LUMOS_MODULES
from evaluator.training.planners.lumos.shipping import ship
from evaluator.training.planners.lumos.training import Order, Recipe, Shape, train_module
from evaluator.training.planners.lumos.variants import GROUPS
from evaluator.training.planners.runs import ChoiceError


@pytest.fixture
def work(tmp_path):
    """Networks of one step, with scores that were made up."""
    seed = tmp_path / "work" / "seed-3"
    seed.mkdir(parents=True)
    data = tmp_path / "plan_iterative.jsonl"
    messages = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "R1 = Calculator(1 + 1)"}]
    data.write_text(json.dumps({"dataset": "lumos-mini-maths", "id": "maths_0", "messages": messages}) + "\n")
    for module in LUMOS_MODULES:
        shape = Shape(width=8, feed_forward=8, layers=1, heads=1)
        train_module(Order(data=(data,), out=seed / module.replace("-", "_"), recipe=Recipe(1, 1e-3), shape=shape))
    tasks = [f"{group}/{number}" for group in GROUPS for number in range(4)]
    scores = {task: float(task.startswith("sql")) for task in tasks}
    for name in ("iterative", "integrated"):
        (seed / f"{name}.scores.json").write_text(json.dumps(scores))
    return tmp_path / "work"


def test_modules_are_copied_with_their_figures_and_locked(work, tmp_path):
    weights = tmp_path / "weights"
    folders = ship(work=work, seed=3, weights=weights)
    assert [folder.name for folder in folders] == list(LUMOS_MODULES)
    lock = json.loads((weights / "lock.json").read_text())
    for folder in folders:
        assert lock[f"lilliput-lumos/{folder.name}"] == weights_digest(folder)
        card = (folder / "card.md").read_text()
        assert "planarena lumos train " + folder.name.replace("-", "_") + " --seed 3`, 1 steps" in card
        assert "- sql: 1.000" in card
        assert "- all: 0.200 (" in card
        assert "Share of the 20 public tasks" in card


def test_what_was_not_measured_is_not_shipped(work, tmp_path):
    (work / "seed-3" / "integrated.scores.json").unlink()
    with pytest.raises(ChoiceError, match="integrated is not trained and measured yet"):
        ship(work=work, seed=3, weights=tmp_path / "weights")
    assert not (tmp_path / "weights").exists()
