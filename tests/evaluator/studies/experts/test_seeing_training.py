"""What the experts that find things in tableaux are trained on, where they begin, and how they are measured."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import evaluator.miniature
from evaluator.core.values import Box, Boxes, Mask, Masks
from evaluator.miniature.seeds import Split
from evaluator.studies.experts.quality import seeing
from evaluator.studies.experts.recipes import RECIPES
from evaluator.studies.experts.tableaux.data import tableaux_at

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

WEIGHTS = Path(evaluator.miniature.__file__).parent / "weights"
COUNT = 12


@pytest.fixture(scope="module")
def batch():
    return tableaux_at(split=Split.VALIDATION, indices=np.arange(COUNT))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", ["tableau-detection", "segment-anything", "visual-grounding"])
def test_a_step_depends_on_its_numbers_alone_and_changes_every_parameter(name):
    recipe = RECIPES[name]
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


def box(label, *, left=0.0, score=1.0):
    return Box(label, left, 0.0, left + 10, 10.0, score)


def test_each_part_is_found_once_and_by_its_name():
    right = [box("red star"), box("red star", left=20), box("blue ring", left=40)]
    assert seeing.rightly_boxed(predicted=right, reference=right) == 3
    assert seeing.rightly_boxed(predicted=[right[0], right[0]], reference=right) == 1
    assert seeing.rightly_boxed(predicted=[box("red ring", left=40), box("red star", left=6)], reference=right) == 0
    found = Boxes((64, 64), (right[0], box("pink star")))
    assert seeing.box_f1(predicted=[found], reference=[Boxes((64, 64), tuple(right))]) == pytest.approx(2 / 5)


def test_an_instance_without_a_mask_of_its_name_counts_nothing():
    half, whole = np.zeros((64, 64), dtype=np.bool_), np.ones((64, 64), dtype=np.bool_)
    half[:32] = True
    right = Masks((64, 64), (Mask("red star", whole), Mask("blue ring", whole)))
    found = Masks((64, 64), (Mask("red star", half), Mask("pink ring", whole)))
    assert seeing.instance_overlaps(predicted=found, reference=right) == [0.5, 0.0]
