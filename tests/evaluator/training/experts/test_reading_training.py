"""Training of the experts that read signs and texts: what they are to learn."""

import numpy as np
import pytest
import torch

from evaluator.training.experts.reading import annotation, signs
from evaluator.training.experts.reading.recipes import READING_RECIPES
from evaluator.world.lettering import CHARACTERS
from evaluator.world.seeds import Split
from evaluator.world.signs import Line, draw_sign, is_kept_from_training

pytestmark = pytest.mark.full

RECIPES = {recipe.name: recipe for recipe in READING_RECIPES}


def test_no_training_sign_shows_a_word_that_is_kept_from_training():
    words = [word for index in range(300) for word in signs.training_sign(index).words]
    assert not any(map(is_kept_from_training, words))
    assert {character for word in words for character in word} == set(CHARACTERS)
    assert signs.training_sign(7) == signs.training_sign(7)


def test_patches_are_labelled_with_what_is_written_in_them():
    sign = draw_sign(split=Split.TRAIN, index=0, words=("ab", "c"))
    placed = (Line("ab", x=8, y=8, scale=2), Line("c", x=40, y=40, scale=2))
    labels = signs.patch_labels(type(sign)(
        background=sign.background, background_phase=(0, 0), background_shade=(1, 1), lines=placed, ink=sign.ink,
        board=None,
    )).reshape(8, 16, 3)  # fmt: skip
    a, b, c = (1 + CHARACTERS.index(character) for character in "abc")
    # Letters are twelve pixels wide with the gap, patches four: each letter has three columns, from the row at y = 12.
    assert labels[1, 2:8, 0].tolist() == [a, a, a, b, b, b]
    assert labels[1, 2:8, 2].tolist() == [0, 0, 0, 1, 1, 1]
    assert set(labels[5, 10:13, 0].tolist()) == {c}
    assert set(labels[5, 10:13, 1].tolist()) == {1}
    assert not labels[7].any()
    assert not labels[:, 14:].any()


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
