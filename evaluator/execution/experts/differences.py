"""How much two outputs of an expert differ. `tolerance` of a profile bounds it between classes of devices."""

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.sounds import Sound
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value

_LONGEST_TEXT = 20_000
"""Characters. The time grows with the product of both lengths: two texts of this length take 0.2 seconds."""


def difference(first: Value, second: Value) -> float:
    """How much two values differ, in [0, 1].

    Pictures and clips: mean of the absolute differences of their levels, for clips with sounds the larger one of both.
    Sounds: mean of the absolute differences of their levels. Texts: share of letters outside the longest
    common subsequence, and 1 for different texts of more than `_LONGEST_TEXT` characters. Labels: as texts. Boxes:
    largest shift relative to the picture, masks: 1 - IoU of their union. Values of different kinds or sizes, or with
    other labels: 1.
    """
    match first, second:
        case PillowImage.Image(), PillowImage.Image():
            if first.size == second.size:
                return _of_levels(np.asarray(first.convert("RGB")), np.asarray(second.convert("RGB")))
        case Clip(), Clip():
            if first.frames.shape == second.frames.shape:
                sounds = _of_sounds(first.sound, second.sound)
                return max(_of_levels(first.frames, second.frames), sounds)
        case Sound(), Sound():
            return _of_sounds(first, second)
        case str(), str():
            return _of_texts(first, second)
        case Labels(), Labels():
            return _of_texts(*(", ".join(item.name for item in value.items) for value in (first, second)))
        case Boxes(), Boxes():
            if [item.label for item in first.items] == [item.label for item in second.items]:
                corners = [
                    [(item.left, item.top, item.right, item.bottom) for item in value.items]
                    for value in (first, second)
                ]  # fmt: skip
                shifts = np.abs(np.subtract(*map(np.array, corners)))
                return min(float(shifts.max(initial=0.0)) / max(first.size), 1.0)
        case Masks(), Masks():
            if first.size == second.size:
                one, other = first.union(), second.union()
                together = int((one | other).sum())
                return 1 - int((one & other).sum()) / together if together else 0.0
    return 1.0


def _of_levels(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first.astype(np.int16) - second.astype(np.int16)).mean()) / 255


def _of_sounds(first: Sound | None, second: Sound | None) -> float:
    if first is None or second is None:
        return 0.0 if first is second else 1.0
    if len(first.samples) != len(second.samples):
        return 1.0
    return float(np.abs(first.levels() - second.levels()).mean()) / 2


def _of_texts(first: str, second: str) -> float:
    if first == second:
        return 0.0
    if max(len(first), len(second)) > _LONGEST_TEXT:
        return 1.0
    return 1 - 2 * _common(first, second) / (len(first) + len(second))


def _common(first: str, second: str) -> int:
    """Length of the longest common subsequence: one column of the table is one integer (Hyyrö, "Bit-parallel
    LCS-length computation revisited", 2004)."""
    places: dict[str, int] = {}
    for number, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << number
    whole = (1 << len(first)) - 1
    row = whole
    for letter in second:
        matching = row & places.get(letter, 0)
        row = (row + matching | row - matching) & whole
    return len(first) - row.bit_count()
