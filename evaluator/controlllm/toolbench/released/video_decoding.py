"""Decodes one video in a process of its own: on a hostile file FFmpeg may hang, crash or fill the memory."""

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.limited_process import serve

if TYPE_CHECKING:
    import av
    import numpy as np
    import numpy.typing as npt

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
"""FFmpeg's names of the containers: mp4, mov, webm and avi. No playlists, which would open other files."""
MOST_FRAMES_DECODED = 10_000
MOST_PIXELS = 2**24
"""Of a frame."""
MOST_SIDE = 4096
MOST_PIXELS_DECODED = 2**34
"""Of all frames: about 8,000 of 1920x1080."""
_KEPT_PER_TAKEN = 4


class VideoError(Exception):
    """The video cannot be used; the message says why, without its name."""


def taken(count: int, *, most: int) -> list[int]:
    """Evenly spaced numbers of frames from the first to the last, all of them where they are few enough."""
    number = min(count, most)
    return [round(k * (count - 1) / max(number - 1, 1)) for k in range(number)]


class Sampler:
    """Even samples of a sequence whose length is unknown, at bounded memory.

    It keeps every n-th frame; when these are too many, n doubles. A sample is then off by at most n/2 frames, which is
    less than a quarter of the space between two samples.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._stride = 1
        self._kept: dict[int, npt.NDArray[np.uint8]] = {}
        self.count = 0

    def wants_next(self) -> bool:
        """Whether the next frame is one to convert and add."""
        return self.count % self._stride == 0

    def add(self, frame: "npt.NDArray[np.uint8] | None") -> None:
        """Count a frame; None for one that is not wanted."""
        if frame is not None:
            self._kept[self.count] = frame
        self.count += 1
        if len(self._kept) > _KEPT_PER_TAKEN * self._most:
            self._stride *= 2
            self._kept = {number: one for number, one in self._kept.items() if number % self._stride == 0}

    def sampled(self, *, last: "npt.NDArray[np.uint8]") -> "list[npt.NDArray[np.uint8]]":
        """The samples; the last frame is always among them."""
        self._kept[self.count - 1] = last
        numbers = sorted(self._kept)
        return [
            self._kept[min(numbers, key=lambda one, wanted=wanted: abs(one - wanted))]  # type: ignore[misc]
            for wanted in taken(self.count, most=self._most)
        ]


def decode(file: BinaryIO, *, most: int, side: int) -> "npt.NDArray[np.uint8]":
    """Frames of shape (frames, height, width, 3), RGB.

    Args:
        file: the video.
        most: frames; of more, so many evenly spaced ones are taken.
        side: the longer side of a frame in pixels; larger ones are reduced.

    Raises:
        VideoError: it has no frames, too many, too large ones, or ones of different sizes.
        av.FFmpegError: it is damaged or no video.
    """
    import av
    import numpy as np

    # Opening already decodes frames to find out what a stream is: the bounds must be there from the start.
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
        size: tuple[int, int] | None = None
        for frame in _frames(container):
            size = size or _checked(frame)
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


def _frames(container: "av.container.InputContainer") -> "Iterator[av.VideoFrame]":
    if not container.streams.video:
        raise VideoError("has no pictures, only sound or nothing")
    stream = container.streams.video[0]
    stream.thread_type = "NONE"
    yield from container.decode(stream)


def _checked(frame: "av.VideoFrame") -> tuple[int, int]:
    width, height = frame.width, frame.height
    if not width or not height:
        raise VideoError("has empty frames")
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise VideoError(f"has {width}x{height} pixels; at most {MOST_PIXELS} are read, and {MOST_SIDE} in a direction")
    return width, height


def _pixels(frame: "av.VideoFrame", *, side: int) -> "npt.NDArray[np.uint8]":
    """RGB of shape (height, width, 3), reduced, and turned as the video says."""
    import numpy as np

    scale = min(1.0, side / max(frame.width, frame.height))
    width, height = max(round(frame.width * scale), 1), max(round(frame.height * scale), 1)
    found = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA").to_ndarray()
    turns = round(frame.rotation / 90) % 4
    return np.ascontiguousarray(np.rot90(found, turns), dtype=np.uint8)


def _refuse(url: str, flags: int, options: dict[str, Any]) -> NoReturn:  # noqa: ARG001 - the callback's arguments
    raise VideoError("refers to other files")


def _answer(request: Mapping[str, Any]) -> JsonValue:
    """For `path`, `most` and `side`: `shape` and the RGB bytes of the frames in base64, or the `problem`."""
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
