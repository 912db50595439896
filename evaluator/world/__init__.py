"""Lilliput, the miniature world: scenes of coloured shapes, their degradations, and tiny models trained on them.

Importing this package loads no model code; `evaluator.training` does.
"""

from evaluator.world.degradations import Degradation, degrade
from evaluator.world.lilliput_samples import LilliputSamples, clean_image, degraded_image
from evaluator.world.rendering import render
from evaluator.world.scenes import Relation, Scene, SceneObject, draw_scene
from evaluator.world.seeds import WORLD_VERSION, Split

__all__ = [
    "WORLD_VERSION",
    "Degradation",
    "LilliputSamples",
    "Relation",
    "Scene",
    "SceneObject",
    "Split",
    "clean_image",
    "degrade",
    "degraded_image",
    "draw_scene",
    "render",
]
