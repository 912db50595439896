"""What the experts that put a picture into words are trained on, and one step of each."""

import dataclasses

import numpy as np
import pytest
import torch

from evaluator.execution.experts.detection import Detection, reading_order
from evaluator.miniature.rendering import outline_box
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.studies.experts import (
    captioning,
    contrastive,
    detection,
    image_autoencoder,
    recipes,
    scene_encoder,
    text_to_image,
    visual_questions,
)
from evaluator.studies.experts.data.bank import load_bank
from evaluator.studies.experts.quality.vision import correct_detections, detection_f1
from evaluator.studies.experts.recipes import RECIPES
from evaluator.training.loop import Schedule

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return load_bank(work=tmp_path_factory.mktemp("work"), split=Split.TRAIN, count=8)


def scene(index=0):
    return draw_scene(split=Split.VALIDATION, index=index)


def seen(thing, *, name=None, score=0.9):
    left, top, right, bottom = (side / SIZE for side in outline_box(thing))
    return Detection(name=name or thing.name, score=score, box=(left, top, right, bottom))


def test_a_detection_is_right_if_name_and_frame_are_and_counts_once():
    things = scene().things
    assert correct_detections(detections=[seen(thing) for thing in things], scene=scene()) == len(things)
    assert correct_detections(detections=[seen(things[0]), seen(things[0], score=0.5)], scene=scene()) == 1
    assert correct_detections(detections=[seen(things[0], name="grey blob")], scene=scene()) == 0
    assert correct_detections(detections=[seen(things[1], name=things[0].name)], scene=scene()) == 0
    assert detection_f1(detections=[[seen(thing) for thing in things]], scenes=[scene()]) == 1


def test_the_most_central_object_is_named_first_and_the_others_from_left_to_right():
    boxes = {"b": (0.5, 0, 0.6, 0.1), "main": (0.3, 0.3, 0.8, 0.8), "a": (0.1, 0.9, 0.2, 1.0)}
    objects = [Detection(name=name, score=0.9, box=box) for name, box in boxes.items()]
    assert [detection.name for detection in reading_order(objects)] == ["main", "a", "b"]
    assert reading_order([]) == []


@pytest.mark.parametrize(
    ("build", "objective"),
    [
        (scene_encoder.build, scene_encoder.SceneObjective),
        (captioning.build, captioning.CaptioningObjective),
        (detection.build, detection.DetectionObjective),
        (visual_questions.build, visual_questions.QuestionObjective),
        (contrastive.build, contrastive.ContrastiveObjective),
        (image_autoencoder.build, image_autoencoder.AutoencoderObjective),
        (text_to_image.build, text_to_image.DrawingObjective),
    ],
)
def test_the_loss_of_a_step_depends_on_its_own_stream_only(bank, build, objective):
    torch.manual_seed(0)
    model = build().train()
    first, second = (objective(bank, batch=2).loss(model=model, rng=np.random.default_rng(3)).item() for _ in range(2))
    assert first == pytest.approx(second, rel=1e-4)
    assert np.isfinite(first)


def test_what_a_model_begins_from_is_trained_first(tmp_path, monkeypatch):
    short = {
        name: dataclasses.replace(recipe, schedule=Schedule(steps=1, learning_rate=1e-3))
        for name, recipe in RECIPES.items()
    }
    monkeypatch.setattr(recipes, "RECIPES", short)
    order = recipes.Order(model=contrastive.NAME, work=tmp_path / "work", weights=tmp_path / "out", scenes=64)
    folder = recipes.train(dataclasses.replace(order, model="classification"))
    monkeypatch.setattr(contrastive, "_VOCABULARY_SCENES", 50)
    drawing = recipes.train(dataclasses.replace(order, model=text_to_image.NAME))
    assert folder is not None
    assert drawing is not None
    trained = {path.parent.name for path in tmp_path.rglob("training.json")}
    assert trained == {"classification", scene_encoder.NAME, contrastive.NAME, image_autoencoder.NAME, drawing.name}
    index = drawing / "model_index.json"
    assert "StableDiffusionPipeline" in index.read_text()
    assert not any("_diffusers_version" in path.read_text() for path in drawing.rglob("*.json"))
