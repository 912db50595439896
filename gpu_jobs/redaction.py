"""Redacts secrets in texts that other people will read. Pure; used by the worker and, once more, by the site.

Redacts exact values (tokens, addresses) and patterns (headers, credentials in addresses, keys of well-known services).
A pattern may match too much of a line, which is the safe side.

In artefacts only exact values are redacted: in texts, including JSON, and in the metadata of images. Secrets in pixels
are not detected: only a model that was trained to do so writes them there.
"""

import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from evaluator.core.values import PICTURES, Artefact, MediaType
from gpu_jobs.worker_secrets import names_a_secret

HIDDEN = "***"
_SHORTEST_SECRET = 6
_SHORTEST_IN_RECORDS = 12
"""Shorter secrets, such as a weak password, may be words of plans, where redaction would reveal them."""
# No pattern begins with a repetition, which would take quadratic time on long lines.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    # To the end of the line: what follows may be the other half of the header.
    (re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\b(['\"]?\s*[:=]\s*).+"), rf"\1\2{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer)\s+[\w.~+/=-]{6,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b(basic)\s+[a-z0-9+/]{16,}={0,2}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^/\s@'\"]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"(?i)((?:token|secret|password|passwd|api[_-]?key|access[_-]?key|signature))"
            r"(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,;]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"\b(?:pa[sw]?|hf|gh[opsu]|github_pat|sk|xox[abp])[_-][A-Za-z0-9_-]{10,}"), HIDDEN),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), HIDDEN),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), HIDDEN),
)


class Redactor:
    """Redacts secrets and private addresses."""

    def __init__(self, *, secrets: Iterable[str] = (), addresses: Iterable[str] = ()) -> None:
        """Args:
        secrets: exact values; very short ones are ignored.
        addresses: of planners' endpoints, which are private.
        """
        known = {secret.strip() for secret in secrets}
        # The longest first: one may contain another.
        self._secrets = sorted((text for text in known if len(text) >= _SHORTEST_SECRET), key=len, reverse=True)
        self._long = [secret for secret in self._secrets if len(secret) >= _SHORTEST_IN_RECORDS]
        self._addresses = [address for address in addresses if address]
        hosts = {urlsplit(address).hostname or "" for address in self._addresses} - {""}
        self._hosts = [re.compile(rf"(?i)(?<![\w.-]){re.escape(host)}(?::\d+)?(?![\w-])") for host in sorted(hosts)]

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        text = self.without_addresses(_without(text, secrets=self._secrets))
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        return text

    def in_json(self, content: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The object without exact secrets in its texts and keys.

        Patterns and addresses are kept: a plan may contain `token: "blue"`.
        """
        return _in_object(content, secrets=self._long)

    def in_artefact(self, artefact: Artefact) -> Artefact:
        """The artefact without exact secrets; the same object if it contains none."""
        return redacted(artefact, secrets=self._long)

    def in_record(self, record: ResultRecord) -> ResultRecord:
        """The record without exact secrets."""
        content = record.model_dump(mode="json")
        hidden = self.in_json(content)
        return record if hidden == content else ResultRecord.model_validate(hidden)

    def without_addresses(self, text: str) -> str:
        """The text without addresses only, for sentences in which a word such as `token:` is no secret."""
        for address in self._addresses:
            text = text.replace(address, "the endpoint")
        for host in self._hosts:
            text = host.sub("the endpoint's host", text)
        return text


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables whose names denote secrets."""
    return [value for name, value in environment.items() if names_a_secret(name)]


def _replaced(value: JsonValue, *, secrets: Sequence[str]) -> JsonValue:
    if isinstance(value, str):
        return _without(value, secrets=secrets)
    if isinstance(value, list):
        return [_replaced(item, secrets=secrets) for item in value]
    if isinstance(value, dict):
        return _in_object(value, secrets=secrets)
    return value


def _in_object(content: Mapping[str, JsonValue], *, secrets: Sequence[str]) -> dict[str, JsonValue]:
    return {_without(key, secrets=secrets): _replaced(item, secrets=secrets) for key, item in content.items()}


def _without(text: str, *, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


_HIDDEN_BYTES = b"***"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_MOST_UNPACKED = 1024 * 1024
"""Bytes of one compressed piece of metadata that are scanned. A larger piece is removed."""


class _TooLargeError(Exception):
    """Metadata is too large to scan."""


class _Chunk(NamedTuple):
    kind: bytes
    data: bytes
    raw: bytes
    """The whole chunk, with length, kind and checksum."""


def holds_secret(artefact: Artefact, *, secrets: Sequence[str]) -> bool:
    """Whether the artefact's text or metadata contains one of the secrets."""
    return redacted(artefact, secrets=secrets) is not artefact


def redacted(artefact: Artefact, *, secrets: Sequence[str]) -> Artefact:
    """The artefact without these secrets; the same object if it contains none.

    Secrets in texts are replaced. In images, metadata with secrets and data after the end are removed; in sounds,
    secrets are overwritten.
    """
    forms: dict[bytes, None] = {}
    for secret in secrets:
        # As plain text and as a string of JSON.
        for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
            if form:
                forms[form.encode()] = None
    if not forms:
        return artefact
    data = artefact.data
    if artefact.media_type in {*PICTURES, MediaType.SOUND}:
        data = _image_without(data, secrets=list(forms))
    else:
        for encoded in forms:
            data = data.replace(encoded, _HIDDEN_BYTES)
    return artefact if data == artefact.data else Artefact(data=data, media_type=artefact.media_type)


def with_digests(record: ResultRecord, *, replaced: Mapping[str, str]) -> ResultRecord:
    """The record with the digests of replaced artefacts exchanged."""
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


def _image_without(data: bytes, *, secrets: Sequence[bytes]) -> bytes:
    chunks = _chunks(data)
    if chunks is None:
        # Not a valid PNG: overwriting bytes does no harm.
        for secret in secrets:
            data = data.replace(secret, b"*" * len(secret))
        return data
    clean = [chunk for chunk in chunks if chunk.kind in _CRITICAL or not _holds(chunk.data, secrets=secrets)]
    end = len(_SIGNATURE) + sum(len(chunk.raw) for chunk in chunks)
    if len(clean) == len(chunks) and not _holds(data[end:], secrets=secrets):
        return data
    return _SIGNATURE + b"".join(chunk.raw for chunk in clean)


def _holds(data: bytes, *, secrets: Sequence[bytes]) -> bool:
    try:
        texts = [data, *_unpacked(data)]
    except _TooLargeError:
        return True
    return any(secret in text for text in texts for secret in secrets)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Decompressed parts of metadata: zTXt, iTXt and iCCP have them after NUL bytes and flags."""
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
    """Possible starts of zlib streams: the first positions of the usual headers."""
    for header in (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):
        at = data.find(header)
        for _ in range(4):
            if at < 0:
                break
            yield at
            at = data.find(header, at + 1)


def _chunks(data: bytes) -> list[_Chunk] | None:
    """The chunks of a PNG up to its end; None if it is not a PNG."""
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
