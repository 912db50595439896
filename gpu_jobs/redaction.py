"""Takes secrets out of texts that other people will read. Pure; used by the worker and, once more, by the site.

It knows exact values (tokens, addresses) and shapes (headers, credentials in addresses, keys of well-known services). A
shape may take too much of a line; that is the side to err on.

In artefacts it looks for exact values only: in texts (JSON included) and in the metadata of images. A secret in the
pixels of an image is not found: nothing writes there but a model that was trained to.
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
from evaluator.core.values import PICTURES, Artefact
from gpu_jobs.worker_secrets import names_a_secret

HIDDEN = "***"
_SHORTEST_SECRET = 6
_SHORTEST_IN_RECORDS = 12
"""Shorter ones, such as a database's weak password, are also words of plans; hiding them there would tell them."""
# No pattern begins with a repetition: a long line would take the square of its length.
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
    """Replaces what must not be read by others."""

    def __init__(self, *, secrets: Iterable[str] = (), addresses: Iterable[str] = ()) -> None:
        """Args:
        secrets: exact values; those too short to be one are left alone.
        addresses: of planners' endpoints, which are their owners'.
        """
        known = {secret.strip() for secret in secrets}
        # The longest first: one may contain another.
        self._secrets = sorted((one for one in known if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)
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
        """The object with every text, keys included, without the exact secrets.

        Shapes and addresses are left: a plan may well say `token: "blue"`.
        """
        return _in_object(content, secrets=self._long)

    def in_artefact(self, artefact: Artefact) -> Artefact:
        """The artefact without the exact secrets; the very same one if there is none in it."""
        return redacted(artefact, secrets=self._long)

    def in_record(self, record: ResultRecord) -> ResultRecord:
        """The record without the exact secrets."""
        content = record.model_dump(mode="json")
        hidden = self.in_json(content)
        return record if hidden == content else ResultRecord.model_validate(hidden)

    def without_addresses(self, text: str) -> str:
        """The text without the addresses only, for sentences in which a word such as `token:` is no secret."""
        for address in self._addresses:
            text = text.replace(address, "the endpoint")
        for host in self._hosts:
            text = host.sub("the endpoint's host", text)
        return text


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables whose names say that they are secrets."""
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
            data = data.replace(secret, _HIDDEN_BYTES)
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
