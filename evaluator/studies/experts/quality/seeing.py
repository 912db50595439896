"""Held-out quality of the experts that find things in tableaux, on the validation split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Box, Boxes, Image, Mask, Masks, Value, boxes_of
from evaluator.execution.experts.detection import Corners, overlap
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.records import name_of
from evaluator.studies.experts.tableaux.data import tableaux_at
from evaluator.studies.experts.tableaux.prompts import points_on, roughened

KINDS = ("things", "figures", "scenes")
"""Of tableaux, in the turns in which the validation tableaux have them."""
_HIT = 0.5
"""Overlap from which on a box is right."""

Plane = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Truth:
    """A validation tableau: its picture and the visible pixels of each part."""

    image: Image
    parts: Masks

    @property
    def boxes(self) -> Boxes:
        """Around the visible pixels of each part."""
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
                tuple(Mask(name_of(part), np.asarray(owner == index)) for index, part in enumerate(tableau.parts)),
            ),
        )
        for tableau, pixels, owner in zip(batch.tableaux, batch.pixels, batch.owner, strict=True)
    )


def common(first: Plane, second: Plane) -> float:
    """Intersection over union of two masks, in [0, 1]; 1 if both are empty."""
    either = int((first | second).sum())
    return float((first & second).sum() / either) if either else 1.0


def rightly_boxed(*, found: Sequence[Box], right: Sequence[Box]) -> int:
    """How many boxes name and frame a part that no surer one has claimed."""
    left = list(right)
    hits = 0
    for one in found:
        same = [other for other in left if other.label == one.label]
        best = max(same, key=lambda other: overlap(one.corners, other.corners), default=None)
        if best is not None and overlap(one.corners, best.corners) >= _HIT:
            hits += 1
            left.remove(best)
    return hits


def box_f1(*, found: Sequence[Boxes], right: Sequence[Boxes]) -> float:
    """F1 over all parts of all tableaux: name and box must be right."""
    hits = sum(rightly_boxed(found=f.items, right=r.items) for f, r in zip(found, right, strict=True))
    return 2 * hits / max(1, sum(len(one.items) for one in (*found, *right)))


def _by_kind(kind: int, values: Sequence[Boxes]) -> Sequence[Boxes]:
    return values[kind :: len(KINDS)]


def _detection(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = truths(count)
    found = [
        _boxes(item, name="object") for item in experts["object_detection"].run([{"image": t.image} for t in there])
    ]
    right = [truth.boxes for truth in there]
    figures = {"F1 at IoU 0.5": box_f1(found=found, right=right)}
    for kind, name in enumerate(KINDS):
        figures[f"F1 at IoU 0.5, {name}"] = box_f1(found=_by_kind(kind, found), right=_by_kind(kind, right))
    return figures


def _segmentation(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = truths(count)
    images: list[Mapping[str, Value]] = [{"image": truth.image} for truth in there]
    named = [_masks(item) for item in experts["image_instance_segmentation"].run(images)]
    maps = [item["segmentation"] for item in experts["segment_anything"].run(images)]
    chosen = [drawn_part(truth=truth, index=index) for index, truth in enumerate(there)]
    pointed: list[Mapping[str, Value]] = [
        {"image": truth.image, "prompt_points": points_text(mask=part.pixels, index=index)}
        for index, (truth, part) in enumerate(zip(there, chosen, strict=True))
    ]
    rough: list[Mapping[str, Value]] = [
        {"image": truth.image, "prompt_mask": Masks(truth.parts.size, (rough_mask(mask=part, index=index),))}
        for index, (truth, part) in enumerate(zip(there, chosen, strict=True))
    ]
    by_points = [_masks(item) for item in experts["image_segmentation_by_points"].run(pointed)]
    by_mask = [_masks(item) for item in experts["image_segmentation_by_mask"].run(rough)]
    return {
        "IoU of instances": _mean(
            [instance_overlaps(found=f, right=t.parts) for f, t in zip(named, there, strict=True)]
        ),
        "IoU by points": _mean([[common(f.union(), p.pixels)] for f, p in zip(by_points, chosen, strict=True)]),
        "IoU by rough masks": _mean([[common(f.union(), p.pixels)] for f, p in zip(by_mask, chosen, strict=True)]),
        "IoU of segments": _mean([_segment_overlaps(drawn=m, right=t.parts) for m, t in zip(maps, there, strict=True)]),
    }


def instance_overlaps(*, found: Masks, right: Masks) -> list[float]:
    """For each part the overlap of the best mask with its name, 0 without one."""
    return [
        max((common(one.pixels, part.pixels) for one in found.items if one.label == part.label), default=0.0)
        for part in right.items
    ]


def _segment_overlaps(*, drawn: Value, right: Masks) -> list[float]:
    """For each part the overlap of the best segment of a map."""
    assert isinstance(drawn, PillowImage.Image)
    colours = np.asarray(drawn).astype(np.int64) @ (65536, 256, 1)
    segments = [colours == colour for colour in np.unique(colours) if colour]
    return [max((common(one, part.pixels) for one in segments), default=0.0) for part in right.items]


def drawn_part(*, truth: Truth, index: int) -> Mask:
    """A part of the validation tableau with this index."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="prompted part")
    return truth.parts.items[rng.integers(len(truth.parts.items))]


def points_text(*, mask: Plane, index: int) -> str:
    """One to three points on a part, as the expert reads them."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="prompt points")
    owner = np.where(mask, 0, -1).astype(np.int8)
    points = points_on(owner=owner[None], numbers=np.zeros(1, dtype=np.int64), rng=rng)[0].tolist()
    return "; ".join(f"{x:.0f},{y:.0f}" for x, y, there in points if there > 0)


def rough_mask(*, mask: Mask, index: int) -> Mask:
    """A mask as somebody would sketch it."""
    rng = generator(split=Split.VALIDATION, index=index, purpose="rough mask")
    return Mask(mask.label, roughened(masks=mask.pixels[None], rng=rng)[0])


def _grounding(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = truths(count)
    chosen = [drawn_part(truth=truth, index=index) for index, truth in enumerate(there)]
    names = [part.label for part in chosen]
    forms = {
        "colour and shape": [f"the {name}" for name in names],
        "shape": [name.split()[1] for name in names],
        "colour": [f"{name.split()[0]} thing" for name in names],
    }
    figures = {}
    for form, queries in forms.items():
        found = experts["visual_grounding"].run(
            [{"image": truth.image, "query": query} for truth, query in zip(there, queries, strict=True)]
        )
        hits = [
            is_hit(found=_boxes(item, name="bbox"), right=_meant(truth=truth, query=query))
            for item, truth, query in zip(found, there, queries, strict=True)
        ]
        figures[f"hits at IoU 0.5, {form}"] = float(np.mean(hits))
    return figures


def _meant(*, truth: Truth, query: str) -> list[Corners]:
    words = set(query.split()) - {"the", "thing"}
    return [box.corners for box in truth.boxes.items if words <= set(box.label.split())]


def is_hit(*, found: Boxes, right: Sequence[Corners]) -> bool:
    """Whether the surest box frames a part that is meant."""
    return any(overlap(box.corners, other) >= _HIT for box in found.items[:1] for other in right)


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
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
