"""Held-out quality of Object Detection: F1 at an overlap of one half."""

from collections.abc import Sequence

from evaluator.experts.detection import Detection
from evaluator.lilliput.rendering import outline_box
from evaluator.lilliput.scenes import SIZE, Scene

Box = tuple[float, float, float, float]


def overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes (left, top, right, bottom), in [0, 1]."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (areas - width * height)


def found_rightly(*, found: Sequence[Detection], scene: Scene, least: float = 0.5) -> int:
    """How many detections name and frame an object of the scene that no better one has claimed."""
    left = {thing.name: outline_box(thing) for thing in scene.things}
    right = 0
    for detection in sorted(found, key=lambda detection: -detection.score):
        box = left.get(detection.name)
        frame = tuple(side * SIZE for side in detection.box)
        if box is not None and overlap((frame[0], frame[1], frame[2], frame[3]), box) >= least:
            right += 1
            del left[detection.name]
    return right


def detection_f1(*, found: Sequence[Sequence[Detection]], scenes: Sequence[Scene]) -> float:
    """F1 over all objects of all scenes: class and box must be right."""
    right = sum(found_rightly(found=f, scene=scene) for f, scene in zip(found, scenes, strict=True))
    return 2 * right / max(1, sum(map(len, found)) + sum(len(scene.things) for scene in scenes))
