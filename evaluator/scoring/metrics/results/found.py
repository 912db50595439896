"""Scores of answers and of what was found: labels, boxes, masks and segments."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evaluator.core.naming import words_of
from evaluator.core.values import Box, Boxes, Image, Labels, Mask, Masks
from evaluator.scoring.metrics.closed_answers import is_right

LEAST_OVERLAP = 0.5
"""Intersection over union from which on a box counts as found."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_NUMBERS)}
_NUMBER = re.compile(r"\d+")
_BLACK = (0, 0, 0)


def answer_score(answer: str, reference: str) -> float:
    """1 if an answer says the same, else 0.

    Words are compared as `closed_answers` does, numbers in words and digits are equal. Where a number is right, it may
    stand in a sentence, if that has no other.
    """
    said, right = _in_digits(answer), _in_digits(reference)
    if is_right(answer=said, reference=right):
        return 1.0
    return float(_NUMBER.fullmatch(right.strip()) is not None and set(_NUMBER.findall(said)) == {right.strip()})


def label_score(found: Labels, reference: Labels) -> float:
    """F1 of the sets of names; 1 if both are empty."""
    own, right = ({words_of(one.name) for one in labels.items} for labels in (found, reference))
    return 1.0 if own == right else 2 * len(own & right) / (len(own) + len(right))


def box_score(found: Boxes, reference: Boxes) -> float:
    """F1 of the boxes with the right name and an intersection over union of at least 0.5; 1 if both are empty.

    The surest boxes choose first, and a right box is found once.
    """
    if not found.items and not reference.items:
        return 1.0
    left, hits = list(reference.items), 0
    for box in sorted(found.items, key=lambda one: -one.score):
        named = [one for one in left if words_of(one.label) == words_of(box.label)]
        best = max(named, key=lambda one: overlap(box, one), default=None)
        if best is not None and overlap(box, best) >= LEAST_OVERLAP:
            left.remove(best)
            hits += 1
    return 2 * hits / (len(found.items) + len(reference.items))


def overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    width = min(first.right, second.right) - max(first.left, second.left)
    height = min(first.bottom, second.bottom) - max(first.top, second.top)
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((one.right - one.left) * (one.bottom - one.top) for one in (first, second))
    return width * height / (areas - width * height)


def mask_score(found: Masks, reference: Masks) -> float:
    """Sum of the intersections over union of matched masks with the right name, over the larger number of masks.

    Pairs are matched from the best on, each mask once. 1 if both are empty, 0 for masks of another size.
    """
    if found.size != reference.size:
        return 0.0
    return _matched(
        own=[(_name(one), one.pixels) for one in found.items],
        right=[(_name(one), one.pixels) for one in reference.items],
    )


def segment_score(found: Image, reference: Image) -> float:
    """The same for maps of segments, in which every colour but black is one segment without a name."""
    if found.size != reference.size:
        found = found.resize(reference.size, 0)
    return _matched(own=[((), one) for one in _segments(found)], right=[((), one) for one in _segments(reference)])


def _in_digits(text: str) -> str:
    return re.sub(r"[A-Za-z]+", lambda word: _DIGITS.get(word[0].casefold(), word[0]), text)


def _name(mask: Mask) -> tuple[str, ...]:
    return words_of(mask.label)


Region = npt.NDArray[np.bool_]


def _matched(*, own: Sequence[tuple[object, Region]], right: Sequence[tuple[object, Region]]) -> float:
    if not own and not right:
        return 1.0
    pairs = sorted(
        (
            (_region_overlap(region, other), i, j)
            for i, (name, region) in enumerate(own)
            for j, (its, other) in enumerate(right)
            if name == its
        ),
        key=lambda pair: (-pair[0], pair[1:]),
    )
    used_own, used_right, total = set[int](), set[int](), 0.0
    for shared, i, j in pairs:
        if i not in used_own and j not in used_right:
            used_own.add(i)
            used_right.add(j)
            total += shared
    return total / max(len(own), len(right))


def _region_overlap(first: Region, second: Region) -> float:
    union = int((first | second).sum())
    return float((first & second).sum()) / union if union else 0.0


def _segments(picture: Image) -> Iterable[Region]:
    """The regions of each colour but black; colours with few pixels come from blurred borders and are left out."""
    pixels = np.asarray(picture.convert("RGB"))
    colours, sizes = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    for colour, size in zip(colours, sizes, strict=True):
        if size >= _LEAST_PIXELS and tuple(colour) != _BLACK:
            yield np.asarray((pixels == colour).all(axis=-1))


_LEAST_PIXELS = 4
