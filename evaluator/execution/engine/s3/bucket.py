"""`Bucket`: the S3 operations of the stores under a prefix, with one error for all temporary failures."""

import base64
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from evaluator.execution.engine.store import StoreUnavailableError

logger = logging.getLogger(__name__)

_GONE = frozenset({"404", "NoSuchKey", "NotFound"})
_TRIES = 3
"""Tries of a download that breaks off; boto3 retries everything else."""
_PAST_THE_END = 416
_OCTETS = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The location of a bucket."""

    bucket: str
    prefix: str
    """Without leading or trailing slashes; may be empty."""
    endpoint: str | None = None
    """Endpoint of a service other than Amazon's."""
    public_endpoint: str | None = None
    """Endpoint for browsers; None: they cannot reach the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The metadata of an object."""

    key: str
    """Without the prefix."""
    size: int
    modified: datetime
    content_type: str = _OCTETS
    sha256: str = ""
    """Hexadecimal, if the service verified it at the write; otherwise empty."""
    note: str = ""
    """The damage of an object in quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presigned:
    """A signed request. A secret: whoever has it can send it repeatedly until it expires."""

    url: str
    headers: Mapping[str, str]
    """Covered by the signature."""


def place_from(where: str, *, environment: Mapping[str, str] | None = None) -> Place:
    """The place of `s3://bucket/prefix`, with endpoints from `PLANARENA_S3_ENDPOINT` and
    `PLANARENA_S3_PUBLIC_ENDPOINT`.

    Raises:
        ValueError: the URL names no bucket, or has another scheme.
    """
    url = urlsplit(where)
    if url.scheme != "s3" or not url.netloc or url.query or url.fragment:
        raise ValueError(f"{where!r} names no store; give a folder or s3://bucket/prefix")
    variables = os.environ if environment is None else environment
    return Place(
        bucket=url.netloc,
        prefix=url.path.strip("/"),
        endpoint=variables.get("PLANARENA_S3_ENDPOINT") or None,
        public_endpoint=variables.get("PLANARENA_S3_PUBLIC_ENDPOINT") or None,
    )


def client_for(endpoint: str | None, *, tries: int = 5, read_timeout: float = 30.0) -> Any:
    """boto3's client, with credentials from the usual AWS variables. Thread-safe."""
    config = Config(
        signature_version="s3v4",
        retries={"mode": "standard", "max_attempts": tries},
        connect_timeout=min(5.0, read_timeout),
        read_timeout=read_timeout,
        max_pool_connections=32,
        # The stores supply the SHA-256 of writes and verify reads.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if endpoint else "auto"},
    )
    return boto3.client("s3", endpoint_url=endpoint, config=config)


class Bucket:
    """The objects of a bucket whose keys begin with a prefix. Thread-safe.

    Every method raises `StoreUnavailableError` if the service refuses, fails or does not respond.
    """

    def __init__(self, *, place: Place, client: Any = None, signer: Any = None) -> None:
        """Args:
        place: its location; the bucket must exist.
        client: boto3's client for `s3`; None: a new one.
        signer: the client that signs URLs for browsers; None: a new one, if browsers reach the service.
        """
        self.place = place
        self._prefix = f"{place.prefix}/" if place.prefix else ""
        self._client = client or client_for(place.endpoint)
        self._signer = signer or (client_for(place.public_endpoint) if place.public_endpoint else None)

    def below(self, name: str) -> "Bucket":
        """The bucket with a longer prefix."""
        place = Place(
            bucket=self.place.bucket, prefix=f"{self._prefix}{name}",
            endpoint=self.place.endpoint, public_endpoint=self.place.public_endpoint,
        )  # fmt: skip
        return Bucket(place=place, client=self._client, signer=self._signer)

    def read(self, key: str) -> tuple[bytes, str] | None:
        """Bytes and content type of an object, or None if there is none."""
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                with _errors(doing="read"):
                    answer = self._client.get_object(**self._named(key))
                    return answer["Body"].read(), answer.get("ContentType", _OCTETS)
            except _GoneError:
                return None
            except StoreUnavailableError:
                if not tries_left:
                    raise
                time.sleep(0.1)
        raise AssertionError("unreachable")

    def head(self, key: str) -> Head | None:
        """The metadata of an object, or None if there is none."""
        try:
            with _errors(doing="read"):
                answer = self._client.head_object(**self._named(key), ChecksumMode="ENABLED")
        except _GoneError:
            return None
        return Head(
            key=key,
            size=answer["ContentLength"],
            modified=answer["LastModified"],
            content_type=answer.get("ContentType", _OCTETS),
            sha256=_hex(answer.get("ChecksumSHA256", "")),
            note=answer.get("Metadata", {}).get("reason", ""),
        )

    def write(self, *, key: str, data: bytes, content_type: str, sha256: str = "", note: str = "") -> None:
        """Write an object atomically. With its SHA-256, the service refuses corrupted bytes, and `head` returns it."""
        more: dict[str, Any] = {"ChecksumSHA256": _base64(sha256)} if sha256 else {}
        if note:
            more["Metadata"] = _metadata(note)
        with _errors(doing="write"):
            self._client.put_object(**self._named(key), Body=data, ContentType=content_type, **more)

    def write_file(self, *, key: str, path: Path, content_type: str, sha256: str) -> None:
        """`write` for a file of at most 5 GB."""
        with path.open("rb") as file, _errors(doing="write"):
            checksum = _base64(sha256)
            self._client.put_object(**self._named(key), Body=file, ContentType=content_type, ChecksumSHA256=checksum)

    def read_part(self, key: str, *, start: int, most: int) -> bytes | None:
        """At most `most` bytes of an object from `start`; None if there is no object."""
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                with _errors(doing="read"):
                    answer = self._client.get_object(**self._named(key), Range=f"bytes={start}-{start + most - 1}")
                    data: bytes = answer["Body"].read()
                    return data
            except _GoneError:
                return None
            except StoreUnavailableError as error:
                if error.status == _PAST_THE_END:
                    return b""
                if not tries_left:
                    raise
                time.sleep(0.1)
        raise AssertionError("unreachable")

    def copy(self, *, key: str, target: str, note: str = "") -> bool:
        """Copy an object within the bucket, with its content type. False if there is none."""
        source = {"Bucket": self.place.bucket, "Key": f"{self._prefix}{key}"}
        more: dict[str, Any] = {"ChecksumAlgorithm": "SHA256"}
        if note:
            more |= {"MetadataDirective": "REPLACE", "Metadata": _metadata(note), "ContentType": _OCTETS}
        try:
            with _errors(doing="copy"):
                self._client.copy_object(**self._named(target), CopySource=source, **more)
        except _GoneError:
            return False
        return True

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""
        with _errors(doing="delete"):
            self._client.delete_object(**self._named(key))

    def list(self, folder: str) -> Iterator[Head]:
        """The objects of a folder, such as `objects/`, in the order of their keys, a page at a time."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.place.bucket, Prefix=f"{self._prefix}{folder}"
        )
        answers = iter(pages)
        while True:
            with _errors(doing="list"):
                page = next(answers, None)
            if page is None:
                return
            for item in page.get("Contents", ()):
                yield Head(key=item["Key"].removeprefix(self._prefix), size=item["Size"], modified=item["LastModified"])

    def presigned_write(self, *, key: str, size: int, content_type: str, sha256: str, seconds: int) -> Presigned:
        """A signed request that writes the bytes with this digest, as its body, under a key."""
        parameters = {
            **self._named(key), "ContentType": content_type, "ContentLength": size, "ChecksumSHA256": _base64(sha256),
        }  # fmt: skip
        with _errors(doing="sign for"):
            url = self._client.generate_presigned_url("put_object", Params=parameters, ExpiresIn=seconds)
        headers = {"Content-Type": content_type, "Content-Length": str(size), "x-amz-checksum-sha256": _base64(sha256)}
        return Presigned(url=url, headers=headers)

    def presigned_read(self, *, key: str, content_type: str, seconds: int) -> str | None:
        """A URL by which a browser reads an object, with this content type; None: browsers do not reach the service."""
        if self._signer is None:
            return None
        parameters = {
            **self._named(key), "ResponseContentType": content_type, "ResponseContentDisposition": "inline",
            "ResponseCacheControl": f"private, max-age={seconds}",
        }  # fmt: skip
        with _errors(doing="sign for"):
            url: str = self._signer.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        return url

    def _named(self, key: str) -> dict[str, str]:
        return {"Bucket": self.place.bucket, "Key": f"{self._prefix}{key}"}


class _GoneError(Exception):
    """There is no such object."""


@contextmanager
def _errors(*, doing: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _GONE:
            raise _GoneError from error
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        raise StoreUnavailableError(f"the bucket refuses to {doing} ({status} {code})", status=status) from error
    except BotoCoreError as error:
        # The cause's message may contain an address with a signature: it belongs into the log of this process only.
        raise StoreUnavailableError(f"the bucket is not reached ({type(error).__name__})") from error


def _metadata(note: str) -> dict[str, str]:
    return {"reason": note.encode("ascii", "backslashreplace").decode()}


def _base64(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _hex(checksum: str) -> str:
    """The hexadecimal SHA-256; empty for other checksums, such as those of multipart uploads."""
    try:
        digest = base64.b64decode(checksum, validate=True)
    except ValueError:
        return ""
    return digest.hex() if len(digest) == 32 else ""
