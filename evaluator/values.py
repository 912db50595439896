"""The values that flow between experts: images and texts.

An *artefact* is the stored form of a value: bytes with a media type, named by the SHA-256 of the bytes.
Encoding is pinned (PNG with fixed settings, UTF-8 without normalisation), so that equal values give equal
bytes and therefore equal digests.
"""

import hashlib
import io
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from PIL import Image as PillowImage

Image = PillowImage.Image
Value = Image | str


class MediaType(StrEnum):
    """How an artefact's bytes are to be read."""

    PNG = "image/png"
    TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Artefact:
    """Bytes of one value. `digest` is the lower-case hexadecimal SHA-256 of `data`."""

    data: bytes
    media_type: MediaType

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def encode(value: Value) -> Artefact:
    """Turn a value into its artefact. Images become 8-bit RGB PNGs, texts UTF-8.

    Raises:
        TypeError: the value is neither a PIL image nor a text.
    """
    if isinstance(value, str):
        return Artefact(data=value.encode("utf-8"), media_type=MediaType.TEXT)
    if isinstance(value, PillowImage.Image):
        buffer = io.BytesIO()
        value.convert("RGB").save(buffer, format="PNG", compress_level=1)
        return Artefact(data=buffer.getvalue(), media_type=MediaType.PNG)
    raise TypeError(f"a value must be a PIL image or a text, not {type(value).__name__}")


def decode(artefact: Artefact) -> Value:
    """Turn an artefact back into its value (the inverse of `encode`)."""
    if artefact.media_type is MediaType.TEXT:
        return artefact.data.decode("utf-8")
    return PillowImage.open(io.BytesIO(artefact.data)).convert("RGB")


def image_to_array(image: Image) -> np.ndarray:
    """An RGB image as float32 of shape (height, width, 3) in [0, 1]."""
    return np.asarray(image.convert("RGB"), dtype=np.float32) / 255.0


def array_to_image(array: np.ndarray) -> Image:
    """The inverse of `image_to_array`; values outside [0, 1] are clipped, then rounded to 8 bits."""
    pixels = np.clip(np.rint(array * 255.0), 0, 255).astype(np.uint8)
    return PillowImage.fromarray(pixels, mode="RGB")
