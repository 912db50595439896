"""Reads an operator's pictures, masks and videos, with bounds on their size."""

import base64
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.released.video_decoding import sampled_indices
from evaluator.core.pictures import as_seen
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import (
    LARGEST_SIDE,
    MOST_FRAMES,
    MOST_PIXELS,
    Clip,
    FindingError,
    Image,
    Mask,
    Masks,
    Value,
    findings_from_json,
)
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call

VIDEOS = (".mp4", ".mov", ".webm", ".avi")
"""Endings of videos that FFmpeg reads."""
CPU_SECONDS = 60
WALL_SECONDS = 120.0
_MEMORY = 4 * 2**30
"""Address space of the decoding process, including FFmpeg's libraries."""
_MODULE = "evaluator.controlllm.toolbench.released.video_decoding"


class MediaError(ValueError):
    """A file cannot be read; the message is the reason, without the file name."""


def read_video(path: Path, *, most: int, side: int, cpu_seconds: int = CPU_SECONDS) -> npt.NDArray[np.uint8]:
    """Frames of a video, evenly spaced from the first to the last.

    Args:
        path: path of the file.
        most: number of frames.
        side: longer side of a frame in pixels; larger frames are reduced.
        cpu_seconds: limit on the processor time of decoding.

    Returns:
        Shape (frames, height, width, 3), RGB.

    Raises:
        MediaError: it is damaged, empty, too long, too large, or no video.
    """
    limits = Limits(
        memory_bytes=_MEMORY,
        cpu_seconds=cpu_seconds,
        wall_seconds=WALL_SECONDS,
        most_answer_bytes=4 * most * side * side + 4096,  # three bytes for a pixel are four in base64
    )
    try:
        answer = call(_MODULE, {"path": str(path.absolute()), "most": most, "side": side}, limits=limits)
    except LimitExceededError as error:
        if error.what is not Exceeded.TIME:
            raise MediaError("takes too much memory to decode, or is damaged so that the decoder crashes") from None
        raise MediaError(
            f"takes more than {cpu_seconds} s to decode: shorten it, or give its frames as a folder of pictures"
        ) from None
    except RuntimeError:
        raise MediaError("cannot be decoded; the log says why") from None
    if "problem" in answer:
        raise MediaError(str(answer["problem"]))
    return np.frombuffer(base64.b64decode(answer["frames"]), dtype=np.uint8).reshape(answer["shape"]).copy()


PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif")
"""Endings of pictures that are read."""
MOVING = (*VIDEOS, ".apng", ".png", ".gif", ".webp")
"""Endings of videos that are read, besides folders of frames."""
MOST_SHOWN = 2**18
"""Pixels of a picture for experts; larger pictures are reduced. It is the engine's limit too."""
MOST_BYTES = 2**28
"""Of one file."""
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
_MOST_STORED = 10_000
"""Frames of a stored video, which is sampled down to `MOST_FRAMES`."""
_FRAME_SIDE = 480
"""Longer side of a frame; larger frames are reduced. Experts use 224 pixels of it."""
_INSIDE = 128
"""The lowest grey level inside a mask."""


def read_media(path: Path, *, kind: ResourceType) -> Value:
    """The value of a file, or of a folder with the frames of a video.

    Args:
        path: path of the file or folder.
        kind: its type in the request: an image, a map, a mask, or a video.

    Raises:
        MediaError: it cannot be read as that type.
    """
    try:
        if kind is ResourceType.VIDEO:
            return _clip(path)
        if kind is ResourceType.MASK:
            return _masks(path)
        return _picture(path)
    except MediaError:
        raise
    except PillowImage.DecompressionBombError as error:
        raise MediaError(f"is too large a picture: {error}") from None
    except FindingError as error:
        raise MediaError(f"holds no masks: {error}") from None
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, RecursionError) as error:
        raise MediaError(f"cannot be read ({type(error).__name__}: {str(error)[:200]})") from None


def _check_bytes(path: Path) -> None:
    if path.stat().st_size > MOST_BYTES:
        raise MediaError(f"has more than {MOST_BYTES} bytes")


def _opened(path: Path) -> Image:
    """A picture within the size limits, whose pixels are not decoded yet."""
    _check_bytes(path)
    # The size is in the header. Pillow's own limit is far higher.
    picture = PillowImage.open(path, formats=_FORMATS)
    width, height = picture.size
    if width * height > MOST_PIXELS or max(width, height) > LARGEST_SIDE:
        picture.close()
        raise MediaError(
            f"has {width}x{height} pixels; at most {MOST_PIXELS} are read, and {LARGEST_SIDE} in a direction"
        )
    return picture


def _picture(path: Path) -> Image:
    with _opened(path) as picture:
        whole = as_seen(picture)
    size = shown_size(whole.size)
    return whole if size == whole.size else whole.resize(size, PillowImage.Resampling.BICUBIC)


def shown_size(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height after reduction to `MOST_SHOWN` pixels; equal sizes stay equal."""
    width, height = size
    scale = min(1.0, math.sqrt(MOST_SHOWN / (width * height)))
    return max(int(width * scale), 1), max(int(height * scale), 1)


def _masks(path: Path) -> Masks:
    """A picture whose bright pixels are one mask, or JSON of masks with names."""
    if path.suffix.lower() == ".json":
        _check_bytes(path)
        masks = findings_from_json(json.loads(path.read_text(encoding="utf-8")))
        if not isinstance(masks, Masks):
            raise MediaError("holds findings of another kind than masks")
        size = shown_size(masks.size)
        return Masks(size, tuple(replace(mask, pixels=_reduced_mask(mask.pixels, size=size)) for mask in masks.items))
    with _opened(path) as picture:
        seen = as_seen(picture)
    whole = np.asarray(seen.convert("L"), dtype=np.uint8) >= _INSIDE
    size = shown_size(seen.size)
    inside = _reduced_mask(whole, size=size)
    return Masks(size, (Mask("", inside),) if inside.any() else ())


def _reduced_mask(pixels: npt.NDArray[np.bool_], *, size: tuple[int, int]) -> npt.NDArray[np.bool_]:
    if pixels.shape == size[::-1]:
        return pixels
    return np.asarray(PillowImage.fromarray(pixels).resize(size, PillowImage.Resampling.NEAREST), dtype=np.bool_)


def _clip(path: Path) -> Clip:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in PICTURES and file.is_file())
        if not files:
            raise MediaError(f"has no frames, files such as 0001.png ({', '.join(PICTURES)})")
        return _stacked([_picture(files[index]) for index in _sampled(len(files))])
    if path.suffix.lower() in VIDEOS:
        _check_bytes(path)
        return Clip(read_video(path, most=MOST_FRAMES, side=_FRAME_SIDE))
    with _opened(path) as picture:
        frames = []
        for index in _sampled(int(getattr(picture, "n_frames", 1))):
            picture.seek(index)
            frames.append(_reduced(as_seen(picture)))
    return _stacked(frames)


def _sampled(count: int) -> list[int]:
    if count > _MOST_STORED:
        raise MediaError(f"has {count} frames; at most {_MOST_STORED} are read")
    return sampled_indices(count, most=MOST_FRAMES)


def _reduced(frame: Image) -> Image:
    if max(frame.size) > _FRAME_SIDE:
        frame.thumbnail((_FRAME_SIDE, _FRAME_SIDE), PillowImage.Resampling.BILINEAR)
    return frame


def _stacked(frames: list[Image]) -> Clip:
    reduced = [_reduced(frame) for frame in frames]
    sizes = {frame.size for frame in reduced}
    if len(sizes) > 1:
        raise MediaError(
            f"has frames of different sizes, such as {' and '.join(f'{w}x{h}' for w, h in sorted(sizes)[:2])}"
        )
    return Clip(np.stack([np.asarray(frame, dtype=np.uint8) for frame in reduced]))
