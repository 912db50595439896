"""Takes exact secrets out of artefacts: texts (JSON included) and the metadata of images. Pure: artefacts in and out.

A secret in the pixels of an image is not found: nothing writes there but a model that was trained to.
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from evaluator.core.values import PICTURES, Artefact

HIDDEN = b"***"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_MOST_UNPACKED = 1024 * 1024
"""Bytes of one compressed piece of metadata that are looked at. One that is larger goes as a whole."""


class _TooLargeError(Exception):
    """Metadata that unpacks to more than is looked at."""


class _Chunk(NamedTuple):
    kind: bytes
    data: bytes
    raw: bytes
    """With length, kind and checksum."""


def holds_secret(artefact: Artefact, *, secrets: Sequence[str]) -> bool:
    """Whether one of the secrets is in the artefact's text or metadata."""
    return redacted(artefact, secrets=secrets) is not artefact


def redacted(artefact: Artefact, *, secrets: Sequence[str]) -> Artefact:
    """The artefact without these secrets; the very same one if there is none in it.

    In texts each secret is replaced. An image loses the pieces of metadata that hold one, and what follows its end; its
    pixels stay.
    """
    found = [form for secret in secrets for form in _forms(secret)]
    if not found:
        return artefact
    data = artefact.data
    if artefact.media_type in PICTURES:
        data = _image_without(data, secrets=found)
    else:
        for secret in found:
            data = data.replace(secret, HIDDEN)
    return artefact if data == artefact.data else Artefact(data=data, media_type=artefact.media_type)


def with_digests(record: ResultRecord, *, replaced: Mapping[str, str]) -> ResultRecord:
    """The record with other digests in place of those of artefacts that were replaced."""
    if not any(artefact.digest in replaced for artefact in record.artefacts()):
        return record
    return ResultRecord.model_validate(_renamed(record.model_dump(mode="json"), replaced=replaced))


def _renamed(value: JsonValue, *, replaced: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        return replaced.get(value, value)
    if isinstance(value, list):
        return [_renamed(item, replaced=replaced) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, replaced=replaced) for key, item in value.items()}
    return value


def _forms(secret: str) -> list[bytes]:
    """How a secret is written in a text, and in a string of JSON."""
    forms = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return list(dict.fromkeys(form.encode() for form in forms if form))


def _image_without(data: bytes, *, secrets: Sequence[bytes]) -> bytes:
    chunks = _chunks(data)
    if chunks is None:
        # No PNG that anything reads: it may lose what looks like a secret wherever that is.
        for secret in secrets:
            data = data.replace(secret, b"*" * len(secret))
        return data
    kept = [one for one in chunks if one.kind in _CRITICAL or not _holds(one.data, secrets=secrets)]
    end = len(_SIGNATURE) + sum(len(one.raw) for one in chunks)
    rest = data[end:]
    if len(kept) == len(chunks) and not _holds(rest, secrets=secrets):
        return data
    return _SIGNATURE + b"".join(one.raw for one in kept)


def _holds(data: bytes, *, secrets: Sequence[bytes]) -> bool:
    try:
        texts = [data, *_unpacked(data)]
    except _TooLargeError:
        return True
    return any(secret in text for text in texts for secret in secrets)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """What may be compressed in a piece of metadata: zTXt, iTXt and iCCP have it after NUL bytes and flags."""
    for start in _starts(data):
        try:
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(data[start:], _MOST_UNPACKED)
        except zlib.error:
            continue
        if unpacking.unconsumed_tail:
            raise _TooLargeError
        yield text


def _starts(data: bytes) -> Iterator[int]:
    """Where zlib streams may begin: the few places at which one of the usual headers stands."""
    for header in (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):
        at = data.find(header)
        for _ in range(4):
            if at < 0:
                break
            yield at
            at = data.find(header, at + 1)


def _chunks(data: bytes) -> list[_Chunk] | None:
    """The chunks of a PNG up to its end; None if it is none."""
    if not data.startswith(_SIGNATURE):
        return None
    chunks: list[_Chunk] = []
    at = len(_SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 12 + length
        if end > len(data):
            return None
        kind = data[at + 4 : at + 8]
        chunks.append(_Chunk(kind=kind, data=data[at + 8 : end - 4], raw=data[at:end]))
        if kind == b"IEND":
            return chunks
        at = end
    return None
