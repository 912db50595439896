"""Held-out quality of the experts that put a picture into words, on clean validation scenes."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evaluator.experts.detection import Detection, RTDetrExpert
from evaluator.experts.protocol import Expert
from evaluator.lilliput import grammar
from evaluator.lilliput.openagi_samples import clean_image
from evaluator.lilliput.rendering import outline_box
from evaluator.lilliput.scenes import SIZE, Scene, draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.values import Image

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (areas - width * height)


def found_rightly(*, found: Sequence[Detection], scene: Scene, least: float = 0.5) -> int:
    """How many detections name and frame an object of the scene that no surer one has claimed."""
    # No two things of a scene have the same shape, so names are unique.
    left = {thing.name: outline_box(thing) for thing in scene.things}
    right = 0
    for detection in sorted(found, key=lambda detection: -detection.score):
        box = left.get(detection.name)
        x1, y1, x2, y2 = (side * SIZE for side in detection.box)
        if box is not None and overlap((x1, y1, x2, y2), box) >= least:
            right += 1
            del left[detection.name]
    return right


def detection_f1(*, found: Sequence[Sequence[Detection]], scenes: Sequence[Scene]) -> float:
    """F1 over all objects of all scenes: name and box must be right."""
    right = sum(found_rightly(found=f, scene=scene) for f, scene in zip(found, scenes, strict=True))
    return 2 * right / max(1, sum(map(len, found)) + sum(len(scene.things) for scene in scenes))


def exact_share(*, expert: Expert, images: Sequence[Image], right: Sequence[str]) -> float:
    """Share of images of which the expert says exactly what is right."""
    answers = [output["text"] for output in expert.run([{"image": image} for image in images])]
    return float(np.mean([answer == text for answer, text in zip(answers, right, strict=True)]))


def _captioning(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    right = [grammar.main_caption(scene).english for scene in scenes]
    return {"captions that are exactly right": exact_share(expert=expert, images=images, right=right)}


def _detection(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    assert isinstance(expert, RTDetrExpert)
    found = [expert.detect(np.asarray(image)[None])[0] for image in images]
    right = [grammar.object_names(scene).english for scene in scenes]
    return {
        "F1 at IoU 0.5": detection_f1(found=found, scenes=scenes),
        "lists that are exactly right": exact_share(expert=expert, images=images, right=right),
    }


_MEASURES: Mapping[str, tuple[str, Callable[..., dict[str, float]]]] = {
    "Image Captioning": ("captioning", _captioning),
    "Object Detection": ("object-detection", _detection),
}
"""By tool: the folder of weights and how to measure it."""


def vision_quality(*, experts: Mapping[str, Expert], count: int) -> dict[str, dict[str, float]]:
    """For each model that is there, by folder of weights, its measures on the first `count` validation scenes."""
    scenes = [draw_scene(split=Split.VALIDATION, index=index) for index in range(count)]
    images = [clean_image(split=Split.VALIDATION, index=index) for index in range(count)]
    return {
        folder: measure(expert=experts[tool], images=images, scenes=scenes)
        for tool, (folder, measure) in _MEASURES.items()
        if tool in experts
    }
