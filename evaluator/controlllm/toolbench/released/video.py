"""Reading an operator's videos (mp4, mov, webm, avi): bounded in time and memory, whatever the file holds."""

import base64
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call

VIDEOS = (".mp4", ".mov", ".webm", ".avi")
"""Endings of videos that FFmpeg reads."""
CPU_SECONDS = 60
WALL_SECONDS = 120.0
_MEMORY = 4 * 2**30
"""Address space of the process that decodes, FFmpeg's libraries included."""
_MODULE = "evaluator.controlllm.toolbench.released.video_decoding"


class VideoError(Exception):
    """A video cannot be read; the message says why, without its name."""


def read_video(path: Path, *, most: int, side: int, cpu_seconds: int = CPU_SECONDS) -> npt.NDArray[np.uint8]:
    """Frames of a video, evenly spaced from the first to the last.

    Args:
        path: of the file.
        most: frames.
        side: longer side of a frame in pixels; larger ones are reduced.
        cpu_seconds: processor time that decoding may take.

    Returns:
        Shape (frames, height, width, 3), RGB.

    Raises:
        VideoError: it is damaged, empty, too long, too large, or no video.
    """
    limits = Limits(
        memory_bytes=_MEMORY,
        cpu_seconds=cpu_seconds,
        wall_seconds=WALL_SECONDS,
        most_answer_bytes=4 * most * side * side + 4096,  # three bytes for a pixel are four in base64
    )
    try:
        said = call(_MODULE, {"path": str(path.absolute()), "most": most, "side": side}, limits=limits)
    except LimitExceededError as error:
        raise VideoError(_exceeded(error.what, cpu_seconds=cpu_seconds)) from None
    except RuntimeError:
        raise VideoError("cannot be decoded; the log says why") from None
    if "problem" in said:
        raise VideoError(str(said["problem"]))
    return np.frombuffer(base64.b64decode(said["frames"]), dtype=np.uint8).reshape(said["shape"]).copy()


def _exceeded(what: Exceeded, *, cpu_seconds: int) -> str:
    if what is Exceeded.TIME:
        return f"takes more than {cpu_seconds} s to decode: shorten it, or give its frames as a folder of pictures"
    return "takes too much memory to decode, or is damaged so that the decoder crashes"
