"""Scores of what is pointed at."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.values import Boxes, Clip, Image, Masks
from evaluator.scoring.metrics import rule_names
from evaluator.scoring.metrics.results.pictures import box_score
from evaluator.scoring.metrics.results.rules import RuleScore

LEAST_OVERLAP = 0.5
"""Least intersection over union of a hit."""
_NOTICEABLE = 24
"""Least difference of a changed pixel in any channel, in 8-bit levels."""


def hit_score(output: Masks, reference: Masks) -> float:
    """1 for a hit: all masks together overlap the thing pointed at by an intersection over union of at least 0.5.

    Labels do not count: nobody names a thing that is pointed at. The region of several like things is no hit. 0 for
    masks of another size, and for empty ones.
    """
    if output.size != reference.size:
        return 0.0
    own, right = output.union(), reference.union()
    either = int((own | right).sum())
    return float(either > 0 and int((own & right).sum()) >= LEAST_OVERLAP * either)


def named_score(output: Boxes, reference: Boxes) -> float:
    """1 if each box of the reference is found with its name at an intersection over union of at least 0.5, and no other
    box, else 0. Other than for detection, a list of all things says nothing about the one that is meant."""
    return float(output.size == reference.size and box_score(output, reference) == 1)


def replaced_score(output: Image, reference: Clip) -> float:
    """Share of the pixels of a replaced thing that are nearer to the wanted picture than to the given one, less the
    number of pixels that changed elsewhere as a share of the thing's; at least 0.

    The unchanged picture, a picture of another size, and one in which like things changed too score 0. Shades within
    the thing do not count, as generated ones differ from the wanted ones.

    Args:
        output: the edited picture.
        reference: two frames of one size, before and after, which differ in the thing only.
    """
    before, after = (frame.astype(np.float64) for frame in reference.frames[:2])
    own = np.asarray(output.convert("RGB"), dtype=np.float64)
    if own.shape != after.shape:
        return 0.0
    thing = (before != after).any(axis=-1)
    nearer = np.linalg.norm(own - after, axis=-1) < np.linalg.norm(own - before, axis=-1)
    spoilt = np.abs(own - after).max(axis=-1) > _NOTICEABLE
    return max(0.0, (int(nearer[thing].sum()) - int(spoilt[~thing].sum())) / max(1, int(thing.sum())))


POINTING_SCORES: Mapping[str, RuleScore] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            RuleScore(rule_names.HIT, Masks, Masks, hit_score),
            RuleScore(rule_names.NAMED, Boxes, Boxes, named_score),
            RuleScore(rule_names.REPLACED, PillowImage.Image, Clip, replaced_score),
        )
    }
)
"""By name. Beside the other scores by rules, whose folder is in the digests of suites without marks."""
