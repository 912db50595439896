"""Held-out quality of the experts for detection, segmentation and grounding in tableaux, on the validation split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Box, Boxes, Image, Mask, Masks, Value, boxes_of
from evaluator.execution.experts.detection import overlap
from evaluator.miniature.seeds import Split, generator
from evaluator.studies.experts.tableaux.data import tableaux_at
from evaluator.studies.experts.tableaux.prompts import points_on, roughened

KINDS = ("things", "figures", "scenes")
"""Kinds of tableaux, in the order in which validation tableaux alternate."""
_HIT = 0.5
"""Least overlap of a right box."""

Plane = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Truth:
    """A validation tableau: the picture, and the visible pixels of each part."""

    image: Image
    parts: Masks

    @property
    def boxes(self) -> Boxes:
        """The bounding boxes of the visible pixels."""
        return boxes_of(self.parts)


@cache
def truths(count: int) -> tuple[Truth, ...]:
    """The first validation tableaux."""
    batch = tableaux_at(split=Split.VALIDATION, indices=np.arange(count))
    return tuple(
        Truth(
            image=PillowImage.fromarray(pixels),
            parts=Masks(
                (owner.shape[1], owner.shape[0]),
                tuple(Mask(part.name, np.asarray(owner == index)) for index, part in enumerate(tableau.parts)),
            ),
        )
        for tableau, pixels, owner in zip(batch.tableaux, batch.pixels, batch.owner, strict=True)
    )


def common(first: Plane, second: Plane) -> float:
    """Intersection over union of two masks, in [0, 1]; 1 if both are empty."""
    either = int((first | second).sum())
    return float((first & second).sum() / either) if either else 1.0


def rightly_boxed(*, predicted: Sequence[Box], reference: Sequence[Box]) -> int:
    """Number of boxes that match the name and box of a part; more confident boxes come first, each part counts once."""
    left = list(reference)
    hits = 0
    for box in predicted:
        same = [other for other in left if other.label == box.label]
        best = max(same, key=lambda other: overlap(box.corners, other.corners), default=None)
        if best is not None and overlap(box.corners, best.corners) >= _HIT:
            hits += 1
            left.remove(best)
    return hits


def box_f1(*, predicted: Sequence[Boxes], reference: Sequence[Boxes]) -> float:
    """F1 over all parts of all tableaux: name and box must match."""
    hits = sum(rightly_boxed(predicted=p.items, reference=r.items) for p, r in zip(predicted, reference, strict=True))
    return 2 * hits / max(1, sum(len(boxes.items) for boxes in (*predicted, *reference)))


def _detection(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    tableaux = truths(count)
    outputs = experts["object_detection"].run([{"image": truth.image} for truth in tableaux])
    predicted = [_boxes(item, name="object") for item in outputs]
    reference = [truth.boxes for truth in tableaux]
    figures = {"F1 at IoU 0.5": box_f1(predicted=predicted, reference=reference)}
    for kind, name in enumerate(KINDS):
        same = slice(kind, None, len(KINDS))
        figures[f"F1 at IoU 0.5, {name}"] = box_f1(predicted=predicted[same], reference=reference[same])
    return figures


def _segmentation(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    tableaux = truths(count)
    images: list[Mapping[str, Value]] = [{"image": truth.image} for truth in tableaux]
    instances = [_masks(item) for item in experts["image_instance_segmentation"].run(images)]
    maps = [item["segmentation"] for item in experts["segment_anything"].run(images)]
    parts = [random_part(truth=truth, index=index) for index, truth in enumerate(tableaux)]
    points: list[Mapping[str, Value]] = [
        {"image": truth.image, "prompt_points": points_text(mask=part.pixels, index=index)}
        for index, (truth, part) in enumerate(zip(tableaux, parts, strict=True))
    ]
    rough: list[Mapping[str, Value]] = [
        {"image": truth.image, "prompt_mask": Masks(truth.parts.size, (rough_mask(mask=part, index=index),))}
        for index, (truth, part) in enumerate(zip(tableaux, parts, strict=True))
    ]
    by_points = [_masks(item) for item in experts["image_segmentation_by_points"].run(points)]
    by_mask = [_masks(item) for item in experts["image_segmentation_by_mask"].run(rough)]
    return {
        "IoU of instances": _mean(
            [instance_overlaps(predicted=m, reference=t.parts) for m, t in zip(instances, tableaux, strict=True)]
        ),
        "IoU by points": _mean([[common(m.union(), p.pixels)] for m, p in zip(by_points, parts, strict=True)]),
        "IoU by rough masks": _mean([[common(m.union(), p.pixels)] for m, p in zip(by_mask, parts, strict=True)]),
        "IoU of segments": _mean(
            [_segment_overlaps(drawn=m, reference=t.parts) for m, t in zip(maps, tableaux, strict=True)]
        ),
    }


def instance_overlaps(*, predicted: Masks, reference: Masks) -> list[float]:
    """For each part the overlap of the best mask with its name, 0 without one."""
    return [
        max((common(mask.pixels, part.pixels) for mask in predicted.items if mask.label == part.label), default=0.0)
        for part in reference.items
    ]


def _segment_overlaps(*, drawn: Value, reference: Masks) -> list[float]:
    """For each part the overlap of the best segment of a map."""
    assert isinstance(drawn, PillowImage.Image)
    colours = np.asarray(drawn).astype(np.int64) @ (65536, 256, 1)
    segments = [colours == colour for colour in np.unique(colours) if colour]
    return [max((common(segment, part.pixels) for segment in segments), default=0.0) for part in reference.items]


def random_part(*, truth: Truth, index: int) -> Mask:
    """A random part of validation tableau number `index`."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="prompted part")
    return truth.parts.items[rng.integers(len(truth.parts.items))]


def points_text(*, mask: Plane, index: int) -> str:
    """One to three points on a part, as the expert reads them."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="prompt points")
    owner = np.where(mask, 0, -1).astype(np.int8)
    points = points_on(owner=owner[None], numbers=np.zeros(1, dtype=np.int64), rng=rng)[0].tolist()
    return "; ".join(f"{x:.0f},{y:.0f}" for x, y, there in points if there > 0)


def rough_mask(*, mask: Mask, index: int) -> Mask:
    """A roughly sketched mask."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="rough mask")
    return Mask(mask.label, roughened(masks=mask.pixels[None], rng=rng)[0])


def _grounding(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    tableaux = truths(count)
    names = [random_part(truth=truth, index=index).label for index, truth in enumerate(tableaux)]
    forms = {
        "colour and shape": [f"the {name}" for name in names],
        "shape": [name.split()[1] for name in names],
        "colour": [f"{name.split()[0]} thing" for name in names],
    }
    figures = {}
    for form, queries in forms.items():
        outputs = experts["visual_grounding"].run(
            [{"image": truth.image, "query": query} for truth, query in zip(tableaux, queries, strict=True)]
        )
        hits = []
        for item, truth, query in zip(outputs, tableaux, queries, strict=True):
            words = set(query.split()) - {"the", "thing"}
            matches = [box.corners for box in truth.boxes.items if words <= set(box.label.split())]
            # The most confident box must enclose a part that matches the query.
            best = _boxes(item, name="bbox").items[:1]
            hits.append(any(overlap(box.corners, other) >= _HIT for box in best for other in matches))
        figures[f"hits at IoU 0.5, {form}"] = float(np.mean(hits))
    return figures


def _boxes(item: Mapping[str, Value], *, name: str) -> Boxes:
    value = item[name]
    assert isinstance(value, Boxes)
    return value


def _masks(item: Mapping[str, Value]) -> Masks:
    value = item["mask"]
    assert isinstance(value, Masks)
    return value


def _mean(values: Sequence[Sequence[float]]) -> float:
    return float(np.mean([value for row in values for value in row]))


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "tableau-detection": _detection,
    "segment-anything": _segmentation,
    "visual-grounding": _grounding,
}
"""By folder of weights: takes the experts by tool and a number of samples; returns figures in [0, 1] by name."""
