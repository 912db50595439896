import dataclasses
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from evaluator.experts.restormer import Restormer, RestormerConfig
from evaluator.experts.weights import weights_digest
from evaluator.training.experts.data.bank import load_bank
from evaluator.training.experts.data.states import target_of
from evaluator.training.experts.recipes import RECIPES
from evaluator.training.experts.restoration import PixelObjective, RestorationData
from evaluator.training.experts.run import Order, train
from evaluator.training.experts.tableaux.drawing_recipes import DRAWING_RECIPES
from evaluator.training.export import update_lock, write_config, write_weights
from evaluator.training.loop import Schedule, fit
from evaluator.world.degradations import SHRINKING, Degradation
from evaluator.world.seeds import Split

TINY = RestormerConfig(dim=8, num_blocks=(1, 1, 1, 1), num_refinement_blocks=0)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


def tiny_model():
    torch.manual_seed(0)
    return Restormer(TINY)


def objective(work):
    bank = load_bank(work=work, split=Split.TRAIN, count=8)
    return PixelObjective(RestorationData(bank=bank, degradation=Degradation.NOISE, batch=4, restorers=IDENTITY))


class _Enlarging:
    """Stands for super resolution where its quality does not matter."""

    def restore(self, pixels):
        return np.repeat(np.repeat(pixels, SHRINKING, axis=1), SHRINKING, axis=2)


IDENTITY = {Degradation.LOW_RESOLUTION: _Enlarging()}


def test_a_resumed_run_ends_with_the_same_weights(work, tmp_path):
    schedule = Schedule(steps=4, learning_rate=1e-3, checkpoint_every=100)
    straight, interrupted, resumed = tiny_model(), tiny_model(), tiny_model()
    assert (
        fit(model=straight, objective=objective(work), schedule=schedule, checkpoint=tmp_path / "a", resume=False) == 4
    )
    checkpoint = tmp_path / "b.safetensors"
    fit(
        model=interrupted,
        objective=objective(work),
        schedule=schedule,
        checkpoint=checkpoint,
        resume=False,
        stop_after=2,
    )
    with torch.no_grad():
        for parameter in resumed.parameters():
            parameter.zero_()
    assert fit(model=resumed, objective=objective(work), schedule=schedule, checkpoint=checkpoint, resume=True) == 4
    for name, value in straight.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_training_one_step_writes_weights_and_their_digest(tmp_path):
    order = Order(model="super-resolution", work=tmp_path, weights=tmp_path / "out", steps=1, scenes=8)
    folder = train(order)
    assert (folder / "config.json").exists()
    assert load_file(folder / "model.safetensors")
    assert weights_digest(folder) in (tmp_path / "out" / "lock.json").read_text()


@pytest.mark.full
@pytest.mark.parametrize("model", ["sentiment", "machine-translation"])
def test_a_language_model_is_written_with_its_tokenizer(tmp_path, model, monkeypatch):
    monkeypatch.setattr("evaluator.training.experts.texts.EXAMPLES", 40)
    folder = train(Order(model=model, work=tmp_path, weights=tmp_path / "out", steps=1))
    assert {file.name for file in folder.iterdir()} >= {"tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    names = load_file(folder / "model.safetensors").keys()
    assert "lm_head.weight" not in names


@pytest.mark.full
def test_the_record_tells_the_commands_that_lead_to_the_weights(tmp_path):
    order = Order(model="super-resolution", work=tmp_path, weights=tmp_path / "out", steps=3, scenes=8, seed=1)
    assert train(dataclasses.replace(order, stop_after=1)) is None
    folder = train(dataclasses.replace(order, steps=2, resume=True))
    commands = json.loads((folder / "training.json").read_text())["commands"]
    assert commands == [
        "planarena lilliput train super-resolution --steps 3 --seed 1 --stop-after 1",
        "planarena lilliput train super-resolution --steps 2 --seed 1 --resume",
    ]


@pytest.mark.full
def test_every_recipe_builds():
    for recipe in RECIPES.values():
        # What draws along maps holds the frozen networks of another recipe, which are not trained or written again.
        trained_only = recipe in DRAWING_RECIPES
        counted = [p.numel() for p in recipe.build().parameters() if p.requires_grad or not trained_only]
        assert sum(counted) < 3_000_000, recipe.name


def test_weights_are_stored_in_half_precision(tmp_path):
    write_config(config={"dim": 8}, folder=tmp_path / "m")
    write_weights(model=tiny_model(), folder=tmp_path / "m")
    digest = update_lock(weights=tmp_path, model="m")
    assert digest == weights_digest(tmp_path / "m")
    assert {value.dtype for value in load_file(tmp_path / "m" / "model.safetensors").values()} == {torch.float16}


_EVERYTHING = frozenset(Degradation)


def _pair(**kwargs):
    clean = np.random.default_rng(3).integers(0, 256, size=(2, 64, 64, 3), dtype=np.uint8)
    return clean, *target_of(clean=clean, seed=5, **kwargs)


def test_after_the_last_restoration_nothing_is_degraded():
    clean, _, target = _pair(degradations=_EVERYTHING, removed=Degradation.GRAYSCALE)
    assert (target == clean).all()
