"""What the experts that find things in tableaux are trained on, where they begin, and how they are measured."""

import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import CLIPModel

from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.profile import PROFILES
from evaluator.training.experts import contrastive
from evaluator.training.experts.quality import seeing
from evaluator.training.experts.tableaux import detection, grounding
from evaluator.training.experts.tableaux.data import tableaux_at
from evaluator.training.experts.tableaux.seeing_recipes import SEEING_RECIPES
from evaluator.values import Box, Boxes, Mask, Masks
from evaluator.world.seeds import Split
from evaluator.world.tableaux import TABLEAU_LABELS, paint
from evaluator.world.vocabulary import CLASS_LABELS

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

WEIGHTS = (PROFILES / "../../world/weights").resolve()
COUNT = 12


@pytest.fixture(scope="module")
def batch():
    return tableaux_at(split=Split.VALIDATION, indices=np.arange(COUNT))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("recipe", SEEING_RECIPES, ids=lambda recipe: recipe.name)
def test_a_step_depends_on_its_numbers_alone_and_changes_every_parameter(recipe):
    torch.manual_seed(0)
    model = recipe.build()
    recipe.begin(model, {"weights": WEIGHTS})
    objective = type(recipe.objective(None, None))(batch=3)
    first, again, other = (objective.loss(model=model, rng=rng(seed)) for seed in (1, 1, 2))
    assert math.isfinite(first.item())
    assert first.item() == again.item() != other.item()
    first.backward()
    idle = {name for name, value in model.named_parameters() if value.grad is None}
    # One mask is asked for, and a prompt that is not there has no token.
    known = ("output_hypernetworks_mlps.1", "no_mask_embed", "point_embed.0", "logit_scale", "visual_projection")
    assert not {name for name in idle if not any(part in name for part in known)}


def test_targets_are_the_boxes_of_visible_pixels(batch):
    for tableau, target in zip(batch.tableaux, detection.targets_of(batch=batch), strict=True):
        painting = paint(tableau)
        x, y, width, height = (64 * target.boxes).unbind(dim=1)
        found = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=1)
        assert found.tolist() == [list(painting.box(index)) for index in range(len(tableau.parts))]
        assert [TABLEAU_LABELS[index] for index in target.classes] == [part.name for part in tableau.parts]


def test_the_detector_of_tableaux_begins_as_that_of_scenes():
    model = detection.build()
    detection.begin(model, {"weights": WEIGHTS})
    head = model.detector.model.enc_score_head.weight
    old = load_file(WEIGHTS / detection.BEGINS_WITH / "model.safetensors")["model.enc_score_head.weight"].float()
    assert torch.equal(head[: len(CLASS_LABELS)], old)
    assert torch.allclose(head[len(CLASS_LABELS) + 2], old[16:24].mean(dim=0))
    assert TABLEAU_LABELS[len(CLASS_LABELS) + 2] == "red figure"
    assert {label.split()[0] for label in CLASS_LABELS[16:24]} == {"red"}


def test_grounding_begins_with_the_words_of_the_clip_score():
    model = grounding.build()
    grounding.begin(model, {"weights": WEIGHTS})
    clip = load_pretrained(CLIPModel, folder=WEIGHTS / grounding.BEGINS_WITH, device="cpu")
    texts = ["the red star", "a purple figure", "blue thing"]
    ids = torch.stack([contrastive.tokens_of(text) for text in texts])
    with torch.inference_mode():
        right = clip.text_projection(clip.text_model(input_ids=ids).pooler_output)
        found = grounding.embedded(model=model, texts=texts)[0]
    assert torch.allclose(found, torch.nn.functional.normalize(right, dim=-1), atol=1e-5)


def box(label, *, left=0.0, score=1.0):
    return Box(label, left, 0.0, left + 10, 10.0, score)


def test_each_part_is_found_once_and_by_its_name():
    right = [box("red star"), box("red star", left=20), box("blue ring", left=40)]
    assert seeing.rightly_boxed(found=right, right=right) == 3
    assert seeing.rightly_boxed(found=[right[0], right[0]], right=right) == 1
    assert seeing.rightly_boxed(found=[box("red ring", left=40), box("red star", left=6)], right=right) == 0
    found = Boxes((64, 64), (right[0], box("pink star")))
    assert seeing.box_f1(found=[found], right=[Boxes((64, 64), tuple(right))]) == pytest.approx(2 / 5)


def test_an_instance_without_a_mask_of_its_name_counts_nothing():
    half, whole = np.zeros((64, 64), dtype=np.bool_), np.ones((64, 64), dtype=np.bool_)
    half[:32] = True
    right = Masks((64, 64), (Mask("red star", whole), Mask("blue ring", whole)))
    found = Masks((64, 64), (Mask("red star", half), Mask("pink ring", whole)))
    assert seeing.instance_overlaps(found=found, right=right) == [0.5, 0.0]
