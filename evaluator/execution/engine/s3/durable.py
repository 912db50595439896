"""A site's store in a bucket. It has the only copy of its objects, so nothing is deleted without a copy.

objects/ab/cdef...                 objects by their SHA-256
quarantine/<digest>.<nanoseconds>  damaged objects, with the reason in their metadata
collected/ab/cdef...               garbage: restored if a result references it after all, deleted by a later collection
"""

import hashlib
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from evaluator.core.values import PICTURES, Artefact, MediaType
from evaluator.execution.engine.files import Garbage
from evaluator.execution.engine.quarantine import Quarantined
from evaluator.execution.engine.s3.bucket import Bucket, Head, Presigned
from evaluator.execution.engine.s3.store import OBJECTS, QUARANTINE, S3Store, digest_in, object_key
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, is_digest

_COLLECTED = "collected/"
_THREADS = 16
"""Concurrent requests."""


class DurableS3Store(S3Store):
    """A site's store under a prefix of a bucket.

    An object counts as present only if the service verified its SHA-256 at the write, or, if the service has no
    checksum, if its bytes were read and have the digest.
    """

    def __init__(self, bucket: Bucket) -> None:
        super().__init__(bucket)
        self.quarantine = S3Quarantine(bucket)

    def has(self, digest: str) -> bool:
        return self.media_type(digest) is not None

    def lacking(self, digests: Sequence[str]) -> list[str]:
        with ThreadPoolExecutor(min(_THREADS, len(digests)) or 1, thread_name_prefix="bucket") as pool:
            return [digest for digest, has in zip(digests, pool.map(self.has, digests), strict=True) if not has]

    def get(self, digest: str) -> Artefact:
        try:
            return super().get(digest)
        except ObjectMissingError:
            if not self._put_back(digest):
                raise
            return super().get(digest)

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        with ThreadPoolExecutor(min(_THREADS, len(artefacts)) or 1, thread_name_prefix="bucket") as pool:
            return list(pool.map(self.put, artefacts))

    def media_type(self, digest: str) -> MediaType | None:
        """The media type of an intact object; None if there is none."""
        if not is_digest(digest):
            return None
        head = self.bucket.head(object_key(digest))
        if head is None and self._put_back(digest):
            head = self.bucket.head(object_key(digest))
        if head is None:
            return None
        if head.sha256 == digest and head.content_type in list(MediaType):
            return MediaType(head.content_type)
        # Not verified by the service: read it, which moves a damaged object to the quarantine.
        try:
            return self.get(digest).media_type
        except (ObjectDamagedError, ObjectMissingError):
            return None

    def digests(self) -> Iterator[str]:
        return (digest for head in self.bucket.list(OBJECTS) if (digest := digest_in(head.key)))

    def recover(self) -> int:
        recovered = 0
        for entry in self.quarantine.entries():
            artefact = None if self.has(entry.digest) else self.quarantine.read(entry)
            if artefact is not None and artefact.digest == entry.digest:
                self.put(artefact)
                recovered += 1
        return recovered

    def presigned_write(self, *, digest: str, size: int, media_type: MediaType, seconds: int) -> Presigned:
        """A signed request that stores this object. The service refuses other bytes."""
        key, content_type = object_key(digest), media_type.value
        return self.bucket.presigned_write(
            key=key, size=size, content_type=content_type, sha256=digest, seconds=seconds
        )

    def presigned_picture(self, *, digest: str, seconds: int) -> str | None:
        """A temporary URL of a picture for browsers; None if there is no such picture or browsers do not reach the
        service.

        Only pictures, in which browsers do not run scripts.
        """
        if self.bucket.place.public_endpoint is None:
            return None
        media_type = self.media_type(digest)
        if media_type not in PICTURES:
            return None
        return self.bucket.presigned_read(key=object_key(digest), content_type=media_type.value, seconds=seconds)

    def collect(self, *, keep: Container[str], before: float, dry_run: bool) -> Garbage:
        then = datetime.fromtimestamp(before, tz=UTC)
        for head in () if dry_run else self.bucket.list(_COLLECTED):
            digest = digest_in(OBJECTS + head.key.removeprefix(_COLLECTED))
            if digest and digest in keep:
                self._put_back(digest)
            elif head.modified < then:
                self.bucket.delete(head.key)
        count = size = 0
        for head in self.bucket.list(OBJECTS):
            digest = digest_in(head.key)
            if not digest or digest in keep or head.modified >= then:
                continue
            if not dry_run:
                # A bucket does not record uses. Results that have just referenced the object find its copy.
                if not self.bucket.copy(key=head.key, target=_collected_key(digest)):
                    continue
                self.bucket.delete(head.key)
            count, size = count + 1, size + head.size
        return Garbage(count, size)

    def _put_back(self, digest: str) -> bool:
        key = _collected_key(digest)
        # The object rarely exists, and `head` is cheaper than a copy.
        return (
            is_digest(digest)
            and self.bucket.head(key) is not None
            and self.bucket.copy(key=key, target=object_key(digest))
        )


class S3Quarantine:
    """Damaged objects of a bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def entries(self) -> list[Quarantined]:
        entries = []
        for head in self._heads():
            digest, nanoseconds = _parts(head.key)
            details = self._bucket.head(head.key)
            at, note = datetime.fromtimestamp(nanoseconds / 1e9, tz=UTC), details.note if details else ""
            entries.append(Quarantined(digest=digest, at=at, reason=note, size=head.size))
        return sorted(entries, key=lambda entry: entry.at, reverse=True)

    def digests(self) -> set[str]:
        return {_parts(head.key)[0] for head in self._heads()}

    def read(self, entry: Quarantined) -> Artefact | None:
        """The artefact of an entry whose bytes turn out to be intact."""
        for head in self._heads(entry.digest):
            stored = self._bucket.read(head.key)
            if stored is not None and hashlib.sha256(stored[0]).hexdigest() == entry.digest:
                media_type = MediaType(stored[1]) if stored[1] in list(MediaType) else MediaType.PNG
                return Artefact(data=stored[0], media_type=media_type)
        return None

    def _heads(self, digest: str = "") -> Iterator[Head]:
        return (head for head in self._bucket.list(f"{QUARANTINE}{digest}") if _parts(head.key)[0])


def _parts(key: str) -> tuple[str, int]:
    """Digest and time in a key of the quarantine; ("", 0) for other keys."""
    digest, _, nanoseconds = key.removeprefix(QUARANTINE).partition(".")
    return (digest, int(nanoseconds)) if is_digest(digest) and nanoseconds.isdecimal() else ("", 0)


def _collected_key(digest: str) -> str:
    return f"{_COLLECTED}{digest[:2]}/{digest[2:]}"
