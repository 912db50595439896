"""Clips from one picture: which motion a text asks for, the picture that it begins with, and the moved thing.

No model makes these clips. A thing is cut out by its mask and moved on the filled background.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from evaluator.miniature.grammar.captions import DIRECTIONS
from evaluator.miniature.grammar.german import capitalised, with_article
from evaluator.miniature.grammar.labels import BACKGROUND, BACKGROUNDS
from evaluator.miniature.scenes import SIZE, SceneObject
from evaluator.miniature.tableaux.clips import TIMES, Motion, moved
from evaluator.miniature.vocabulary import Colour, Shape

Pixels = npt.NDArray[np.uint8]
"""Shape (height, width, 3)."""
Plane = npt.NDArray[np.bool_]
"""Shape (height, width)."""

_MOST_WORDS = 200
"""Of a text that are read."""
_STEMS: Mapping[str, str] = {
    **dict.fromkeys(("rise", "rises", "rising", "ascend", "ascends", "ascending", "climb", "climbs", "climbing"), "up"),
    **dict.fromkeys(("up", "upward", "upwards"), "up"),
    **dict.fromkeys(("fall", "falls", "falling", "sink", "sinks", "sinking", "descend", "descends"), "down"),
    **dict.fromkeys(("descending", "drop", "drops", "dropping", "down", "downward", "downwards"), "down"),
    **dict.fromkeys(("left", "leftward", "leftwards"), "left"),
    **dict.fromkeys(("right", "rightward", "rightwards"), "right"),
    **dict.fromkeys(("circle", "circles", "circling", "orbit", "orbits", "orbiting"), "circle"),
    **dict.fromkeys(("spin", "spins", "spinning", "rotate", "rotates", "rotating", "turn", "turns", "turning"), "spin"),
    **dict.fromkeys(("clockwise",), "clockwise"),
    **dict.fromkeys(("anticlockwise", "counterclockwise"), "anticlockwise"),
    **dict.fromkeys(("grow", "grows", "growing", "expand", "expands", "expanding"), "grow"),
    **dict.fromkeys(("shrink", "shrinks", "shrinking", "contract", "contracts", "contracting"), "shrink"),
    **dict.fromkeys(("hop", "hops", "hopping", "jump", "jumps", "jumping", "bounce", "bounces", "bouncing"), "hop"),
    **dict.fromkeys(("swing", "swings", "swinging", "sway", "sways", "swaying"), "swing"),
    **dict.fromkeys(("move", "moves", "moving", "go", "goes", "going", "fly", "flies", "flying"), "move"),
    **dict.fromkeys(("slide", "slides", "sliding", "drift", "drifts", "drifting", "travel", "travels"), "move"),
}
"""What a word says about a motion."""
_MOTIONS: Sequence[tuple[frozenset[str], Motion]] = (
    (frozenset({"spin", "anticlockwise"}), Motion.SPINNING_ANTICLOCKWISE),
    (frozenset({"spin"}), Motion.SPINNING_CLOCKWISE),
    (frozenset({"circle", "anticlockwise"}), Motion.ANTICLOCKWISE),
    (frozenset({"circle"}), Motion.CLOCKWISE),
    (frozenset({"grow"}), Motion.GROWING),
    (frozenset({"shrink"}), Motion.SHRINKING),
    (frozenset({"hop"}), Motion.HOPPING),
    (frozenset({"swing"}), Motion.SWINGING),
    (frozenset({"up", "left"}), Motion.UP_LEFT),
    (frozenset({"up", "right"}), Motion.UP_RIGHT),
    (frozenset({"down", "left"}), Motion.DOWN_LEFT),
    (frozenset({"down", "right"}), Motion.DOWN_RIGHT),
    (frozenset({"up"}), Motion.UP),
    (frozenset({"down"}), Motion.DOWN),
    (frozenset({"move", "left"}), Motion.LEFT),
    (frozenset({"move", "right"}), Motion.RIGHT),
)  # fmt: skip
"""The first motion all of whose words are said is meant."""
_WORD = re.compile(r"[a-z]+")
_PLACES = re.compile(r"\bto the (?:left|right) of\b")


def motion_in(text: str) -> Motion | None:
    """The motion that an English text asks for; None if it names none.

    `circle` is a shape after a colour or an article, otherwise a motion; `to the left of` is a place.
    """
    words = _words(_PLACES.sub(" ", text.lower()))
    said = {
        _STEMS[word]
        for before, word in pairwise(["", *words])
        if word in _STEMS and not (word == "circle" and before in {"a", "the", "one", *Colour})
    }
    return next((motion for needed, motion in _MOTIONS if needed <= said), None)


def things_in(text: str) -> tuple[str, ...]:
    """The names of things in a text, such as `red star`, in their order."""
    pairs = pairwise(_words(text.lower()))
    return tuple(f"{first} {second}" for first, second in pairs if first in {*Colour} and second in {*Shape})


def picture_for(text: str) -> str:
    """The caption of the picture that a clip for a text begins with, as `text_to_image` knows captions.

    A text without a name of a thing of the miniature world is its own caption.
    """
    things = things_in(text)
    if not things:
        return text
    low = text.lower()
    grounds = [colour.english for colour in BACKGROUNDS.values() if f"{colour.english} {BACKGROUND.english}" in low]
    sentence = f"{with_article(things[0])} is"
    direction = next((words.english for words in DIRECTIONS.values() if f"{words.english} a" in low), None)
    if len(things) > 1 and direction is not None:
        sentence += f" {direction} {with_article(things[1])}"
    # `green` is the end of no other one, but `blue` would be of two: the longest name is meant.
    ground = max(grounds, key=len, default=None)
    return capitalised(f"{sentence} on {with_article(ground or 'grey')} {BACKGROUND.english}.")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:_MOST_WORDS]


def moved_frames(*, picture: Pixels, background: Pixels, mask: Plane, motion: Motion) -> npt.NDArray[np.uint8]:
    """Eight frames in which the thing under a mask moves; the picture shows it in the middle of its path.

    Lengths of paths are those of the clips of the miniature world, scaled to the shorter side of the picture.

    Args:
        picture: with the thing.
        background: the same without it.
        mask: its pixels, at least one.
        motion: its motion.

    Returns:
        8-bit RGB of shape (8, height, width, 3).
    """
    rows, columns = np.nonzero(mask)
    y, x = float(rows.mean()), float(columns.mean())
    # Outlines are blended with the background: half-transparent pixels around the mask.
    opacity = ndimage.gaussian_filter(ndimage.binary_dilation(mask).astype(np.float64), 0.6)
    layer = np.concatenate([picture * opacity[..., None], opacity[..., None]], axis=2)
    scale = min(picture.shape[:2]) / SIZE
    still = SceneObject(Shape.CIRCLE, Colour.RED, 0.0, 0.0, 1.0, 0.0, 1.0, (0.0, 0.0))
    frames = []
    for time in TIMES:
        at = moved(mover=still, motion=motion, time=time)
        cos, sin = math.cos(at.angle) / at.radius, math.sin(at.angle) / at.radius
        # From a place of the frame to one of the picture, rows first; rows point downwards.
        matrix = np.array([[cos, -sin], [sin, cos]])
        offset = np.array([y, x]) - matrix @ np.array([y + scale * at.y, x + scale * at.x])
        turned = np.stack(
            [ndimage.affine_transform(layer[..., k], matrix, offset=offset, order=1) for k in range(4)], axis=2
        )
        frame = turned[..., :3] + (1 - turned[..., 3:]) * background
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
    return np.stack(frames)
