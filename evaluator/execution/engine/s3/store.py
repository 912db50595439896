"""A store in a bucket of S3 or a compatible service, which shows an object whole or not at all."""

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

    Nothing is ever removed: a life-cycle rule of the bucket does that, and a step whose object is gone counts as never
    executed. A damaged object is moved to `quarantine/<digest>.<nanoseconds>`, with the reason in its metadata; the
    rule may remove it like any other, since workers execute the step again. boto3 tries again what may succeed later,
    and signs with the usual AWS variables.
    """

    parallel_writes = 8

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def has(self, digest: str) -> bool:
        return is_digest(digest) and self.bucket.head(object_key(digest)) is not None

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if not self.has(digest)]

    def get(self, digest: str) -> Artefact:
        stored = self.bucket.read(object_key(digest)) if is_digest(digest) else None
        if stored is None:
            raise ObjectMissingError(f"the store has no object {digest}")
        artefact, reason = _read(digest=digest, data=stored[0], content_type=stored[1])
        if artefact is not None:
            return artefact
        # Once more: what was damaged on the way is not damaged in the bucket.
        stored = self.bucket.read(object_key(digest))
        if stored is None:
            raise ObjectMissingError(f"the store has no object {digest} any more")
        artefact, reason = _read(digest=digest, data=stored[0], content_type=stored[1])
        if artefact is not None:
            return artefact
        raise self._damaged(digest=digest, data=stored[0], content_type=stored[1], reason=reason)

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if not self.has(digest):
            self._write(digest=digest, artefact=artefact)
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

    def _write(self, *, digest: str, artefact: Artefact) -> None:
        content_type = artefact.media_type.value
        self.bucket.write(key=object_key(digest), data=artefact.data, content_type=content_type, sha256=digest)

    def _damaged(self, *, digest: str, data: bytes, content_type: str, reason: str) -> ObjectDamagedError:
        """Move a damaged object to the quarantine, and the error to raise. First the copy: it is never in neither."""
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
    """The digest in an object's key; empty if it is another key."""
    digest = key.removeprefix(OBJECTS).replace("/", "", 1)
    return digest if is_digest(digest) and object_key(digest) == key else ""


def _step_key(key: str) -> str:
    return f"steps/{key[:2]}/{key[2:]}"


def _read(*, digest: str, data: bytes, content_type: str) -> tuple[Artefact | None, str]:
    """The artefact, or None and what is wrong with it."""
    try:
        artefact = Artefact(data=data, media_type=MediaType(content_type))
    except ValueError:
        return None, f"has the content type {content_type!r}"
    return (artefact, "") if artefact.digest == digest else (None, f"has the digest {artefact.digest}")
