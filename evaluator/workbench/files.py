"""Files of requests, as strangers upload them: pictures, clips, sounds and texts, decoded in a limited process.

The engine works on small pictures: larger ones are scaled down to `LONGEST_SIDE`.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Artefact, MediaType, Value, decode
from evaluator.sandbox.limited_process import LimitExceededError, Limits, call

MOST_BYTES = 4 * 1024 * 1024
"""Size of an uploaded file."""
MOST_CHARACTERS = 20_000
"""Length of a text."""
LONGEST_SIDE = 512
"""Pixels; larger pictures are scaled down."""
LONGEST_SIDE_OF_CLIPS = 128
MOST_PIXELS = 40_000_000
"""Of a picture that is decoded at all."""
ENDINGS: Mapping[str, ResourceType] = {
    "png": ResourceType.IMAGE, "jpg": ResourceType.IMAGE, "jpeg": ResourceType.IMAGE, "webp": ResourceType.IMAGE,
    "bmp": ResourceType.IMAGE, "gif": ResourceType.VIDEO, "apng": ResourceType.VIDEO, "wav": ResourceType.AUDIO,
    "txt": ResourceType.TEXT,
}  # fmt: skip
"""Types of files by the ending of their names."""
_MEDIA_TYPES = {
    ResourceType.IMAGE: MediaType.PNG, ResourceType.VIDEO: MediaType.CLIP, ResourceType.AUDIO: MediaType.SOUND,
}  # fmt: skip
_LIMITS = Limits(memory_bytes=1024**3, cpu_seconds=20, wall_seconds=30)


class FileRefusedError(ValueError):
    """A file cannot be used; the message is a sentence that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file as it was uploaded."""

    name: str
    data: bytes


def type_of(name: str) -> ResourceType:
    """The type that a file's name says.

    Raises:
        FileRefusedError: its ending is unknown.
    """
    ending = name.rpartition(".")[2].lower()
    if ending not in ENDINGS:
        raise FileRefusedError(f"{name} is of an unknown type: names end with {', '.join(ENDINGS)}.")
    return ENDINGS[ending]


class ReadFile(NamedTuple):
    """An uploaded file, decoded."""

    type: ResourceType
    value: Value
    size: tuple[int, int] | None = None
    """Width and height of a picture before it was scaled down; None of other files."""


def read_upload(file: UploadedFile) -> ReadFile:
    """The type and the value of a file.

    Raises:
        FileRefusedError: it is too large, damaged, or not what its name says.
    """
    kind = type_of(file.name)
    if len(file.data) > MOST_BYTES:
        raise FileRefusedError(f"{file.name} has {len(file.data):,} bytes; a file has at most {MOST_BYTES:,}.")
    if kind is ResourceType.TEXT:
        return ReadFile(kind, _text(file))
    try:
        request: JsonValue = {"data": base64.b64encode(file.data).decode(), "kind": kind.value}
        answer = call("evaluator.workbench.decoding", request, limits=_LIMITS)
    except LimitExceededError as error:
        raise FileRefusedError(f"{file.name} cannot be read: it needs too much {error.what}.") from None
    if "problem" in answer:
        raise FileRefusedError(f"{file.name} cannot be read: {answer['problem']}.")
    value = decode(Artefact(data=base64.b64decode(answer["data"]), media_type=_MEDIA_TYPES[kind]))
    return ReadFile(kind, value, (answer["size"][0], answer["size"][1]) if kind is ResourceType.IMAGE else None)


def _text(file: UploadedFile) -> str:
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileRefusedError(f"{file.name} is no text in UTF-8.") from None
    if len(text) > MOST_CHARACTERS:
        raise FileRefusedError(f"{file.name} has {len(text):,} characters; a text has at most {MOST_CHARACTERS:,}.")
    return text.replace("\x00", "")
