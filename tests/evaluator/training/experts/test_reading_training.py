"""Training of the experts that read signs and texts: what they are to learn."""

import numpy as np
import pytest
import torch

from evaluator.training.experts.reading import annotation, signs
from evaluator.training.experts.reading.recipes import READING_RECIPES
from evaluator.world.lettering import CHARACTERS
from evaluator.world.signs import is_kept_from_training

pytestmark = pytest.mark.full

RECIPES = {recipe.name: recipe for recipe in READING_RECIPES}


def test_no_training_sign_shows_a_word_that_is_kept_from_training():
    words = [word for index in range(300) for word in signs.training_sign(index).words]
    assert not any(map(is_kept_from_training, words))
    assert {character for word in words for character in word} == set(CHARACTERS)
    assert signs.training_sign(7) == signs.training_sign(7)


@pytest.mark.parametrize("name", RECIPES)
def test_a_step_depends_on_its_numbers_alone_and_changes_every_parameter(name, tmp_path, monkeypatch):
    monkeypatch.setattr(annotation, "EXAMPLES", 60)
    recipe = RECIPES[name]
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
