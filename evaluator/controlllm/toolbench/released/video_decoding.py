"""Decodes one video in a separate process: on a hostile file FFmpeg may hang, crash or exhaust the memory."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.limited_process import serve

if TYPE_CHECKING:
    import av
    import numpy as np
    import numpy.typing as npt

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
"""FFmpeg's names of the containers mp4, mov, webm and avi. Playlists are excluded: they open other files."""
MOST_FRAMES_DECODED = 10_000
MOST_PIXELS = 2**24
"""Of a frame."""
MOST_SIDE = 4096
MOST_PIXELS_DECODED = 2**34
"""Of all frames: about 8,000 of 1920x1080."""
_BUFFERED_PER_SAMPLE = 4


class VideoError(Exception):
    """The video cannot be used; the message is the reason, without the file name."""


def sampled_indices(count: int, *, most: int) -> list[int]:
    """At most `most` evenly spaced indices of `count` frames, from the first to the last."""
    number = min(count, most)
    return [round(k * (count - 1) / max(number - 1, 1)) for k in range(number)]


class Sampler:
    """Samples a sequence of unknown length evenly, with bounded memory.

    It buffers every n-th frame and doubles n when the buffer is full. A sample is then off by at most n/2 frames, which
    is less than a quarter of the distance between two samples.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._stride = 1
        self._buffer: dict[int, npt.NDArray[np.uint8]] = {}
        self.count = 0

    def wants_next(self) -> bool:
        """Whether to convert and add the next frame."""
        return self.count % self._stride == 0

    def add(self, frame: "npt.NDArray[np.uint8] | None") -> None:
        """Count a frame; None if it was skipped."""
        if frame is not None:
            self._buffer[self.count] = frame
        self.count += 1
        if len(self._buffer) > _BUFFERED_PER_SAMPLE * self._most:
            self._stride *= 2
            self._buffer = {index: pixels for index, pixels in self._buffer.items() if index % self._stride == 0}

    def sampled(self, *, last: "npt.NDArray[np.uint8]") -> "list[npt.NDArray[np.uint8]]":
        """The samples, including the last frame."""
        self._buffer[self.count - 1] = last
        indices = sorted(self._buffer)
        return [
            self._buffer[min(indices, key=lambda index, ideal=ideal: abs(index - ideal))]  # type: ignore[misc]
            for ideal in sampled_indices(self.count, most=self._most)
        ]


def decode(file: BinaryIO, *, most: int, side: int) -> "npt.NDArray[np.uint8]":
    """Frames of shape (frames, height, width, 3), RGB.

    Args:
        file: the video.
        most: number of frames; longer videos are sampled evenly.
        side: the longer side of a frame in pixels; larger frames are reduced.

    Raises:
        VideoError: it has no frames, too many, too large ones, or frames of different sizes.
        av.FFmpegError: it is damaged or no video.
    """
    import av
    import numpy as np

    # Opening a file already decodes frames to identify its streams, so the bounds are set here.
    options = {"max_pixels": str(MOST_PIXELS), "threads": "1"}
    sampler = Sampler(most=most)
    frame: av.VideoFrame | None = None
    with av.open(
        file,
        mode="r",
        options=options,
        container_options={"format_whitelist": FORMATS},
        metadata_errors="replace",
        io_open=_refuse,
    ) as container:
        if not container.streams.video:
            raise VideoError("has no pictures, only sound or nothing")
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        size: tuple[int, int] | None = None
        for frame in container.decode(stream):
            size = size or _checked_size(frame)
            if (frame.width, frame.height) != size:
                raise VideoError(
                    f"has frames of different sizes, such as {size[0]}x{size[1]} and {frame.width}x{frame.height}"
                )
            if sampler.count >= min(MOST_FRAMES_DECODED, MOST_PIXELS_DECODED // (size[0] * size[1])):
                raise VideoError(f"has more than {sampler.count} frames of {size[0]}x{size[1]}, too many to decode")
            sampler.add(_pixels(frame, side=side) if sampler.wants_next() else None)
        if frame is None:
            raise VideoError("has no frames")
        return np.stack(sampler.sampled(last=_pixels(frame, side=side)))


def _checked_size(frame: "av.VideoFrame") -> tuple[int, int]:
    width, height = frame.width, frame.height
    if not width or not height:
        raise VideoError("has empty frames")
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise VideoError(f"has {width}x{height} pixels; at most {MOST_PIXELS} are read, and {MOST_SIDE} in a direction")
    return width, height


def _pixels(frame: "av.VideoFrame", *, side: int) -> "npt.NDArray[np.uint8]":
    """RGB of shape (height, width, 3), reduced, and rotated by the video's metadata."""
    import numpy as np

    scale = min(1.0, side / max(frame.width, frame.height))
    width, height = max(round(frame.width * scale), 1), max(round(frame.height * scale), 1)
    pixels = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA").to_ndarray()
    return np.ascontiguousarray(np.rot90(pixels, round(frame.rotation / 90) % 4), dtype=np.uint8)


def _refuse(url: str, flags: int, options: dict[str, Any]) -> NoReturn:  # noqa: ARG001 - the callback's arguments
    raise VideoError("refers to other files")


def _answer(request: Mapping[str, Any]) -> JsonValue:
    """Answer `path`, `most` and `side` with `shape` and the RGB bytes of the frames in base64, or with a `problem`."""
    try:
        import av
    except ImportError:
        return {"problem": "needs the package av to be read: pip install 'planarena[worker]'"}
    av.logging.set_level(None)
    try:
        with Path(request["path"]).open("rb") as file:
            frames = decode(file, most=request["most"], side=request["side"])
    except VideoError as error:
        return {"problem": str(error)}
    except (OSError, ValueError, RuntimeError) as error:  # FFmpeg's errors are among the first two
        return {"problem": f"is damaged or no video ({type(error).__name__}: {str(error)[:160]})"}
    return {"shape": list(frames.shape), "frames": base64.b64encode(frames.tobytes()).decode()}


if __name__ == "__main__":
    serve(_answer)
