"""The limited process that decodes a stranger's picture, clip or sound: `python -m evaluator.workbench.decoding`."""

import base64
import io
from typing import Any

import numpy as np
from PIL import Image as PillowImage
from PIL.Image import Image

from evaluator.core.canonical_json import JsonValue
from evaluator.core.pictures import as_seen
from evaluator.core.sounds import SoundError, read_wav
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import MOST_FRAMES, Clip, encode
from evaluator.sandbox.limited_process import serve
from evaluator.workbench.files import LONGEST_SIDE, LONGEST_SIDE_OF_CLIPS, MOST_PIXELS

_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")


def decoded(request: Any) -> JsonValue:
    """The picture, clip or sound as an artefact, or why it cannot be read."""
    data = base64.b64decode(request["data"])
    if request["kind"] == ResourceType.AUDIO:
        try:
            return {"data": base64.b64encode(encode(read_wav(data)).data).decode()}
        except SoundError as error:
            return {"problem": str(error)}
    PillowImage.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        with PillowImage.open(io.BytesIO(data), formats=_FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                return {"problem": f"it has {picture.width}x{picture.height} pixels, more than {MOST_PIXELS:,}"}
            if request["kind"] == ResourceType.VIDEO:
                return _encoded(_clip(picture), size=picture.size)
            seen = as_seen(picture)
            return _encoded(_shrunk(seen, longest=LONGEST_SIDE), size=seen.size)
    except PillowImage.DecompressionBombError:
        return {"problem": f"it has more than {MOST_PIXELS:,} pixels"}
    except (OSError, ValueError, SyntaxError, EOFError):
        return {"problem": "it is damaged, or no picture of a known format"}


def _encoded(value: Image | Clip, *, size: tuple[int, int]) -> JsonValue:
    return {"data": base64.b64encode(encode(value).data).decode(), "size": list(size)}


def _clip(picture: Image) -> Clip:
    frames = []
    count = min(MOST_FRAMES, getattr(picture, "n_frames", 1))
    for number in range(count):
        picture.seek(number)
        frames.append(np.asarray(_shrunk(as_seen(picture), longest=LONGEST_SIDE_OF_CLIPS), dtype=np.uint8))
    return Clip(np.stack(frames))


def _shrunk(picture: Image, *, longest: int) -> Image:
    """The picture, scaled down to `longest` pixels at most on each side."""
    if max(picture.size) <= longest:
        return picture
    scale = longest / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, PillowImage.Resampling.LANCZOS)


if __name__ == "__main__":
    serve(decoded)
