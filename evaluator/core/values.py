"""The values that flow between experts: pictures, texts, clips, sounds, and what was found in a picture.

An *artefact* is the stored form of a value: bytes with a media type, named by the SHA-256 of the bytes. Encoding is
pinned (PNG with fixed settings, UTF-8 without normalisation, canonical JSON), so that equal values give equal bytes and
therefore equal digests. The JSON form of findings is strict in both directions.
"""

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage
from PIL.PngImagePlugin import PngInfo

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.sounds import Sound, stored_sound, wav_of

MOST_ITEMS = 1000
"""Of one list of findings."""
LONGEST_LABEL = 200
MOST_PIXELS = 2**24
"""Of all masks of one picture together: a few bytes could claim terabytes otherwise."""
LARGEST_SIDE = 4096
"""Of the picture that findings are about."""
_CORNERS = 4


class FindingError(ValueError):
    """JSON that is no list of findings; the message says what is wrong where."""


@dataclass(frozen=True, slots=True)
class Label:
    """One name for what is shown."""

    name: str
    score: float = 1.0
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Names for what a picture or a clip shows, the surest first."""

    items: tuple[Label, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form."""
        return {"kind": "labels", "items": [{"label": item.name, "score": _score(item.score)} for item in self.items]}


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with the name of what is in it. Sides are in pixels from the upper left corner."""

    label: str
    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0
    """In [0, 1]."""

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        return self.left, self.top, self.right, self.bottom


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes in a picture, the surest first."""

    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    items: tuple[Box, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form; sides are rounded to a hundredth of a pixel."""
        items: list[JsonValue] = [
            {"label": box.label, "score": _score(box.score), "box": [round(float(side), 2) for side in box.corners]}
            for box in self.items
        ]
        return {"kind": "boxes", "size": list(self.size), "items": items}


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The pixels of one thing."""

    label: str
    """Empty where nobody named it."""
    pixels: npt.NDArray[np.bool_]
    """Shape (height, width). Shared: do not change it."""
    score: float = 1.0
    """In [0, 1]."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        return (self.label, self.score) == (other.label, other.score) and np.array_equal(self.pixels, other.pixels)

    def __hash__(self) -> int:
        return hash((self.label, self.pixels.tobytes()))


@dataclass(frozen=True, slots=True)
class Masks:
    """Masks of a picture, the surest first; all have its size."""

    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    items: tuple[Mask, ...]

    def union(self) -> npt.NDArray[np.bool_]:
        """The pixels of any of them, shape (height, width)."""
        pixels = np.zeros(self.size[::-1], dtype=np.bool_)
        for mask in self.items:
            pixels |= mask.pixels
        return pixels

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form; pixels are run lengths, row by row, beginning with those outside."""
        items: list[JsonValue] = [
            {"label": mask.label, "score": _score(mask.score), "runs": [*_runs(mask.pixels)]} for mask in self.items
        ]
        return {"kind": "masks", "size": list(self.size), "items": items}


Findings = Labels | Boxes | Masks


def boxes_of(masks: Masks) -> Boxes:
    """The smallest boxes around masks that are not empty."""
    boxes = []
    for mask in masks.items:
        rows, columns = np.nonzero(mask.pixels)
        if len(rows):
            sides = (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
            boxes.append(Box(mask.label, *sides, score=mask.score))
    return Boxes(masks.size, tuple(boxes))


def findings_from_json(value: object) -> Findings:
    """The inverse of `to_json`.

    Raises:
        FindingError: the value is something else.
    """
    if not isinstance(value, Mapping):
        raise FindingError(f"findings are a JSON object, not {type(value).__name__}")
    kind = value.get("kind")
    keys = {"kind", "items"} if kind == "labels" else {"kind", "size", "items"}
    if kind not in ("labels", "boxes", "masks") or set(value) != keys:
        raise FindingError('findings have "kind" (labels, boxes or masks), "items", and "size" of boxes and masks')
    items = value["items"]
    if not isinstance(items, list) or len(items) > MOST_ITEMS:
        raise FindingError(f'"items" is a list of at most {MOST_ITEMS}')
    if kind == "labels":
        return Labels(tuple(Label(*_named(item, also=())) for item in items))
    size = _size(value["size"])
    if kind == "boxes":
        return Boxes(size, tuple(_box(item, size=size) for item in items))
    if len(items) * size[0] * size[1] > MOST_PIXELS:
        raise FindingError(
            f"{len(items)} masks of {size[0]}x{size[1]} pixels are too many; all have {MOST_PIXELS} at most"
        )
    return Masks(size, tuple(_mask(item, size=size) for item in items))


def _score(score: float) -> float:
    return round(float(score), 3)


def _runs(pixels: npt.NDArray[np.bool_]) -> list[int]:
    flat = pixels.ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    ends = [0, *changes.tolist(), flat.size]
    runs = [int(stop - start) for start, stop in pairwise(ends)]
    return [0, *runs] if flat.size and flat[0] else runs


def _size(value: object) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value):
        width, height = value
        if 1 <= width <= LARGEST_SIDE and 1 <= height <= LARGEST_SIDE:
            return width, height
    raise FindingError(f'"size" is width and height, whole numbers from 1 to {LARGEST_SIDE}')


def _named(item: object, *, also: Sequence[str]) -> tuple[str, float]:
    if not isinstance(item, Mapping) or set(item) != {"label", "score", *also}:
        raise FindingError(f"an item has {', '.join(['label', 'score', *also])} and nothing else")
    label, score = item["label"], item["score"]
    if not isinstance(label, str) or len(label) > LONGEST_LABEL:
        raise FindingError(f"a label is a text of at most {LONGEST_LABEL} characters")
    if not _is_number(score) or not 0 <= score <= 1:
        raise FindingError("a score is a number from 0 to 1")
    return label, float(score)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _box(item: object, *, size: tuple[int, int]) -> Box:
    label, score = _named(item, also=("box",))
    assert isinstance(item, Mapping)
    sides = item["box"]
    if not isinstance(sides, list) or len(sides) != _CORNERS or not all(map(_is_number, sides)):
        raise FindingError("a box is left, top, right and bottom in pixels")
    left, top, right, bottom = map(float, sides)
    if not (0 <= left <= right <= size[0] and 0 <= top <= bottom <= size[1]):
        raise FindingError(f"the box {sides} does not lie in a picture of {size[0]}x{size[1]} pixels")
    return Box(label, left, top, right, bottom, score)


def _mask(item: object, *, size: tuple[int, int]) -> Mask:
    label, score = _named(item, also=("runs",))
    assert isinstance(item, Mapping)
    runs, pixels = item["runs"], size[0] * size[1]
    if not isinstance(runs, list) or not all(type(run) is int and run >= 0 for run in runs) or sum(runs) != pixels:
        raise FindingError(f"the runs of a mask are whole numbers that sum up to {pixels} pixels")
    inside = [index % 2 == 1 for index in range(len(runs))]
    flat = np.repeat(np.asarray(inside, dtype=np.bool_), np.asarray(runs, dtype=np.int64))
    return Mask(label, flat.reshape(size[::-1]), score)


def merged(labels: Sequence[str]) -> list[tuple[str, int]]:
    """Each label with how often it occurs, sorted."""
    return [(label, len(list(group))) for label, group in groupby(sorted(labels))]


Image = PillowImage.Image


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A video."""

    frames: npt.NDArray[np.uint8]
    """8-bit RGB of shape (frames, height, width, 3), at least one frame. Shared: do not change it."""
    sound: Sound | None = None
    """It begins with the first frame; None: the video is silent."""

    def __post_init__(self) -> None:
        """Raises ValueError for another shape, or no frames."""
        if self.frames.ndim != 4 or self.frames.shape[-1] != 3 or self.frames.dtype != np.uint8:
            raise ValueError(f"a clip has 8-bit frames of shape (frames, height, width, 3), not {self.frames.shape}")
        if 0 in self.frames.shape:
            raise ValueError("a clip has at least one frame of at least one pixel")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return int(self.frames.shape[2]), int(self.frames.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clip) and np.array_equal(self.frames, other.frames) and self.sound == other.sound

    def __hash__(self) -> int:
        return hash((self.frames.tobytes(), self.sound))


Value = Image | str | Clip | Sound | Labels | Boxes | Masks

MOST_FRAMES = 64
"""Of a clip that is read."""
FRAME_MILLISECONDS = 150
"""Duration of a frame of a clip."""
_COUNT = "Frames"
"""Name of the text chunk that tells how many frames a clip has."""
_SOUND_CHUNK = b"snDa"
"""Type of the private chunk with the wav file of a clip with sound. Viewers of pictures skip it."""


class MediaType(StrEnum):
    """How an artefact's bytes are to be read."""

    PNG = "image/png"
    TEXT = "text/plain; charset=utf-8"
    CLIP = "image/apng"
    SOUNDING_CLIP = "image/apng; sound=wav"
    """A clip with a sound, which `sound_of_clip` finds in its bytes."""
    SOUND = "audio/wav"
    FINDINGS = "application/json"


PICTURES = frozenset({MediaType.PNG, MediaType.CLIP, MediaType.SOUNDING_CLIP})
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
    """Turn a value into its artefact: pictures become 8-bit RGB PNGs, clips animated PNGs, sounds wav files, findings
    canonical JSON. The sound of a clip is a wav file in a private chunk of its animated PNG.

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
        media_type = MediaType.CLIP if value.sound is None else MediaType.SOUNDING_CLIP
        return Artefact(data=_animated(value), media_type=media_type)
    if isinstance(value, Sound):
        return Artefact(data=wav_of(value), media_type=MediaType.SOUND)
    if isinstance(value, Labels | Boxes | Masks):
        return Artefact(data=canonical_json.dumps(value.to_json()).encode("utf-8"), media_type=MediaType.FINDINGS)
    raise TypeError(f"a value is a picture, a text, a clip, a sound or findings, not {type(value).__name__}")


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
    if artefact.media_type is MediaType.SOUND:
        return stored_sound(artefact.data)
    picture = PillowImage.open(io.BytesIO(artefact.data), formats=["PNG"])
    if artefact.media_type is MediaType.PNG:
        return picture.convert("RGB")
    clip = _clip(picture)
    if artefact.media_type is MediaType.CLIP:
        return clip
    return Clip(clip.frames, sound=stored_sound(sound_of_clip(artefact.data)))


def sound_of_clip(data: bytes) -> bytes:
    """The wav file in the artefact of a clip with sound.

    Raises:
        ValueError: the bytes are no animated PNG with a sound.
    """
    at = 8
    while at + 12 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        if kind == _SOUND_CHUNK:
            return data[at + 8 : at + 8 + length]
        at += 12 + length
    raise ValueError("a clip with sound has a chunk with a wav file")


def _animated(clip: Clip) -> bytes:
    first, *others = (PillowImage.fromarray(frame) for frame in clip.frames)
    buffer = io.BytesIO()
    # Pillow writes equal frames in a row as one that is shown longer, and nothing but equal ones as a picture: `_clip`
    # undoes both.
    chunks = PngInfo()
    chunks.add_text(_COUNT, str(len(clip.frames)))
    if clip.sound is not None:
        chunks.add(_SOUND_CHUNK, wav_of(clip.sound))
    first.save(
        buffer, format="PNG", compress_level=1, save_all=True, append_images=others, duration=FRAME_MILLISECONDS,
        loop=0, disposal=0, blend=0, pnginfo=chunks,
    )  # fmt: skip
    return buffer.getvalue()


def _clip(picture: Image) -> Clip:
    frames: list[np.ndarray] = []
    for number in range(int(getattr(picture, "n_frames", 1))):
        picture.seek(number)
        repeats = round(float(picture.info.get("duration", FRAME_MILLISECONDS)) / FRAME_MILLISECONDS)
        if not 1 <= repeats <= MOST_FRAMES - len(frames):
            raise ValueError(f"a clip has at most {MOST_FRAMES} frames of {FRAME_MILLISECONDS} ms")
        frames += [np.asarray(picture.convert("RGB"), dtype=np.uint8)] * repeats
    if not getattr(picture, "is_animated", False):
        count = str(picture.info.get(_COUNT, "1"))
        if not count.isdecimal() or not 1 <= int(count) <= MOST_FRAMES:
            raise ValueError(f"a clip has 1 to {MOST_FRAMES} frames, not {count[:20]!r}")
        frames *= int(count)
    return Clip(np.stack(frames))


def image_to_array(image: Image) -> np.ndarray:
    """An RGB image as float32 of shape (height, width, 3) in [0, 1]."""
    return np.asarray(image.convert("RGB"), dtype=np.float32) / 255.0


def array_to_image(array: np.ndarray) -> Image:
    """The inverse of `image_to_array`; values outside [0, 1] are clipped, then rounded to 8 bits."""
    pixels = np.clip(np.rint(array * 255.0), 0, 255).astype(np.uint8)
    return PillowImage.fromarray(pixels, mode="RGB")
