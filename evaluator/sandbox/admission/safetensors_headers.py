"""The header of a safetensors file: eight bytes with its length, then JSON with type, shape and offsets of each tensor.

Parsed without the library, which maps the whole file: a submitted file may still be in an archive.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LENGTH_BYTES = 8
MOST_HEADER_BYTES = 16 * 1024 * 1024
"""A model with a trillion parameters in a few thousand tensors needs about one megabyte."""
_BITS: Mapping[str, int] = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
_MOST_ELEMENTS = 2**60
_MOST_DIMENSIONS = 32


class HeaderError(ValueError):
    """Not a safetensors file; the message is a sentence without its subject, the name of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a safetensors file."""

    shapes: Mapping[str, tuple[int, ...]]
    """Shapes by tensor name."""

    @property
    def parameters(self) -> int:
        """Number of elements of all tensors."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def header_length(first: bytes, *, file_bytes: int) -> int:
    """The length of the JSON after the first eight bytes.

    Raises:
        HeaderError: the file is shorter, or the header is too large.
    """
    if len(first) < LENGTH_BYTES:
        raise HeaderError(f"has {len(first)} bytes and is no safetensors file")
    length = int.from_bytes(first[:LENGTH_BYTES], "little")
    if length > min(MOST_HEADER_BYTES, file_bytes - LENGTH_BYTES) or length < 2:
        raise HeaderError(f"is no safetensors file: it says that its header has {length} bytes")
    return length


def read_header(text: bytes, *, file_bytes: int) -> Header:
    """Parse the header, and check it against the length of the file.

    Raises:
        HeaderError: it is invalid, or its tensors do not fill the file without gaps.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise HeaderError("is no safetensors file: its header is no JSON object")
    content.pop("__metadata__", None)
    places: list[tuple[int, int, str]] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for name, entry in content.items():
        shapes[name], begin, end = _tensor(name=name, entry=entry)
        places.append((begin, end, name))
    position = 0
    for begin, end, name in sorted(places):
        if begin != position:
            raise HeaderError(f"is damaged: the tensor {name[:80]!r} begins at byte {begin}, not at {position}")
        position = end
    data_bytes = file_bytes - LENGTH_BYTES - len(text)
    if position != data_bytes:
        raise HeaderError(f"is damaged: its header speaks of {position} bytes of data, and there are {data_bytes}")
    return Header(shapes=shapes)


def file_header(path: Path) -> Header:
    """The header of a file.

    Raises:
        HeaderError: it is invalid.
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = header_length(file.read(LENGTH_BYTES), file_bytes=size)
        return read_header(file.read(length), file_bytes=size)


def _tensor(*, name: str, entry: object) -> tuple[tuple[int, ...], int, int]:
    """Shape, begin and end offset of a tensor."""
    values: dict[str, Any] = entry if isinstance(entry, dict) else {}
    bits = _BITS.get(str(values.get("dtype")))
    shape, offsets = _whole_numbers(values.get("shape")), _whole_numbers(values.get("data_offsets"))
    if bits is None or shape is None or offsets is None or len(offsets) != 2:
        raise HeaderError(f"is damaged: the tensor {name[:80]!r} has no type, shape and place")
    elements = math.prod(shape)
    if elements > _MOST_ELEMENTS or -(-elements * bits // 8) != offsets[1] - offsets[0]:
        raise HeaderError(f"is damaged: the tensor {name[:80]!r} does not have the size that its shape says")
    return tuple(shape), offsets[0], offsets[1]


def _whole_numbers(value: object) -> list[int] | None:
    """A list of at most `_MOST_DIMENSIONS` natural numbers; None for anything else."""
    if not isinstance(value, list) or len(value) > _MOST_DIMENSIONS:
        return None
    return value if all(type(item) is int and 0 <= item <= _MOST_ELEMENTS for item in value) else None
