"""Values of experts in words, and as pictures that planners can be sent."""

import base64

from PIL import Image as PillowImage

from evaluator.core.values import Boxes, Clip, Image, Labels, Masks, Value, encode

MOST_ITEMS = 20
"""Findings that are listed."""
LONGEST_SIDE = 256
"""Pixels of a picture that is sent; larger ones are scaled down."""
MOST_BYTES = 96 * 1024
"""Of the PNG of a picture that is sent; noise compresses badly, and is scaled down further."""


def in_words(value: Value, *, caption: str = "") -> str:
    """A value as a text: texts as they are, everything else by what it is and how large.

    Args:
        value: the value.
        caption: what a picture shows; empty if nobody says.
    """
    match value:
        case str():
            return value
        case Image():
            words = f"a picture of {value.width}x{value.height} pixels"
            return f"{words}: {caption}" if caption else words
        case Clip():
            width, height = value.size
            return f"a clip of {len(value.frames)} frames of {width}x{height} pixels"
        case Labels():
            found = [f"{one.name} ({one.score:.2f})" for one in value.items]
            return _listed(found, what="label")
        case Boxes():
            found = [f"{one.label} at {', '.join(f'{side:.0f}' for side in one.corners)}" for one in value.items]
            return f"{_listed(found, what='box')} in {value.size[0]}x{value.size[1]} pixels"
        case Masks():
            found = [f"{one.label or 'unnamed'} of {int(one.pixels.sum())} pixels" for one in value.items]
            return f"{_listed(found, what='mask')} in {value.size[0]}x{value.size[1]} pixels"


def as_png(picture: Image) -> str:
    """A picture as a PNG in base64, scaled down where it is large."""
    side = LONGEST_SIDE
    while True:
        data = encode(_within(picture, side=side)).data
        if len(data) <= MOST_BYTES:
            return base64.b64encode(data).decode("ascii")
        side //= 2


def _within(picture: Image, *, side: int) -> Image:
    if max(picture.size) <= side:
        return picture
    smaller = picture.copy()
    smaller.thumbnail((side, side), PillowImage.Resampling.LANCZOS)
    return smaller


def _listed(items: list[str], *, what: str) -> str:
    if not items:
        return f"no {what}"
    count = f"{len(items)} {_plural(what) if len(items) > 1 else what}"
    more = f"; and {len(items) - MOST_ITEMS} more" if len(items) > MOST_ITEMS else ""
    return f"{count}: {'; '.join(items[:MOST_ITEMS])}{more}"


def _plural(word: str) -> str:
    return f"{word}es" if word.endswith("x") else f"{word}s"
