"""What the experts that draw along maps and instructions are trained on, and one step of each."""

from pathlib import Path

import numpy as np
import pytest
import torch

import evaluator.miniature
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.maps import MapKind
from evaluator.studies.experts.quality.guided_drawing import agreement
from evaluator.studies.experts.tableaux import guided_drawing, picture_editing
from evaluator.studies.experts.tableaux.data import tableaux_at

pytestmark = pytest.mark.full

WEIGHTS = Path(evaluator.miniature.__file__).parent / "weights"


def batch(count=12):
    return tableaux_at(split=Split.VALIDATION, indices=np.arange(count))


def trained_parts(model, objective):
    objective.loss(model=model, rng=np.random.default_rng(0)).backward()
    return {name for name, value in model.named_parameters() if value.grad is not None}


def test_a_step_trains_the_controlnet_alone():
    model = guided_drawing.build()
    guided_drawing.begin(model, {"weights": WEIGHTS})
    names = trained_parts(model, guided_drawing.GuidedDrawingObjective(weights=WEIGHTS, batch=2))
    assert names
    assert all(name.startswith("controlnet.") for name in names)
    own, base = model.controlnet.state_dict(), model.base.unet.state_dict()
    assert torch.equal(own["mid_block.resnets.0.conv1.weight"], base["mid_block.resnets.0.conv1.weight"])


def test_a_step_of_editing_leaves_the_autoencoder_and_the_middle_as_they_are():
    model = picture_editing.build()
    picture_editing.begin(model, {"weights": WEIGHTS})
    assert not model.unet.conv_in.weight[:, 6:].any()
    names = trained_parts(model, picture_editing.PictureEditingObjective(weights=WEIGHTS, batch=2))
    assert {name.split(".")[0] for name in names} == {"unet", "text_encoder"}
    assert not any(name.startswith("unet.mid_block") for name in names)


def test_a_true_picture_agrees_with_every_map_and_another_one_with_none():
    drawn = batch()
    for kind in MapKind:
        rows = [row for row, tableau in enumerate(drawn.tableaux) if tableau.figure is not None]
        same, other = (
            np.mean(
                [
                    agreement(
                        kind=kind,
                        pixels=drawn.pixels[place],
                        background=drawn.tableaux[place].background,
                        drawn=drawn,
                        row=row,
                    )
                    for row, place in zip(rows, places, strict=True)
                ]
            )
            for places in (rows, rows[1:] + rows[:1])
        )
        assert same > 0.85
        assert other < 0.7
