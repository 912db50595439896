"""Bundles: many artefacts in one request body. Pure: bytes in, bytes out.

    bundle = frame *
    frame  = digest SP length SP media-type LF bytes

Digest is the SHA-256 of the bytes as 64 hexadecimal digits, length their number in decimal, all in ASCII. The bytes
follow verbatim: there is no escaping, and no boundary that an artefact could contain. The end of a frame follows from
its header, so that damaged bytes only affect their own frame.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evaluator.core.values import Artefact

CONTENT_TYPE = "application/x-planarena-bundle"
MOST_BYTES = 8 * 1024 * 1024
"""Largest bundle. A larger artefact is sent in a separate request."""
MOST_ARTEFACTS = 200
_HEADER = re.compile(rb"([0-9a-f]{64}) (0|[1-9][0-9]{0,8}) ([ -~]{1,60})\n")
_LONGEST_HEADER = 64 + 1 + 9 + 1 + 60 + 1


class BundleError(ValueError):
    """The bytes are not a bundle; the message has the position of the error."""


class Frame(NamedTuple):
    """One unchecked artefact."""

    digest: str
    media_type: str
    data: bytes


def pack(artefacts: Iterable[Artefact]) -> bytes:
    """A bundle of the artefacts."""
    return b"".join(part for artefact in artefacts for part in (_header(artefact), artefact.data))


def bundles(artefacts: Iterable[Artefact]) -> Iterator[list[Artefact]]:
    """Groups of artefacts that each fit into one bundle; an artefact that is too large is a group of its own."""
    group: list[Artefact] = []
    size = 0
    for artefact in artefacts:
        more = len(_header(artefact)) + len(artefact.data)
        if group and (size + more > MOST_BYTES or len(group) >= MOST_ARTEFACTS):
            yield group
            group, size = [], 0
        group.append(artefact)
        size += more
    if group:
        yield group


def fits(artefact: Artefact) -> bool:
    """Whether the artefact fits into a bundle."""
    return len(_header(artefact)) + len(artefact.data) <= MOST_BYTES


def unpack(data: bytes) -> list[Frame]:
    """The frames of a bundle.

    Raises:
        BundleError: it is too large, has too many frames, or is truncated or malformed.
    """
    if len(data) > MOST_BYTES:
        raise BundleError(f"a bundle has at most {MOST_BYTES} bytes")
    frames: list[Frame] = []
    position = 0
    while position < len(data):
        if len(frames) == MOST_ARTEFACTS:
            raise BundleError(f"a bundle has at most {MOST_ARTEFACTS} artefacts")
        header = _HEADER.match(data, position, position + _LONGEST_HEADER)
        if header is None:
            raise BundleError(f'byte {position}, artefact {len(frames) + 1}: expected "digest length media-type"')
        start, end = header.end(), header.end() + int(header[2])
        if end > len(data):
            raise BundleError(f"artefact {len(frames) + 1} is truncated: {end - len(data)} bytes are missing")
        frames.append(Frame(digest=header[1].decode(), media_type=header[3].decode(), data=data[start:end]))
        position = end
    return frames


def _header(artefact: Artefact) -> bytes:
    return f"{artefact.digest} {len(artefact.data)} {artefact.media_type.value}\n".encode("ascii")
