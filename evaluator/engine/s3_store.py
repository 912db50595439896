"""A store in a bucket of S3 or a compatible service, which shows an object whole or not at all."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from evaluator.engine.store import (
    LocalStore,
    ObjectDamagedError,
    ObjectMissingError,
    Store,
    is_digest,
    step_from_bytes,
    step_to_bytes,
)
from evaluator.records import ArtefactReference
from evaluator.values import Artefact, MediaType

logger = logging.getLogger(__name__)

_GONE = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Store:
    """`objects/ab/cdef...` and `steps/ab/cdef...` under a prefix of a bucket. The content type is the media type.

    Nothing is ever removed: a life-cycle rule of the bucket does that, and a step whose object is gone counts as never
    executed. A damaged object is moved to `quarantine/<digest>.<nanoseconds>`, with the reason in its metadata; the
    rule may remove it like any other, since workers execute the step again. boto3 tries again what may succeed later,
    and signs with the usual AWS variables.
    """

    parallel_writes = 8
    """boto3 keeps ten connections."""

    def __init__(self, *, bucket: str, prefix: str = "", client: Any) -> None:
        """Args:
        bucket: its name; it must exist.
        prefix: what all keys begin with, without a slash at the end.
        client: boto3's client for `s3`.
        """
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._client = client

    def has(self, digest: str) -> bool:
        if not is_digest(digest):
            return False
        try:
            self._client.head_object(Bucket=self._bucket, Key=self._key("objects", digest))
        except self._client.exceptions.ClientError as error:
            _raise_unless_gone(error)
            return False
        return True

    def get(self, digest: str) -> Artefact:
        found = self._read(self._key("objects", digest)) if is_digest(digest) else None
        if found is None:
            raise ObjectMissingError(f"the store has no object {digest}")
        data, content_type = found
        try:
            artefact = Artefact(data=data, media_type=MediaType(content_type))
        except ValueError:
            reason = f"has the content type {content_type!r}"
            raise self._damaged(digest=digest, data=data, content_type=content_type, reason=reason) from None
        if artefact.digest != digest:
            reason = f"has the digest {artefact.digest}"
            raise self._damaged(digest=digest, data=data, content_type=content_type, reason=reason)
        return artefact

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if not self.has(digest):
            self._write(key=self._key("objects", digest), data=artefact.data, content_type=artefact.media_type.value)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        found = self._read(self._key("steps", key))
        if found is None:
            return None
        try:
            outputs = step_from_bytes(found[0])
        except ValueError:
            return None
        return outputs if all(self.has(output.digest) for output in outputs.values()) else None

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self._write(key=self._key("steps", key), data=step_to_bytes(outputs), content_type="application/json")

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _damaged(self, *, digest: str, data: bytes, content_type: str, reason: str) -> ObjectDamagedError:
        """Move a damaged object to the quarantine, and the error to raise. First the copy: it is never in neither."""
        self._client.put_object(
            Bucket=self._bucket,
            Key=f"{self._prefix}quarantine/{digest}.{time.time_ns()}",
            Body=data,
            ContentType=content_type,
            Metadata={"reason": reason.encode("ascii", "backslashreplace").decode()},
        )
        self._client.delete_object(Bucket=self._bucket, Key=self._key("objects", digest))
        logger.error("object %s in the bucket is damaged (it %s); moved to the quarantine", digest, reason)
        return ObjectDamagedError(f"object {digest} is damaged: the object in the bucket {reason}")

    def _key(self, kind: str, digest: str) -> str:
        return f"{self._prefix}{kind}/{digest[:2]}/{digest[2:]}"

    def _read(self, key: str) -> tuple[bytes, str] | None:
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
        except self._client.exceptions.ClientError as error:
            _raise_unless_gone(error)
            return None
        return answer["Body"].read(), answer["ContentType"]

    def _write(self, *, key: str, data: bytes, content_type: str) -> None:
        self._client.put_object(Bucket=self._bucket, Key=key, Body=data, ContentType=content_type)


class CachedStore:
    """A store that is far away, with a local one in front of it.

    Everything is in the far one, so that the near one may lose anything. What is deleted in the far one while the near
    one has it stays usable here and is not written again.
    """

    def __init__(self, *, near: LocalStore, far: Store) -> None:
        """Args:
        near: a folder that serves this far store only.
        far: where everything is kept.
        """
        self._near = near
        self._far = far
        self.parallel_writes = far.parallel_writes

    def has(self, digest: str) -> bool:
        return self._near.has(digest) or self._far.has(digest)

    def get(self, digest: str) -> Artefact:
        try:
            return self._near.get(digest)
        except (ObjectMissingError, ObjectDamagedError):
            artefact = self._far.get(digest)
        self._near.put(artefact)
        return artefact

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if not self._near.has(digest):
            self._far.put(artefact)
            self._near.put(artefact)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        outputs = self._near.get_step(key)
        if outputs is not None:
            return outputs
        outputs = self._far.get_step(key)
        if outputs is None:
            return None
        try:
            for output in outputs.values():
                self.get(output.digest)
        except (ObjectMissingError, ObjectDamagedError):
            return None
        self._near.put_step(key=key, outputs=outputs)
        return outputs

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self._far.put_step(key=key, outputs=outputs)
        self._near.put_step(key=key, outputs=outputs)

    def held(self) -> AbstractContextManager[None]:
        return self._near.held()


def _raise_unless_gone(error: Any) -> None:
    if error.response.get("Error", {}).get("Code") not in _GONE:
        raise error
