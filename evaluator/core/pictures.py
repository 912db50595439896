"""Pictures from strangers, as a person sees them."""

import struct

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageOps
from PIL.Image import Image

_BACKGROUND = (255, 255, 255)
_DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
_EIGHT_BITS = 255


def as_seen(picture: Image) -> Image:
    """The first frame of a picture in RGB: upright, transparent parts over white, deep channels scaled to 8 bits.

    Greys of 16 bits (also in Pillow's 32-bit modes) are scaled, not clipped.

    Args:
        picture: a picture in any mode, whose size is within the caller's limits; its pixels are decoded here.

    Raises:
        OSError, ValueError, SyntaxError: the pixels cannot be decoded.
    """
    upright = _upright(picture)
    if upright.mode in _DEEP:
        seen = _shallow(upright)
        if isinstance(clear := upright.info.get("transparency"), int):  # the one grey that is transparent
            seen.paste(_EIGHT_BITS, mask=PillowImage.fromarray(np.asarray(upright) == clear))
        return seen.convert("RGB")
    if upright.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in upright.info:
        layered = upright.convert("RGBA")
        background = PillowImage.new("RGBA", layered.size, (*_BACKGROUND, _EIGHT_BITS))
        return PillowImage.alpha_composite(background, layered).convert("RGB")
    return upright.convert("RGB")


def _upright(picture: Image) -> Image:
    try:
        return ImageOps.exif_transpose(picture)
    except struct.error:  # damaged EXIF data, which no viewer applies
        return picture


def _shallow(picture: Image) -> Image:
    """A grey picture of more than 8 bits in 8 bits."""
    if picture.mode == "F":
        _, highest = picture.getextrema()
        scale = _EIGHT_BITS if float(highest) <= 1 else 1.0  # type: ignore[arg-type]  # one band
        return picture.point(lambda value: value * scale).convert("L")
    whole = picture.convert("I")
    _, highest = whole.getextrema()
    divisor = 257 if picture.mode != "I" or int(highest) > _EIGHT_BITS else 1  # type: ignore[arg-type]  # one band
    return whole.point(lambda value: value * (1 / divisor)).convert("L")
