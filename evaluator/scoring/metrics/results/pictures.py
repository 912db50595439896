"""Scores of findings in pictures (labels, boxes, masks, segments), and of maps and edits pixel by pixel."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from evaluator.core.naming import words_of
from evaluator.core.values import Box, Boxes, Clip, Image, Labels, Masks
from evaluator.miniature.pictures.skeleton import read_skeleton

TOLERANCE = 2
"""Most distance of matching outlines, in pixels."""
NEAR_JOINT = 0.2
"""Most distance of a right joint, as a share of the larger side of the figure (PCK; Yang and Ramanan, 2013)."""
_BLUR = 3.0
"""Standard deviation of the Gaussian blur before edits are compared, so that a shift by a pixel costs little."""
_HALF = 128
_COPY = 2.0
"""Most mean difference of a copy, in 8-bit levels."""


def outline_score(output: Image, reference: Image) -> float:
    """F1 of outlines, with a tolerance of 2 pixels; 1 if both are empty."""
    from scipy import ndimage  # slow to import

    own, right = _strokes(_fitted(output, reference)), _strokes(reference)
    if not own.any() or not right.any():
        return float(own.any() == right.any())
    reach = np.ones((2 * TOLERANCE + 1,) * 2, dtype=np.bool_)
    precision = float((own & ndimage.binary_dilation(right, reach)).sum() / own.sum())
    recall = float((right & ndimage.binary_dilation(own, reach)).sum() / right.sum())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def depth_score(output: Image, reference: Image) -> float:
    """Pearson's correlation of two maps of nearness, at least 0. It is independent of the unit of nearness."""
    return _correlation(*(np.asarray(picture.convert("L")) for picture in (_fitted(output, reference), reference)))


def normal_score(output: Image, reference: Image) -> float:
    """Pearson's correlation of the x and y components of two maps of normals, at least 0."""
    own, right = (_array(picture)[..., :2] for picture in (_fitted(output, reference), reference))
    return _correlation(own, right)


def pose_score(output: Image, reference: Image) -> float:
    """Share of the joints of the reference skeleton with the right position; 1 if neither shows a skeleton."""
    own, right = read_skeleton(_array(_fitted(output, reference))), read_skeleton(_array(reference))
    if right is None or own is None:
        return float(right is own)
    places = np.asarray(list(right.values()))
    reach = NEAR_JOINT * float((places.max(axis=0) - places.min(axis=0)).max())
    near = [
        joint in own and float(np.hypot(own[joint][0] - x, own[joint][1] - y)) <= reach
        for joint, (x, y) in right.items()
    ]
    return sum(near) / len(near)


def edit_score(output: Image, reference: Clip) -> float:
    """Share of a change that was made: 1 - |output - after| / |before - after|, sums over blurred pixels, at least 0.

    The unchanged picture, and a picture of another size, score 0.

    Args:
        output: the edited picture.
        reference: two frames, before and after.
    """
    from scipy import ndimage  # slow to import

    before, after = (frame.astype(np.float64) for frame in reference.frames[:2])
    own = _array(output).astype(np.float64)
    if own.shape != after.shape:
        return 0.0
    own, before, after = (ndimage.gaussian_filter(picture, sigma=(_BLUR, _BLUR, 0)) for picture in (own, before, after))
    wanted = float(np.abs(before - after).sum())
    missed = float(np.abs(own - after).sum())
    if wanted == 0:
        return float(missed == 0)
    return max(0.0, 1 - missed / wanted)


def is_copy(output: Image, reference: Image) -> bool:
    """Whether two pictures of one size differ by at most two grey levels on average."""
    if output.size != reference.size:
        return False
    own, other = (_array(picture).astype(np.float64) for picture in (output, reference))
    return float(np.abs(own - other).mean()) <= _COPY


def _array(picture: Image) -> npt.NDArray[np.uint8]:
    return np.asarray(picture.convert("RGB"), dtype=np.uint8)


def _fitted(picture: Image, reference: Image) -> Image:
    return picture if picture.size == reference.size else picture.resize(reference.size)


def _strokes(picture: Image) -> npt.NDArray[np.bool_]:
    return np.asarray(_array(picture).max(axis=-1) >= _HALF)


def _correlation(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> float:
    own, right = (np.asarray(values, dtype=np.float64).ravel() for values in (first, second))
    own, right = own - own.mean(), right - right.mean()
    scale = float(np.linalg.norm(own) * np.linalg.norm(right))
    if scale == 0:
        return float(not own.any() and not right.any())
    return min(1.0, max(0.0, float(own @ right) / scale))


LEAST_OVERLAP = 0.5
"""Least intersection over union of matching boxes."""
_BLACK = (0, 0, 0)


def label_score(output: Labels, reference: Labels) -> float:
    """F1 of the sets of names; 1 if both are empty."""
    own, right = ({words_of(label.name) for label in labels.items} for labels in (output, reference))
    return 1.0 if own == right else 2 * len(own & right) / (len(own) + len(right))


def box_score(output: Boxes, reference: Boxes) -> float:
    """F1 of the boxes with the right name and an intersection over union of at least 0.5; 1 if both are empty.

    Boxes are matched in descending order of confidence, each reference box once.
    """
    if not output.items and not reference.items:
        return 1.0
    remaining, hits = list(reference.items), 0
    for box in sorted(output.items, key=lambda other: -other.score):
        named = [other for other in remaining if words_of(other.label) == words_of(box.label)]
        best = max(named, key=lambda other: overlap(box, other), default=None)
        if best is not None and overlap(box, best) >= LEAST_OVERLAP:
            remaining.remove(best)
            hits += 1
    return 2 * hits / (len(output.items) + len(reference.items))


def overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    width = min(first.right, second.right) - max(first.left, second.left)
    height = min(first.bottom, second.bottom) - max(first.top, second.top)
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box.right - box.left) * (box.bottom - box.top) for box in (first, second))
    return width * height / (areas - width * height)


def mask_score(output: Masks, reference: Masks) -> float:
    """Sum of the intersections over union of matched masks with the right name, over the larger number of masks.

    Pairs are matched greedily, best first, each mask once. 1 if both are empty, 0 for masks of another size.
    """
    if output.size != reference.size:
        return 0.0
    return _matched(
        own=[(words_of(mask.label), mask.pixels) for mask in output.items],
        right=[(words_of(mask.label), mask.pixels) for mask in reference.items],
    )


def segment_score(output: Image, reference: Image) -> float:
    """`mask_score` of segment maps, in which every colour except black is an unnamed segment."""
    if output.size != reference.size:
        output = output.resize(reference.size, 0)
    return _matched(
        own=[((), region) for region in _segments(output)], right=[((), region) for region in _segments(reference)]
    )


Region = npt.NDArray[np.bool_]


def _matched(*, own: Sequence[tuple[object, Region]], right: Sequence[tuple[object, Region]]) -> float:
    if not own and not right:
        return 1.0
    overlaps = []
    for i, (name, region) in enumerate(own):
        for j, (right_name, other) in enumerate(right):
            if name == right_name:
                union = int((region | other).sum())
                overlaps.append((float((region & other).sum()) / union if union else 0.0, i, j))
    used_own, used_right, total = set[int](), set[int](), 0.0
    for shared, i, j in sorted(overlaps, key=lambda pair: (-pair[0], pair[1:])):
        if i not in used_own and j not in used_right:
            used_own.add(i)
            used_right.add(j)
            total += shared
    return total / max(len(own), len(right))


def _segments(picture: Image) -> Iterable[Region]:
    """The region of each colour except black; colours with few pixels are blurred borders and omitted."""
    pixels = np.asarray(picture.convert("RGB"))
    colours, sizes = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    for colour, size in zip(colours, sizes, strict=True):
        if size >= _LEAST_PIXELS and tuple(colour) != _BLACK:
            yield np.asarray((pixels == colour).all(axis=-1))


_LEAST_PIXELS = 4
