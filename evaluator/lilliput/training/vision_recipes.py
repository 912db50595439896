"""Recipes of the experts that put a picture into words, and of the encoder with which they begin."""

from pathlib import Path

from torch import nn

from evaluator.lilliput.training import captioning, detection, scene_encoder
from evaluator.lilliput.training.export import export_transformers
from evaluator.lilliput.training.loop import Schedule
from evaluator.lilliput.training.recipe import Recipe


def _export_scene_encoder(model: nn.Module, folder: Path) -> None:
    assert isinstance(model, scene_encoder.SceneModel)
    export_transformers(model.encoder, folder)


VISION_RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name=scene_encoder.NAME,
        title="Encoder of clean scenes: Vision Transformer",
        build=scene_encoder.build,
        objective=lambda bank, weights: scene_encoder.SceneObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=4500, learning_rate=1.5e-3),
        export=_export_scene_encoder,
        shipped=False,
    ),
    Recipe(
        name="captioning",
        title="Image Captioning: Vision Transformer with GPT-2",
        build=captioning.build,
        objective=lambda bank, weights: captioning.CaptioningObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=1000, learning_rate=1e-3),
        export=captioning.export,
        begin=captioning.begin,
    ),
    Recipe(
        name="object-detection",
        title="Object Detection: RT-DETR",
        build=detection.build,
        objective=lambda bank, weights: detection.DetectionObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=2200, learning_rate=1.2e-3),
        export=detection.export,
        begin=detection.begin,
    ),
)
"""In the order of training: the experts need the encoder."""
