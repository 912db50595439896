"""Stores of uploaded checkpoints, by the SHA-256 of their bytes: a folder, or a bucket."""

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evaluator.core.private_files import private_folder
from evaluator.execution.engine.files import flush, make_folder
from evaluator.execution.engine.quarantine import FOLDER, Quarantine, Quarantined, has_digest
from evaluator.execution.engine.store import is_digest

if TYPE_CHECKING:
    from evaluator.execution.engine.s3.bucket import Bucket

_PIECE = 8 * 2**20
"""Bytes per read from a bucket."""


class Checkpoints(Protocol):
    """Interface of a store."""

    def digests(self) -> list[str]:
        """Digests of all files, sorted."""
        ...

    def take(self, *, path: Path, digest: str) -> None:
        """Store a complete file whose bytes have this digest. An existing file stays."""
        ...

    def copy(self, *, path: Path, digest: str) -> None:
        """Like `take`, but never by a hard link, as for backups."""
        ...

    def size(self, digest: str) -> int:
        """Bytes of a file; 0 if there is none."""
        ...

    def read(self, *, digest: str, start: int, most: int) -> bytes | None:
        """At most `most` bytes of a file from `start` on; None if there is no such file."""
        ...

    def local(self, digest: str) -> AbstractContextManager[Path]:
        """A local path of the file within the context. The file may be damaged or missing."""
        ...

    def is_whole(self, digest: str) -> bool:
        """Whether the file's bytes have this digest. Reads the whole file."""
        ...

    def set_aside(self, *, digest: str, reason: str) -> None:
        """Move a damaged file to the quarantine."""
        ...

    def quarantined(self) -> Sequence[Quarantined]:
        """Damaged files, the newest first."""
        ...

    def remove(self, digest: str) -> None:
        """Delete a file, if it is there."""
        ...


class CheckpointStore:
    """Files by the SHA-256 of their bytes, in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def quarantined(self) -> Sequence[Quarantined]:
        return Quarantine(self._path / FOLDER).entries()

    def is_whole(self, digest: str) -> bool:
        return has_digest(self.path(digest), digest=digest)

    def set_aside(self, *, digest: str, reason: str) -> None:
        Quarantine(self._path / FOLDER).take(path=self.path(digest), digest=digest, reason=reason)

    @contextmanager
    def local(self, digest: str) -> Iterator[Path]:
        yield self.path(digest)

    def digests(self) -> list[str]:
        return sorted(filter(is_digest, (path.parent.name + path.stem for path in self._path.glob("??/*.zip"))))

    def path(self, digest: str) -> Path:
        """Where the file with this digest is, or would be."""
        if not is_digest(digest):
            raise ValueError(f"{digest[:80]!r} is no digest")
        return self._path / digest[:2] / f"{digest[2:]}.zip"

    def take(self, *, path: Path, digest: str) -> None:
        self._put(path=path, digest=digest, bring=_link_or_copy)

    def copy(self, *, path: Path, digest: str) -> None:
        self._put(path=path, digest=digest, bring=shutil.copyfile)

    def _put(self, *, path: Path, digest: str, bring: Callable[[Path, Path], object]) -> None:
        target = self.path(digest)
        if target.exists():
            return
        make_folder(target.parent, durable=True)
        # Readers must see the whole file or none.
        partial = target.with_name(f".{secrets.token_hex(8)}")
        try:
            bring(path, partial)
            # In this order, so that a power failure leaves no empty file under the digest.
            flush(partial)
            partial.replace(target)
            flush(target.parent)
        finally:
            partial.unlink(missing_ok=True)

    def size(self, digest: str) -> int:
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, *, digest: str, start: int, most: int) -> bytes | None:
        try:
            with self.path(digest).open("rb") as file:
                file.seek(start)
                return file.read(most)
        except FileNotFoundError:
            return None

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)


class CheckpointBucket:
    """Files in a bucket."""

    def __init__(self, bucket: "Bucket", *, scratch: Path) -> None:
        """Args:
        bucket: for checkpoints only.
        scratch: a folder with room for one of them.
        """
        # Imported when needed: sites with a folder do not use it.
        from evaluator.execution.engine.s3.durable import S3Quarantine
        from evaluator.execution.engine.s3.store import OBJECTS, QUARANTINE, digest_in, object_key

        self._bucket, self._scratch = bucket, scratch
        self._quarantine = S3Quarantine(bucket)
        self._key, self._digest_in = object_key, digest_in
        self._objects, self._damaged = OBJECTS, QUARANTINE

    def digests(self) -> list[str]:
        return [digest for head in self._bucket.list(self._objects) if (digest := self._digest_in(head.key))]

    def take(self, *, path: Path, digest: str) -> None:
        if not self.size(digest):
            self._bucket.write_file(key=self._key(digest), path=path, content_type="application/zip", sha256=digest)

    copy = take

    def size(self, digest: str) -> int:
        head = self._bucket.head(self._key(digest)) if is_digest(digest) else None
        return head.size if head else 0

    def read(self, *, digest: str, start: int, most: int) -> bytes | None:
        return self._bucket.read_part(self._key(digest), start=start, most=most)

    @contextmanager
    def local(self, digest: str) -> Iterator[Path]:
        path = self._scratch / f".checkpoint-{secrets.token_hex(8)}"
        try:
            private_folder(self._scratch)
            with path.open("wb") as file:
                for piece in self._pieces(digest):
                    file.write(piece)
            if not path.stat().st_size:
                path.unlink()
            yield path
        finally:
            path.unlink(missing_ok=True)

    def is_whole(self, digest: str) -> bool:
        found = hashlib.sha256()
        for piece in self._pieces(digest):
            found.update(piece)
        return found.hexdigest() == digest

    def set_aside(self, *, digest: str, reason: str) -> None:
        target = f"{self._damaged}{digest}.{time.time_ns()}"
        if self._bucket.copy(key=self._key(digest), target=target, note=reason):
            self._bucket.delete(self._key(digest))

    def quarantined(self) -> Sequence[Quarantined]:
        return self._quarantine.entries()

    def remove(self, digest: str) -> None:
        self._bucket.delete(self._key(digest))

    def _pieces(self, digest: str) -> Iterator[bytes]:
        start = 0
        while piece := self.read(digest=digest, start=start, most=_PIECE):
            yield piece
            start += len(piece)


@cache
def bucket_of(url: str, *, scratch: Path) -> CheckpointBucket:
    """The checkpoints of a site whose store is at `s3://bucket/prefix`."""
    from evaluator.execution.engine.s3.bucket import Bucket, place_from

    return CheckpointBucket(Bucket(place=place_from(url)).below("checkpoints"), scratch=scratch)


def _link_or_copy(path: Path, target: Path) -> None:
    """Hard-link an upload where possible, since it is deleted afterwards."""
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, target)
