"""Held-out quality of the experts that draw from maps and instructions, on the validation split."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Mask, Masks, Value
from evaluator.miniature.grammar.captions import background_phrase
from evaluator.miniature.grammar.german import with_article
from evaluator.miniature.pictures.maps import outlines
from evaluator.miniature.rendering import render, thing_mask
from evaluator.miniature.scenes import SIZE, SceneObject, contrasting_colour, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.drawing import paint
from evaluator.miniature.tableaux.editing import EditKind
from evaluator.miniature.tableaux.maps import MapKind, draw_map
from evaluator.miniature.vocabulary import BACKGROUNDS, Background, Shape
from evaluator.studies.experts.tableaux.data import Batch, tableau, tableaux_at
from evaluator.studies.experts.tableaux.guided_drawing import caption_at
from evaluator.studies.experts.tableaux.picture_editing import edit_at

Pixels = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.bool_]

OUTLINED = frozenset({MapKind.LINE, MapKind.HED, MapKind.SCRIBBLE, MapKind.EDGE})
"""Maps compared by their outlines."""
_SHADES: dict[Background, tuple[float, float]] = {
    Background.NIGHT: (0.9, 2.75),
    Background.GRASS: (0.83, 1.16),
    Background.STONE: (0.8, 1.08),
    Background.SKY: (0.88, 1.1),
    Background.SAND: (0.86, 1.12),
}
"""Range of the brightness of a background's pattern relative to its colour."""
_DISTANCE = 50.0
"""Euclidean distance in 8-bit RGB above which a pixel is not background."""
_EDGE_TOLERANCE = 2
_POSE_TOLERANCE = 3
"""In pixels."""


def foreground(*, pixels: Pixels, background: Background) -> Plane:
    """Which pixels differ from the background in any shade; (64, 64, 3) to (64, 64)."""
    colour = np.asarray(BACKGROUNDS[background].rgb, dtype=np.float64)
    values = pixels.astype(np.float64)
    shade = np.clip(values @ colour / (colour @ colour), *_SHADES[background])
    return np.asarray(np.linalg.norm(values - shade[..., None] * colour, axis=-1) > _DISTANCE)


def grown(mask: Plane, *, by: int) -> Plane:
    """The pixels at a distance of at most `by` from a mask."""
    y, x = np.mgrid[-by : by + 1, -by : by + 1]
    padded = np.pad(mask, by)
    shifts = [(dy + by, dx + by) for dy, dx in zip(y.ravel(), x.ravel(), strict=True) if dy * dy + dx * dx <= by * by]
    return np.asarray(np.logical_or.reduce([padded[dy : dy + SIZE, dx : dx + SIZE] for dy, dx in shifts]))


def matched(*, first: Plane, second: Plane, tolerance: int) -> float:
    """F1 of two sets of pixels that may lie `tolerance` apart, in [0, 1]."""
    if not first.any() or not second.any():
        return float(first.any() == second.any())
    precision = (first & grown(second, by=tolerance)).sum() / first.sum()
    recall = (second & grown(first, by=tolerance)).sum() / second.sum()
    return float(2 * precision * recall / max(precision + recall, 1e-9))


def agreement(*, kind: MapKind, pixels: Pixels, background: Background, drawn: Batch, row: int) -> float:
    """Agreement of a picture with the map of `kind` of tableau number `row`, in [0, 1].

    Outlines: F1 within 2 pixels. Pose: F1 of bones and drawn parts within 3 pixels, near the figure only, since the map
    does not show other parts. Other kinds: intersection over union of all parts.

    Args:
        kind: of the map.
        pixels: the picture, shape (64, 64, 3).
        background: of the picture by its prompt.
        drawn: tableaux.
        row: of the tableau in the batch.
    """
    seen = foreground(pixels=pixels, background=background)
    owner = drawn.owner[row]
    if kind in OUTLINED:
        outline = MapKind.LINE if kind is MapKind.LINE else MapKind.EDGE
        lines = np.asarray(map_pixels(kind=outline, drawn=drawn, row=row).any(axis=-1))
        return matched(first=outlines(seen.astype(np.int8)), second=lines, tolerance=_EDGE_TOLERANCE)
    if kind is MapKind.POSE:
        bones = np.asarray(map_pixels(kind=kind, drawn=drawn, row=row).any(axis=-1))
        return matched(first=seen & _box(bones, margin=2), second=bones, tolerance=_POSE_TOLERANCE)
    return float((seen & (owner >= 0)).sum() / max(1, (seen | (owner >= 0)).sum()))


def map_pixels(*, kind: MapKind, drawn: Batch, row: int) -> Pixels:
    """The map of a tableau from its ground truth, shape (64, 64, 3)."""
    return draw_map(
        kind=kind,
        tableau=drawn.tableaux[row],
        owner=drawn.owner[row],
        nearness=drawn.nearness[row],
        rng=np.random.default_rng(row),
    )


def _box(mask: Plane, *, margin: int) -> Plane:
    """The bounding box of a mask, `margin` pixels wider on each side."""
    rows, columns = np.nonzero(mask)
    box = np.zeros_like(mask)
    box[
        max(0, rows.min() - margin) : rows.max() + margin + 1,
        max(0, columns.min() - margin) : columns.max() + margin + 1,
    ] = True
    return box


_ROUND = frozenset({Shape.CIRCLE, Shape.RING, Shape.HEART})


def map_indices(*, kind: MapKind, count: int) -> list[int]:
    """The first validation tableaux with a map of `kind`: a pose needs a figure, lines need parts with straight sides
    only."""
    indices: list[int] = []
    index = 0
    while len(indices) < count:
        picture = tableau(split=Split.VALIDATION, index=index)
        is_round = any(isinstance(part, SceneObject) and part.shape in _ROUND for part in picture.parts)
        if (kind is not MapKind.POSE or picture.figure is not None) and (kind is not MapKind.LINE or not is_round):
            indices.append(index)
        index += 1
    return indices


def map_image(*, kind: MapKind, drawn: Batch, row: int) -> PillowImage.Image:
    """`map_pixels` as an image."""
    return PillowImage.fromarray(map_pixels(kind=kind, drawn=drawn, row=row))


def map_quality(*, expert: Expert, kind: MapKind, count: int) -> float:
    """Mean agreement of pictures drawn from the maps and captions of validation tableaux."""
    indices = map_indices(kind=kind, count=count)
    drawn = tableaux_at(split=Split.VALIDATION, indices=np.asarray(indices))
    items: list[dict[str, Value]] = [
        {"text": caption_at(split=Split.VALIDATION, index=index), kind: map_image(kind=kind, drawn=drawn, row=row)}
        for row, index in enumerate(indices)
    ]
    return _mean_agreement(expert=expert, items=items, kind=kind, drawn=drawn)


def _mean_agreement(*, expert: Expert, items: Sequence[Mapping[str, Value]], kind: MapKind, drawn: Batch) -> float:
    agreements = [
        agreement(
            kind=kind,
            pixels=np.asarray(output["image"]),
            background=drawn.tableaux[row].background,
            drawn=drawn,
            row=row,
        )
        for row, output in enumerate(expert.run(items))
    ]
    return float(np.mean(agreements))


def guided_drawing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """Agreement with each kind of map, for the tools present."""
    tools = {kind: f"{kind}_text_to_image" for kind in MapKind}
    return {
        f"agreement with the {kind} map": map_quality(expert=experts[tool], kind=kind, count=count)
        for kind, tool in tools.items()
        if tool in experts
    }


def redrawing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """Variations of tableaux and redrawn main objects of scenes, for the tools present."""
    figures = {}
    if "image_to_image" in experts:
        drawn = tableaux_at(split=Split.VALIDATION, indices=np.arange(count))
        images: list[dict[str, Value]] = [{"image": PillowImage.fromarray(pixels)} for pixels in drawn.pixels]
        figures["parts stay in a variation, IoU"] = _mean_agreement(
            expert=experts["image_to_image"], items=images, kind=MapKind.SEGMENTATION, drawn=drawn
        )
    if "partial_image_editing" in experts:
        figures |= replacement_quality(
            expert=experts["partial_image_editing"], classifier=experts["Image Classification"], count=count
        )
    return figures


def replacement_quality(*, expert: Expert, classifier: Expert, count: int) -> dict[str, float]:
    """Accuracy of the classifier on scenes whose main object, masked by its box, was redrawn as another."""
    items: list[dict[str, Value]] = []
    targets = []
    for index in range(count):
        scene = draw_scene(split=Split.VALIDATION, index=index)
        rng = generator(split=Split.VALIDATION, index=index, purpose="replacement")
        colour = contrasting_colour(rng=rng, background=scene.background)
        targets.append((colour, list(Shape)[rng.integers(len(Shape))]))
        prompt = f"{with_article(' '.join(targets[-1]))} is {background_phrase(scene).english}."
        mask = Masks((SIZE, SIZE), (Mask("", _box(thing_mask(scene.main), margin=1)),))
        items.append({"image": PillowImage.fromarray(render(scene)), "mask": mask, "prompt": prompt})
    seen = [str(answer["text"]).split() for answer in classifier.run(expert.run(items))]
    right = np.asarray([[a == b for a, b in zip(*pair, strict=True)] for pair in zip(seen, targets, strict=True)])
    return {
        "redrawn region has the right colour to the classifier": float(right[:, 0].mean()),
        "redrawn region has the right shape to the classifier": float(right[:, 1].mean()),
    }


_NEAR = 40
"""Largest difference of an unchanged pixel, in 8-bit levels; the autoencoder alone causes one of 5."""
_LEAST_CHANGE = 10
"""Mean difference over channels above which a pixel should change, in 8-bit levels."""


def editing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """Edits of validation tableaux by instruction, compared with the exact results.

    An edit is right if the pixels that should change are nearer to the result than to the picture before.
    """
    if "text_image_editing" not in experts:
        return {}
    edits = [edit_at(split=Split.VALIDATION, index=index) for index in range(count)]
    before = np.stack([paint(edit.before).pixels for edit in edits]).astype(np.int16)
    after = np.stack([paint(edit.after).pixels for edit in edits]).astype(np.int16)
    items: list[dict[str, Value]] = [
        {"image": PillowImage.fromarray(pixels.astype(np.uint8)), "text": edit.instruction}
        for pixels, edit in zip(before, edits, strict=True)
    ]
    outputs = experts["text_image_editing"].run(items)
    drawn = np.stack([np.asarray(output["image"]) for output in outputs]).astype(np.int16)
    to_after, to_before, change = (
        np.abs(first - second).mean(axis=-1) for first, second in ((drawn, after), (drawn, before), (before, after))
    )
    changed = change > _LEAST_CHANGE
    right = [float(new[c].mean() < old[c].mean()) for new, old, c in zip(to_after, to_before, changed, strict=True)]
    unchanged = [float((new[~c] <= _NEAR).mean()) for new, c in zip(to_after, changed, strict=True) if not c.all()]
    figures = {}
    for kind in EditKind:
        if values := [value for value, edit in zip(right, edits, strict=True) if edit.kind is kind]:
            figures[f"edits of the kind {kind} that are right"] = float(np.mean(values))
    return figures | {"other pixels that stay as they were": float(np.mean(unchanged))}


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "guided-drawing": guided_drawing_quality,
    "text-to-image": redrawing_quality,
    "picture-editing": editing_quality,
}
"""By folder of weights: takes the experts by tool and a number of samples; returns figures in [0, 1] by name."""
