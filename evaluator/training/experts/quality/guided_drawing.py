"""Held-out quality of the experts that draw along maps and instructions, on the validation split."""

from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image as PillowImage

from evaluator.experts.protocol import Expert
from evaluator.training.experts.quality.map_agreement import agreement
from evaluator.training.experts.tableaux.data import Batch, tableaux_at
from evaluator.training.experts.tableaux.guided_drawing import caption_at
from evaluator.world.scenes import SceneObject
from evaluator.world.seeds import Split
from evaluator.world.tableaux.maps import MapKind, draw_map
from evaluator.world.vocabulary import Shape

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
    items = [
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


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "guided-drawing": guided_drawing_quality,
}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
