"""Scores of maps and edits, pixel by pixel."""

import numpy as np
import numpy.typing as npt

from evaluator.core.values import Clip, Image
from evaluator.miniature.pictures.skeleton import read_skeleton

TOLERANCE = 2
"""Pixels that an outline may be away from its place."""
NEAR_JOINT = 0.2
"""Distance up to which a joint is right, as a share of the larger side of the figure (PCK; Yang and Ramanan, 2013)."""
_BLUR = 3.0
"""Deviation of the Gaussian before edits are compared: a frame that is a pixel away is nearly right."""
_HALF = 128
_COPY = 2.0
"""Mean difference in 8-bit levels up to which a picture is a copy."""


def outline_score(found: Image, reference: Image) -> float:
    """F1 of outlines, where pixels within 2 pixels of each other agree; 1 if both are empty."""
    from scipy import ndimage  # here, for it takes longer to import than everything else of this package

    own, right = _strokes(_fitted(found, reference)), _strokes(reference)
    if not own.any() or not right.any():
        return float(own.any() == right.any())
    reach = np.ones((2 * TOLERANCE + 1,) * 2, dtype=np.bool_)
    precision = float((own & ndimage.binary_dilation(right, reach)).sum() / own.sum())
    recall = float((right & ndimage.binary_dilation(own, reach)).sum() / right.sum())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def depth_score(found: Image, reference: Image) -> float:
    """Pearson's correlation of two maps of nearness, not below 0, since the unit of nearness is anybody's choice."""
    return _correlation(*(np.asarray(one.convert("L")) for one in (_fitted(found, reference), reference)))


def normal_score(found: Image, reference: Image) -> float:
    """Pearson's correlation of the sideways parts of two maps of normals, not below 0."""
    own, right = (_array(one)[..., :2] for one in (_fitted(found, reference), reference))
    return _correlation(own, right)


def pose_score(found: Image, reference: Image) -> float:
    """Share of the joints of the right skeleton that are where they should be; 1 if neither shows a skeleton."""
    own, right = read_skeleton(_array(_fitted(found, reference))), read_skeleton(_array(reference))
    if right is None or own is None:
        return float(right is own)
    places = np.asarray(list(right.values()))
    reach = NEAR_JOINT * float((places.max(axis=0) - places.min(axis=0)).max())
    near = [
        joint in own and float(np.hypot(own[joint][0] - x, own[joint][1] - y)) <= reach
        for joint, (x, y) in right.items()
    ]
    return sum(near) / len(near)


def edit_score(found: Image, reference: Clip) -> float:
    """How much of a change was made: 1 - |found - after| / |before - after|, sums over blurred pixels, not below 0.

    The picture as it was scores 0. A picture of another size scores 0 too, since nobody asked for that.

    Args:
        found: the edited picture.
        reference: two frames, before and after.
    """
    from scipy import ndimage  # here, for it takes longer to import than everything else of this package

    before, after = (frame.astype(np.float64) for frame in reference.frames[:2])
    own = _array(found).astype(np.float64)
    if own.shape != after.shape:
        return 0.0
    own, before, after = (ndimage.gaussian_filter(one, sigma=(_BLUR, _BLUR, 0)) for one in (own, before, after))
    wanted = float(np.abs(before - after).sum())
    missed = float(np.abs(own - after).sum())
    if wanted == 0:
        return float(missed == 0)
    return max(0.0, 1 - missed / wanted)


def is_copy(found: Image, reference: Image) -> bool:
    """Whether two pictures of one size differ by at most two grey levels on average."""
    if found.size != reference.size:
        return False
    own, other = (_array(one).astype(np.float64) for one in (found, reference))
    return float(np.abs(own - other).mean()) <= _COPY


def _array(picture: Image) -> npt.NDArray[np.uint8]:
    return np.asarray(picture.convert("RGB"), dtype=np.uint8)


def _fitted(picture: Image, reference: Image) -> Image:
    return picture if picture.size == reference.size else picture.resize(reference.size)


def _strokes(picture: Image) -> npt.NDArray[np.bool_]:
    return np.asarray(_array(picture).max(axis=-1) >= _HALF)


def _correlation(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> float:
    own, right = (np.asarray(one, dtype=np.float64).ravel() for one in (first, second))
    own, right = own - own.mean(), right - right.mean()
    scale = float(np.linalg.norm(own) * np.linalg.norm(right))
    if scale == 0:
        return float(not own.any() and not right.any())
    return min(1.0, max(0.0, float(own @ right) / scale))
