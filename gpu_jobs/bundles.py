"""Many artefacts in one body: what a worker sends and the server takes. Pure: bytes in, bytes out.

    bundle = frame *
    frame  = digest SP length SP media-type LF bytes

Digest is the SHA-256 of the bytes as 64 hexadecimal digits, length their number in decimal, all in ASCII. The bytes
follow as they are: no escaping, no boundary that an artefact could contain. The reader knows where each frame ends
without looking at its bytes, so that one whose bytes are damaged costs only itself.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evaluator.core.values import Artefact

CONTENT_TYPE = "application/x-planarena-bundle"
MOST_BYTES = 8 * 1024 * 1024
"""Of a bundle. An artefact that does not fit into one goes alone, in a request of its own."""
MOST_ARTEFACTS = 200
_HEADER = re.compile(rb"([0-9a-f]{64}) (0|[1-9][0-9]{0,8}) ([ -~]{1,60})\n")
_LONGEST_HEADER = 64 + 1 + 9 + 1 + 60 + 1


class BundleError(ValueError):
    """The bytes are no bundle; the message says where it ends to be one."""


class Frame(NamedTuple):
    """One artefact as it came: nothing in it is checked yet."""

    digest: str
    media_type: str
    data: bytes


def pack(artefacts: Iterable[Artefact]) -> bytes:
    """The artefacts as one bundle."""
    return b"".join(part for artefact in artefacts for part in (_header(artefact), artefact.data))


def bundles(artefacts: Iterable[Artefact]) -> Iterator[list[Artefact]]:
    """The artefacts in groups that each fit into one bundle; one that fits into none is a group alone."""
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
        BundleError: it is larger than a bundle may be, has too many frames, or is cut or malformed.
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
            raise BundleError(
                f'byte {position}, artefact {len(frames) + 1}: "digest length media-type" must stand here'
            )
        start, end = header.end(), header.end() + int(header[2])
        if end > len(data):
            raise BundleError(f"artefact {len(frames) + 1} is cut: {end - len(data)} bytes are missing")
        frames.append(Frame(digest=header[1].decode(), media_type=header[3].decode(), data=data[start:end]))
        position = end
    return frames


def _header(artefact: Artefact) -> bytes:
    return f"{artefact.digest} {len(artefact.data)} {artefact.media_type.value}\n".encode("ascii")
