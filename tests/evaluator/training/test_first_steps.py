"""One short training of each kind: of experts and of planners. Full runs have all others."""

import json
import math

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("one_thread")


def same(one, other):
    """Whether two folders hold the same weights."""
    from safetensors.torch import load_file

    first, second = (load_file(folder / "model.safetensors") for folder in (one, other))
    return first.keys() == second.keys() and all((value == second[name]).all() for name, value in first.items())


def test_an_expert_that_was_cut_off_ends_with_the_same_weights_and_writes_their_digest(tmp_path):
    from dataclasses import replace

    from evaluator.execution.experts.weights import weights_digest
    from evaluator.studies.experts.recipes import Order, train

    order = Order(model="super-resolution", work=tmp_path / "a", weights=tmp_path / "whole", steps=2, scenes=8)
    whole = train(order)
    cut = replace(order, work=tmp_path / "b", weights=tmp_path / "cut")
    assert train(replace(cut, stop_after=1)) is None
    assert same(train(replace(cut, resume=True)), whole)
    assert weights_digest(whole) in (tmp_path / "whole" / "lock.json").read_text()


def test_a_step_of_an_expert_depends_on_its_numbers_alone_and_changes_every_parameter(tmp_path):
    import torch

    from evaluator.studies.experts.recipes import RECIPES

    recipe = RECIPES["character-recognition"]
    torch.manual_seed(0)
    model, objective = recipe.build(), recipe.objective(None, tmp_path)
    first, again = (objective.loss(model=model, rng=np.random.default_rng([0, 1])) for _ in range(2))
    assert math.isfinite(first.item())
    assert first.item() == again.item()
    first.backward()
    assert {name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()} == set()


@pytest.fixture
def planner(tmp_path):
    from evaluator.openagi.training.pretraining import planner_tokenizer
    from evaluator.training.export import export_transformers, write_tokenizer
    from tests.evaluator.openagi.training.models import tiny_module

    export_transformers(tiny_module().eval(), tmp_path / "tiny")
    write_tokenizer(tokenizer=planner_tokenizer(), folder=tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_planner_is_fine_tuned_on_its_tasks_and_goes_on_where_it_was(planner, tmp_path):
    from evaluator.openagi.training.finetuning import FineTuning, fine_tune
    from evaluator.training.runs import SettingsError
    from tests.evaluator.openagi.training.models import SUITE

    def order(out, **settings):
        return FineTuning(
            **{"model": planner, "out": out, "suite": SUITE, "tasks": ("4", "117"), "steps": 2, **settings}
        )

    whole = fine_tune(order(tmp_path / "whole"))
    assert json.loads((whole / "training.json").read_text())["tasks"] == ["4", "117"]
    assert fine_tune(order(tmp_path / "cut", stop_after=1)) is None
    with pytest.raises(SettingsError, match="tasks"):
        fine_tune(order(tmp_path / "cut", resume=True, tasks=("4",)))
    assert same(fine_tune(order(tmp_path / "cut", resume=True)), whole)


def test_a_planner_learns_from_rewards_and_a_constant_one_changes_nothing(tmp_path):
    import torch

    from evaluator.openagi.strategies.constrained import Constrained
    from evaluator.openagi.training.rltf import Schedule, train_by_feedback
    from tests.evaluator.openagi.training.models import ToyRewards, request, tiny_model

    def moved(score):
        model = tiny_model()
        before = {name: value.clone() for name, value in model.network.module.state_dict().items()}
        train_by_feedback(
            model=model,
            strategy=Constrained(),
            requests=[request("4", tools=("Image Denoising", "Colorization"))],
            rewards=ToyRewards(score),
            schedule=Schedule(steps=4, samples=8, learning_rate=0.02, weight_decay=0.0),
            checkpoint=tmp_path / "checkpoint",
            resume=False,
        )
        after = model.network.module.state_dict()
        return any(not torch.allclose(value, after[name], atol=1e-6) for name, value in before.items())

    assert moved(lambda task, plan: 1.0 if plan == "Colorization" else 0.0)
    assert not moved(lambda task, plan: 0.8)


def test_the_gradient_is_equation_4():
    import torch

    from evaluator.openagi.training.reinforce import Estimator, advantages, surrogate

    logs = torch.tensor([-1.0, -2.0], requires_grad=True)
    factors = advantages(estimator=Estimator.PAPER, rewards=[[0.9], [0.1]], baseline=0.4)
    surrogate(log_probabilities=logs, advantages=[factor for task in factors for factor in task]).backward()
    # Minus the mean of (R - b): 1/|T| times each advantage.
    assert torch.allclose(logs.grad, torch.tensor([-0.25, 0.15]))


def test_the_decomposer_and_a_module_of_lumos_are_trained(tmp_path):
    from evaluator.controlllm.training.decomposer import Order, Shape, train_decomposer
    from evaluator.lumos.training.training import Order as ModuleOrder
    from evaluator.lumos.training.training import Recipe, train_module
    from evaluator.lumos.training.training import Shape as ModuleShape

    shape = Shape(width=16, feed_forward=16, layers=1, heads=2)
    folder = train_decomposer(Order(out=tmp_path / "decomposer", steps=2, size=30, shape=shape))
    assert json.loads((folder / "training.json").read_text())["pairs"] == 30
    data = tmp_path / "plan_iterative.jsonl"
    messages = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "R1 = Calculator(1 + 1)"}]
    data.write_text(json.dumps({"dataset": "lumos-mini-maths", "id": "maths_0", "messages": messages}) + "\n")
    small = ModuleShape(width=8, feed_forward=8, layers=1, heads=1)
    folder = train_module(ModuleOrder(data=(data,), out=tmp_path / "module", recipe=Recipe(1, 1e-3), shape=small))
    assert json.loads((folder / "training.json").read_text())["steps"] == 1
