"""Lilliput, the miniature world: scenes of coloured shapes, their degradations, and tiny models trained on them.

Importing this package loads no model code; `evaluator.lilliput.training` does.
"""

from evaluator.lilliput.degradations import Degradation, degrade
from evaluator.lilliput.openagi_samples import LilliputSamples, clean_image, degraded_image
from evaluator.lilliput.rendering import render
from evaluator.lilliput.scenes import Relation, Scene, Thing, draw_scene
from evaluator.lilliput.seeds import WORLD_VERSION, Split

__all__ = [
    "WORLD_VERSION",
    "Degradation",
    "LilliputSamples",
    "Relation",
    "Scene",
    "Split",
    "Thing",
    "clean_image",
    "degrade",
    "degraded_image",
    "draw_scene",
    "render",
]
