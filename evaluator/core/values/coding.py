"""How values become artefacts and back.

Encoding is pinned (PNG with fixed settings, UTF-8 without normalisation, canonical JSON), so that equal values give
equal bytes and therefore equal digests.
"""

import hashlib
import io
import json
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from PIL import Image as PillowImage
from PIL.PngImagePlugin import PngInfo

from evaluator.core import canonical_json
from evaluator.core.values.findings import Boxes, FindingError, Labels, Masks, findings_from_json
from evaluator.core.values.pictures import Clip, Image

Value = Image | str | Clip | Labels | Boxes | Masks

MOST_FRAMES = 64
"""Of a clip that is read."""
_FRAME_MILLISECONDS = 150
_COUNT = "Frames"
"""Name of the text chunk that tells how many frames a clip has."""


class MediaType(StrEnum):
    """How an artefact's bytes are to be read."""

    PNG = "image/png"
    TEXT = "text/plain; charset=utf-8"
    CLIP = "image/apng"
    FINDINGS = "application/json"


PICTURES = frozenset({MediaType.PNG, MediaType.CLIP})
"""What browsers show as a picture."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """Bytes of one value. `digest` is the lower-case hexadecimal SHA-256 of `data`."""

    data: bytes
    media_type: MediaType

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def encode(value: Value) -> Artefact:
    """Turn a value into its artefact: pictures become 8-bit RGB PNGs, clips animated PNGs, findings canonical JSON.

    Raises:
        TypeError: the object is no value.
    """
    if isinstance(value, str):
        return Artefact(data=value.encode("utf-8"), media_type=MediaType.TEXT)
    if isinstance(value, PillowImage.Image):
        buffer = io.BytesIO()
        value.convert("RGB").save(buffer, format="PNG", compress_level=1)
        return Artefact(data=buffer.getvalue(), media_type=MediaType.PNG)
    if isinstance(value, Clip):
        return Artefact(data=_animated(value), media_type=MediaType.CLIP)
    if isinstance(value, Labels | Boxes | Masks):
        return Artefact(data=canonical_json.dumps(value.to_json()).encode("utf-8"), media_type=MediaType.FINDINGS)
    raise TypeError(f"a value is a picture, a text, a clip or findings, not {type(value).__name__}")


def decode(artefact: Artefact) -> Value:
    """Turn an artefact back into its value (the inverse of `encode`).

    Raises:
        FindingError: JSON that is no findings.
        ValueError, OSError: bytes that are not of their media type.
    """
    if artefact.media_type is MediaType.TEXT:
        return artefact.data.decode("utf-8")
    if artefact.media_type is MediaType.FINDINGS:
        try:
            return findings_from_json(json.loads(artefact.data.decode("utf-8")))
        except RecursionError:
            raise FindingError("findings are not nested that deeply") from None
    picture = PillowImage.open(io.BytesIO(artefact.data), formats=["PNG"])
    return _clip(picture) if artefact.media_type is MediaType.CLIP else picture.convert("RGB")


def _animated(clip: Clip) -> bytes:
    first, *others = (PillowImage.fromarray(frame) for frame in clip.frames)
    buffer = io.BytesIO()
    # Pillow writes equal frames in a row as one that is shown longer, and nothing but equal ones as a picture: `_clip`
    # undoes both.
    told = PngInfo()
    told.add_text(_COUNT, str(len(clip.frames)))
    first.save(
        buffer, format="PNG", compress_level=1, save_all=True, append_images=others, duration=_FRAME_MILLISECONDS,
        loop=0, disposal=0, blend=0, pnginfo=told,
    )  # fmt: skip
    return buffer.getvalue()


def _clip(picture: Image) -> Clip:
    frames: list[np.ndarray] = []
    for number in range(int(getattr(picture, "n_frames", 1))):
        picture.seek(number)
        shown = round(float(picture.info.get("duration", _FRAME_MILLISECONDS)) / _FRAME_MILLISECONDS)
        if not 1 <= shown <= MOST_FRAMES - len(frames):
            raise ValueError(f"a clip has at most {MOST_FRAMES} frames of {_FRAME_MILLISECONDS} ms")
        frames += [np.asarray(picture.convert("RGB"), dtype=np.uint8)] * shown
    if not getattr(picture, "is_animated", False):
        frames *= _still_frames(picture)
    return Clip(np.stack(frames))


def _still_frames(picture: Image) -> int:
    """How many equal frames a clip has that is stored as one picture."""
    told = str(picture.info.get(_COUNT, "1"))
    if not told.isdecimal() or not 1 <= int(told) <= MOST_FRAMES:
        raise ValueError(f"a clip has 1 to {MOST_FRAMES} frames, not {told[:20]!r}")
    return int(told)


def image_to_array(image: Image) -> np.ndarray:
    """An RGB image as float32 of shape (height, width, 3) in [0, 1]."""
    return np.asarray(image.convert("RGB"), dtype=np.float32) / 255.0


def array_to_image(array: np.ndarray) -> Image:
    """The inverse of `image_to_array`; values outside [0, 1] are clipped, then rounded to 8 bits."""
    pixels = np.clip(np.rint(array * 255.0), 0, 255).astype(np.uint8)
    return PillowImage.fromarray(pixels, mode="RGB")
