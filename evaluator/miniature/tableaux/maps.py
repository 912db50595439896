"""Maps of a tableau from its ground truth, which experts estimate from pictures or draw pictures from.

A map is 8-bit RGB of shape (64, 64, 3). Outlines are white on black.
"""

import colorsys
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from evaluator.miniature.pictures.maps import normal_map, outlines
from evaluator.miniature.pictures.skeleton import draw_skeleton
from evaluator.miniature.rendering import Plane
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.records import Figure, Part, Tableau
from evaluator.miniature.vocabulary import Shape

Pixels = npt.NDArray[np.uint8]
Owner = npt.NDArray[np.int64] | npt.NDArray[np.int8]
"""Index of the part that a pixel shows, -1 for the background; shape (64, 64)."""

_ROUND = frozenset({Shape.CIRCLE, Shape.RING})
_WOBBLE = 1.2
"""Deviation of a scribble from the outline in pixels."""
_NODES = 9
"""Nodes in each direction for interpolating the deviation of a scribble."""
_SEGMENT_COLOURS = 10


class MapKind(StrEnum):
    """The kind of a map, by the name of the argument of tools."""

    LINE = "line"
    HED = "hed"
    SCRIBBLE = "scribble"
    POSE = "pose"
    SEGMENTATION = "segmentation"
    EDGE = "edge"
    DEPTH = "depth"
    NORMAL = "normal"


def draw_map(*, kind: MapKind, tableau: Tableau, owner: Owner, nearness: Plane, rng: np.random.Generator) -> Pixels:
    """The map of a tableau.

    Args:
        kind: of the map.
        tableau: the content of the picture.
        owner: of each pixel.
        nearness: of each pixel in [0, 1], shape (64, 64).
        rng: for scribbles only.

    Raises:
        ValueError: a pose of a tableau without a figure.
    """
    match kind:
        case MapKind.POSE:
            if tableau.figure is None:
                raise ValueError("a tableau without a figure has no pose")
            return pose_map(tableau.figure)
        case MapKind.LINE:
            return line_map(parts=tableau.parts, owner=owner)
        case MapKind.SCRIBBLE:
            return scribble_map(owner=owner, rng=rng)
        case MapKind.DEPTH:
            return depth_map(nearness)
        case MapKind.NORMAL:
            return normal_map(nearness)
        case MapKind.EDGE:
            return edge_map(owner)
        case MapKind.HED:
            return hed_map(owner)
        case MapKind.SEGMENTATION:
            return segmentation_map(owner)


def edge_map(owner: Owner) -> Pixels:
    """Outlines one pixel wide."""
    return _grey(outlines(owner).astype(np.float32))


def hed_map(owner: Owner) -> Pixels:
    """Soft outlines, blurred with the weights 1, 2, 1 in both directions."""
    padded = np.pad(outlines(owner).astype(np.float32), 1, mode="edge")
    rows = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    soft = np.asarray((rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4, dtype=np.float32)
    return _grey(np.asarray(np.clip(2.5 * soft, 0, 1), dtype=np.float32))


def scribble_map(*, owner: Owner, rng: np.random.Generator) -> Pixels:
    """Outlines three pixels wide, displaced by about a pixel."""
    # Weights of the nodes for each pixel of a row, shape (64, 9).
    places = np.linspace(0, _NODES - 1, SIZE)
    taps = np.asarray(np.clip(1 - np.abs(places[:, None] - np.arange(_NODES)), 0, 1))
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]
    down, across = (taps @ (_WOBBLE * rng.standard_normal((_NODES, _NODES))) @ taps.T for _ in range(2))
    moved_rows = np.clip(np.rint(rows + down), 0, SIZE - 1).astype(np.int64)
    moved_columns = np.clip(np.rint(columns + across), 0, SIZE - 1).astype(np.int64)
    moved = np.pad(outlines(owner)[moved_rows, moved_columns], 1)
    windows = np.lib.stride_tricks.sliding_window_view(moved, (3, 3))
    return _grey(np.asarray(windows.any(axis=(2, 3)), dtype=np.float32))


def line_map(*, parts: tuple[Part, ...], owner: Owner) -> Pixels:
    """Straight outlines: without circles, rings and the upper half of hearts."""
    straight = np.zeros((SIZE, SIZE), dtype=np.bool_)
    for index, part in enumerate(parts):
        if isinstance(part, Figure) or part.shape not in _ROUND | {Shape.HEART}:
            straight |= owner == index
        elif part.shape is Shape.HEART:
            straight |= (owner == index) & (np.arange(SIZE)[:, None] >= part.y)
    return _grey((outlines(owner) & straight).astype(np.float32))


def segmentation_map(owner: Owner) -> Pixels:
    """Each part in a different colour on black, by drawing order and not by name."""
    colours = [colorsys.hsv_to_rgb(index / _SEGMENT_COLOURS, 0.8, 1.0) for index in range(_SEGMENT_COLOURS)]
    table = np.rint(255 * np.asarray([*colours, (0.0, 0.0, 0.0)])).astype(np.uint8)
    return np.asarray(table[np.where(owner < 0, _SEGMENT_COLOURS, owner % _SEGMENT_COLOURS)])


def depth_map(nearness: Plane) -> Pixels:
    """Nearness as grey levels: the background is black, parts at the lower edge are white."""
    return _grey(nearness)


def pose_map(figure: Figure) -> Pixels:
    """The skeleton of a figure."""
    return draw_skeleton(joints=figure.joints, size=(SIZE, SIZE))


def _grey(values: Plane) -> Pixels:
    """Numbers in [0, 1] as grey levels."""
    return np.repeat(np.rint(255 * values).astype(np.uint8)[..., None], 3, axis=-1)
