"""Held-out quality of the experts that draw along maps and instructions, on the validation split."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Mask, Masks, Value
from evaluator.miniature.grammar.captions import background_phrase
from evaluator.miniature.pictures.maps import outlines
from evaluator.miniature.rendering import render, thing_mask
from evaluator.miniature.scenes import SIZE, SceneObject, contrasting_colour, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.captions import with_article
from evaluator.miniature.tableaux.drawing import paint
from evaluator.miniature.tableaux.editing import EditKind
from evaluator.miniature.tableaux.maps import MapKind, draw_map
from evaluator.miniature.vocabulary import BACKGROUNDS, Background, Shape
from evaluator.studies.experts.tableaux.data import Batch, tableaux_at
from evaluator.studies.experts.tableaux.guided_drawing import caption_at
from evaluator.studies.experts.tableaux.picture_editing import edit_at

Pixels = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.bool_]

OUTLINED = frozenset({MapKind.LINE, MapKind.HED, MapKind.SCRIBBLE, MapKind.EDGE})
"""Maps that are compared by their outlines."""
_SHADES: dict[Background, tuple[float, float]] = {
    Background.NIGHT: (0.9, 2.75),
    Background.GRASS: (0.83, 1.16),
    Background.STONE: (0.8, 1.08),
    Background.SKY: (0.88, 1.1),
    Background.SAND: (0.86, 1.12),
}
"""Brightness of a background's pattern against its colour."""
_DISTANCE = 50.0
"""Euclidean distance of 8-bit RGB from which a pixel is not background."""
_EDGE_TOLERANCE = 2
_POSE_TOLERANCE = 3
"""In pixels."""


def foreground(*, pixels: Pixels, background: Background) -> Plane:
    """Which pixels do not look like the background in any shade; (64, 64, 3) to (64, 64)."""
    colour = np.asarray(BACKGROUNDS[background].rgb, dtype=np.float64)
    values = pixels.astype(np.float64)
    shade = np.clip(values @ colour / (colour @ colour), *_SHADES[background])
    return np.asarray(np.linalg.norm(values - shade[..., None] * colour, axis=-1) > _DISTANCE)


def grown(mask: Plane, *, by: int) -> Plane:
    """The pixels at most `by` away from those of a mask."""
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
    """How well a picture agrees with the map of `kind` of tableau number `row`, in [0, 1].

    Outlines: F1 within 2 pixels. A pose: F1 of bones against the drawn parts within 3 pixels, of which only those near
    the figure count, since the map does not say what else there is. Others: intersection over union of all parts.

    Args:
        kind: of the map.
        pixels: the picture, shape (64, 64, 3).
        background: that the text asked for.
        drawn: tableaux.
        row: of the tableau in the batch.
    """
    seen = foreground(pixels=pixels, background=background)
    owner = drawn.owner[row]
    if kind in OUTLINED:
        given = given_map(kind=MapKind.LINE if kind is MapKind.LINE else MapKind.EDGE, drawn=drawn, row=row)
        return matched(first=outlines(seen.astype(np.int8)), second=given, tolerance=_EDGE_TOLERANCE)
    if kind is MapKind.POSE:
        bones = given_map(kind=kind, drawn=drawn, row=row)
        return matched(first=seen & _around(bones), second=bones, tolerance=_POSE_TOLERANCE)
    return float((seen & (owner >= 0)).sum() / max(1, (seen | (owner >= 0)).sum()))


def given_map(*, kind: MapKind, drawn: Batch, row: int) -> Plane:
    """Where the map of a tableau is not black."""
    pixels = draw_map(
        kind=kind,
        tableau=drawn.tableaux[row],
        owner=drawn.owner[row],
        nearness=drawn.nearness[row],
        rng=np.random.default_rng(row),
    )
    return np.asarray(pixels.any(axis=-1))


def _around(bones: Plane) -> Plane:
    """The box around a figure's bones, two pixels wider on each side."""
    rows, columns = np.nonzero(bones)
    box = np.zeros_like(bones)
    box[max(0, rows.min() - 2) : rows.max() + 3, max(0, columns.min() - 2) : columns.max() + 3] = True
    return box


_ROUND = frozenset({Shape.CIRCLE, Shape.RING, Shape.HEART})


def map_indices(*, kind: MapKind, count: int) -> list[int]:
    """The first validation tableaux with such a map: a pose needs a figure, lines only parts with straight sides."""
    indices: list[int] = []
    index = 0
    while len(indices) < count:
        tableau = tableaux_at(split=Split.VALIDATION, indices=np.asarray([index])).tableaux[0]
        round_one = any(isinstance(part, SceneObject) and part.shape in _ROUND for part in tableau.parts)
        if (kind is not MapKind.POSE or tableau.figure is not None) and (kind is not MapKind.LINE or not round_one):
            indices.append(index)
        index += 1
    return indices


def map_image(*, kind: MapKind, drawn: Batch, row: int) -> PillowImage.Image:
    """The map of a tableau from its ground truth."""
    return PillowImage.fromarray(
        draw_map(
            kind=kind,
            tableau=drawn.tableaux[row],
            owner=drawn.owner[row],
            nearness=drawn.nearness[row],
            rng=np.random.default_rng(row),
        )
    )


def map_quality(*, expert: Expert, kind: MapKind, count: int) -> float:
    """Mean agreement of pictures drawn along the maps of validation tableaux, from their captions."""
    indices = map_indices(kind=kind, count=count)
    drawn = tableaux_at(split=Split.VALIDATION, indices=np.asarray(indices))
    items: list[dict[str, Value]] = [
        {"text": caption_at(split=Split.VALIDATION, index=index), kind: map_image(kind=kind, drawn=drawn, row=row)}
        for row, index in enumerate(indices)
    ]
    pictures = [output["image"] for output in expert.run(items)]
    return float(
        np.mean(
            [
                agreement(
                    kind=kind,
                    pixels=np.asarray(picture),
                    background=drawn.tableaux[row].background,
                    drawn=drawn,
                    row=row,
                )
                for row, picture in enumerate(pictures)
            ]
        )
    )


def guided_drawing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """Agreement with each kind of map, by the tools that there are."""
    tools = {kind: f"{kind}_text_to_image" for kind in MapKind}
    return {
        f"agreement with the {kind} map": map_quality(expert=experts[tool], kind=kind, count=count)
        for kind, tool in tools.items()
        if tool in experts
    }


def redrawing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """Variations of tableaux and redrawn main objects of scenes, by the tools that there are."""
    figures = {}
    if "image_to_image" in experts:
        figures["parts stay in a variation, IoU"] = variation_quality(expert=experts["image_to_image"], count=count)
    if "partial_image_editing" in experts:
        figures |= replacement_quality(
            expert=experts["partial_image_editing"], classifier=experts["Image Classification"], count=count
        )
    return figures


def variation_quality(*, expert: Expert, count: int) -> float:
    """Mean intersection over union of the parts in variations of validation tableaux with those in the tableaux."""
    drawn = tableaux_at(split=Split.VALIDATION, indices=np.arange(count))
    pictures = [
        output["image"] for output in expert.run([{"image": PillowImage.fromarray(one)} for one in drawn.pixels])
    ]
    overlaps = [
        agreement(
            kind=MapKind.SEGMENTATION,
            pixels=np.asarray(picture),
            background=drawn.tableaux[row].background,
            drawn=drawn,
            row=row,
        )
        for row, picture in enumerate(pictures)
    ]
    return float(np.mean(overlaps))


def replacement_quality(*, expert: Expert, classifier: Expert, count: int) -> dict[str, float]:
    """What the classifier sees where the main object of a scene, masked by its box, was redrawn as another."""
    items: list[dict[str, Value]] = []
    wanted = []
    for index in range(count):
        scene = draw_scene(split=Split.VALIDATION, index=index)
        rng = generator(split=Split.VALIDATION, index=index, purpose="replacement")
        colour = contrasting_colour(rng=rng, background=scene.background)
        wanted.append((colour, list(Shape)[rng.integers(len(Shape))]))
        prompt = f"{with_article(' '.join(wanted[-1]))} is {background_phrase(scene).english}."
        mask = Masks((SIZE, SIZE), (Mask("", _box_around(thing_mask(scene.main))),))
        items.append({"image": PillowImage.fromarray(render(scene)), "mask": mask, "prompt": prompt})
    seen = [str(answer["text"]).split() for answer in classifier.run(expert.run(items))]
    right = np.asarray([[a == b for a, b in zip(*pair, strict=True)] for pair in zip(seen, wanted, strict=True)])
    return {
        "redrawn region has the right colour to the classifier": float(right[:, 0].mean()),
        "redrawn region has the right shape to the classifier": float(right[:, 1].mean()),
    }


def _box_around(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The box of a mask, a pixel wider on each side."""
    rows, columns = np.nonzero(mask)
    box = np.zeros_like(mask)
    box[max(0, rows.min() - 1) : rows.max() + 2, max(0, columns.min() - 1) : columns.max() + 2] = True
    return box


_NEAR = 40
"""Difference of a pixel, in 8-bit levels, up to which it counts as kept: the autoencoder alone makes one of 5."""


def editing_quality(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    """What becomes of validation tableaux by instruction, against the exact results.

    An edit is right where the pixels that should change are nearer to the result than to the picture before.
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
    kept = [float((new[~c] <= _NEAR).mean()) for new, c in zip(to_after, changed, strict=True) if not c.all()]
    kinds = [edit.kind for edit in edits]
    by_kind = {kind: [one for one, other in zip(right, kinds, strict=True) if other is kind] for kind in EditKind}
    return {
        **{f"edits of the kind {kind} that are right": float(np.mean(ones)) for kind, ones in by_kind.items() if ones},
        "other pixels that stay as they were": float(np.mean(kept)),
    }


_LEAST_CHANGE = 10
"""Mean difference of the channels of a pixel that should change, in 8-bit levels."""

MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "guided-drawing": guided_drawing_quality,
    "text-to-image": redrawing_quality,
    "picture-editing": editing_quality,
}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
