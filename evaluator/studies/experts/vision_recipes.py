"""Recipes of the models between pictures and words, and of the encoders with which they begin."""

from pathlib import Path

from torch import nn

from evaluator.studies.experts import (
    captioning,
    contrastive,
    detection,
    image_autoencoder,
    scene_encoder,
    text_to_image,
    visual_questions,
)
from evaluator.studies.experts.recipe import Recipe
from evaluator.training.export import export_transformers
from evaluator.training.loop import Schedule


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
        needs=(scene_encoder.NAME,),
    ),
    Recipe(
        name="object-detection",
        title="Object Detection: RT-DETR",
        build=detection.build,
        objective=lambda bank, weights: detection.DetectionObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=2200, learning_rate=1.2e-3),
        export=detection.export,
        begin=detection.begin,
        needs=(scene_encoder.NAME,),
    ),
    Recipe(
        name=visual_questions.NAME,
        title="Visual Question Answering: ViLT",
        build=visual_questions.build,
        objective=lambda bank, weights: visual_questions.QuestionObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=9000, learning_rate=1e-3),
        export=visual_questions.export,
        begin=visual_questions.begin,
        needs=(scene_encoder.NAME,),
    ),
    Recipe(
        name=contrastive.NAME,
        title="CLIP score: CLIP",
        build=contrastive.build,
        objective=lambda bank, weights: contrastive.ContrastiveObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=1500, learning_rate=1e-3),
        export=contrastive.export,
        begin=contrastive.begin,
        needs=(scene_encoder.NAME,),
    ),
    Recipe(
        name=image_autoencoder.NAME,
        title="Autoencoder of clean scenes: AutoencoderKL",
        build=image_autoencoder.build,
        objective=lambda bank, weights: image_autoencoder.AutoencoderObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=3000, learning_rate=2e-3, weight_decay=0.0),
        export=image_autoencoder.export,
        shipped=False,
    ),
    Recipe(
        name=text_to_image.NAME,
        title="Text to Image Generation: Stable Diffusion",
        build=text_to_image.build,
        objective=lambda bank, weights: text_to_image.DrawingObjective(bank),  # noqa: ARG005
        schedule=Schedule(steps=11000, learning_rate=1e-3),
        export=text_to_image.export,
        begin=text_to_image.begin,
        needs=(contrastive.NAME, image_autoencoder.NAME),
    ),
)
"""In the order of training: most need the scene encoder."""
