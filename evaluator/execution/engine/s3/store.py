"""A store in a bucket of S3 or a compatible service, whose writes are atomic."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.s3.bucket import Bucket
from evaluator.execution.engine.store import (
    ObjectDamagedError,
    ObjectMissingError,
    StoreUnavailableError,
    is_digest,
    step_from_bytes,
    step_to_bytes,
)

logger = logging.getLogger(__name__)

OBJECTS, QUARANTINE = "objects/", "quarantine/"


class S3Store:
    """`objects/ab/cdef...` and `steps/ab/cdef...` under a prefix of a bucket. The content type is the media type.

    Removes nothing: use a life-cycle rule of the bucket. A step whose object is gone counts as not executed. A damaged
    object is moved to `quarantine/<digest>.<nanoseconds>`, with the reason in its metadata; the rule may remove it,
    since workers execute the step again.
    """

    parallel_writes = 8

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def has(self, digest: str) -> bool:
        return is_digest(digest) and self.bucket.head(object_key(digest)) is not None

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if not self.has(digest)]

    def get(self, digest: str) -> Artefact:
        reason = ""
        # Twice: damage in transit is no damage in the bucket.
        for _ in range(2):
            stored = self.bucket.read(object_key(digest)) if is_digest(digest) else None
            if stored is None:
                raise ObjectMissingError(f"the store has no object {digest}{' any more' if reason else ''}")
            try:
                artefact = Artefact(data=stored[0], media_type=MediaType(stored[1]))
            except ValueError:
                reason = f"has the content type {stored[1]!r}"
                continue
            if artefact.digest == digest:
                return artefact
            reason = f"has the digest {artefact.digest}"
        assert stored is not None
        raise self._damaged(digest=digest, data=stored[0], content_type=stored[1], reason=reason)

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if not self.has(digest):
            content_type = artefact.media_type.value
            self.bucket.write(key=object_key(digest), data=artefact.data, content_type=content_type, sha256=digest)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        stored = self.bucket.read(_step_key(key))
        if stored is None:
            return None
        try:
            outputs = step_from_bytes(stored[0])
        except ValueError:
            return None
        return outputs if all(self.has(output.digest) for output in outputs.values()) else None

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self.bucket.write(key=_step_key(key), data=step_to_bytes(outputs), content_type="application/json")

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _damaged(self, *, digest: str, data: bytes, content_type: str, reason: str) -> ObjectDamagedError:
        """Move a damaged object to the quarantine and return the error to raise. Copies before it deletes."""
        key = f"{QUARANTINE}{digest}.{time.time_ns()}"
        try:
            self.bucket.write(key=key, data=data, content_type=content_type, note=reason)
            self.bucket.delete(object_key(digest))
        except StoreUnavailableError as error:
            logger.error("object %s is damaged (it %s) and could not be moved to %s: %s", digest, reason, key, error)
        else:
            logger.error("object %s in the bucket is damaged (it %s); moved to the quarantine", digest, reason)
        return ObjectDamagedError(f"object {digest} is damaged: the object in the bucket {reason}")


def object_key(digest: str) -> str:
    """The key of an object, without the bucket's prefix.

    Raises:
        ValueError: the text is no digest.
    """
    if not is_digest(digest):
        raise ValueError(f"{digest[:80]!r} is no digest")
    return f"{OBJECTS}{digest[:2]}/{digest[2:]}"


def digest_in(key: str) -> str:
    """The digest in an object's key; empty for other keys."""
    digest = key.removeprefix(OBJECTS).replace("/", "", 1)
    return digest if is_digest(digest) and object_key(digest) == key else ""


def _step_key(key: str) -> str:
    return f"steps/{key[:2]}/{key[2:]}"
