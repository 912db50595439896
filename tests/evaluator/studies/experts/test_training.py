import dataclasses

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from evaluator.execution.experts.weights import weights_digest
from evaluator.miniature.degradations import Degradation
from evaluator.miniature.signs import CHARACTERS, is_kept_from_training
from evaluator.studies.experts import recipes, signs
from evaluator.studies.experts.recipes import RECIPES, Order, train
from evaluator.studies.experts.restoration import target_of
from evaluator.training.export import update_lock, write_config, write_weights

pytestmark = pytest.mark.full


@pytest.mark.parametrize("model", ["sentiment", "machine-translation"])
def test_a_language_model_is_written_with_its_tokenizer(tmp_path, model, monkeypatch):
    monkeypatch.setattr(recipes, "RECIPES", {model: dataclasses.replace(RECIPES[model], texts=40)})
    folder = train(Order(model=model, work=tmp_path, weights=tmp_path / "out", steps=1))
    assert {file.name for file in folder.iterdir()} >= {"tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    names = load_file(folder / "model.safetensors").keys()
    assert "lm_head.weight" not in names


def test_every_recipe_builds():
    for recipe in RECIPES.values():
        # What draws along maps holds the frozen networks of another recipe, which are not trained or written again.
        trained_only = recipe.name in {"guided-drawing", "picture-editing"}
        counted = [p.numel() for p in recipe.build().parameters() if p.requires_grad or not trained_only]
        assert sum(counted) < 3_000_000, recipe.name


def test_weights_are_stored_in_half_precision(tmp_path):
    write_config(config={"dim": 8}, folder=tmp_path / "m")
    write_weights(model=RECIPES["super-resolution"].build(), folder=tmp_path / "m")
    digest = update_lock(weights=tmp_path, model="m")
    assert digest == weights_digest(tmp_path / "m")
    assert {value.dtype for value in load_file(tmp_path / "m" / "model.safetensors").values()} == {torch.float16}


def test_after_the_last_restoration_nothing_is_degraded():
    clean = np.random.default_rng(3).integers(0, 256, size=(2, 64, 64, 3), dtype=np.uint8)
    _, target = target_of(clean=clean, seed=5, degradations=frozenset(Degradation), removed=Degradation.GRAYSCALE)
    assert (target == clean).all()


READING = ("character-recognition", "text-annotation")


def test_no_training_sign_shows_a_word_that_is_kept_from_training():
    words = [word for index in range(300) for word in signs.training_sign(index).words]
    assert not any(map(is_kept_from_training, words))
    assert {character for word in words for character in word} == set(CHARACTERS)
    assert signs.training_sign(7) == signs.training_sign(7)


@pytest.mark.parametrize("name", READING)
def test_a_step_depends_on_its_numbers_alone_and_changes_every_parameter(name, tmp_path):
    recipe = dataclasses.replace(RECIPES[name], texts=60)
    objective = recipe.objective(None, tmp_path)
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        model = recipe.build()
        loss = objective.loss(model=model, rng=np.random.default_rng([0, 1]))
        losses.append(float(loss.detach()))
    assert losses[0] == losses[1]
    loss.backward()
    without = {key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()}
    assert not without, without
