"""Uploaded checkpoints: taken, kept by the digest of their bytes, given to workers piece by piece, and removed.

They are their owners' and are never served to browsers; the store is beside those of artefacts and apart from them.
"""

import secrets
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from evaluator.engine.files import flush, make_folder
from evaluator.engine.store import is_digest
from evaluator.planners.language_models.admission.checkpoint_inspection import inspect_confined
from evaluator.planners.language_models.admission.checkpoint_zip import CheckpointFacts
from evaluator.planners.language_models.admission.rules import ModelRefusedError
from leaderboard.accounts.models import User
from leaderboard.planners.kinds.language_models import too_large
from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.planners.uploading import ReceivedFile
from leaderboard.site.coordination.locks import Lock, lock_until_commit
from leaderboard.site.field_errors import FieldErrors

FIELD = "file"
"""The field of errors in an upload."""


class TooLargeError(Exception):
    """The upload is larger than the limit; the message is a sentence."""

    def __init__(self) -> None:
        super().__init__(f"A checkpoint's zip has at most {settings.MAX_CHECKPOINT_BYTES} bytes here.")


class CheckpointStore:
    """Files by the SHA-256 of their bytes, in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def digests(self) -> list[str]:
        """Of all files, in order."""
        return sorted(filter(is_digest, (path.parent.name + path.stem for path in self._path.glob("??/*.zip"))))

    def path(self, digest: str) -> Path:
        """Where the file with this digest is, or would be."""
        if not is_digest(digest):
            raise ValueError(f"{digest[:80]!r} is no digest")
        return self._path / digest[:2] / f"{digest[2:]}.zip"

    def take(self, *, path: Path, digest: str) -> None:
        """Store a complete file whose bytes have this digest. An existing file stays."""
        self._put(path=path, digest=digest, bring=_link_or_copy)

    def copy(self, *, path: Path, digest: str) -> None:
        """The same with bytes of its own, as in a backup."""
        self._put(path=path, digest=digest, bring=shutil.copyfile)

    def _put(self, *, path: Path, digest: str, bring: Callable[[Path, Path], object]) -> None:
        target = self.path(digest)
        if target.exists():
            return
        make_folder(target.parent, durable=True)
        # Whoever reads finds all of it or nothing.
        partial = target.with_name(f".{secrets.token_hex(8)}")
        try:
            bring(path, partial)
            # In this order, so that a power cut leaves no empty file under the digest.
            flush(partial)
            partial.replace(target)
            flush(target.parent)
        finally:
            partial.unlink(missing_ok=True)

    def size(self, digest: str) -> int:
        """Bytes of a file; 0 if there is none."""
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, *, digest: str, start: int, most: int) -> bytes | None:
        """Bytes of a file from `start` on, at most so many; None if there is none."""
        try:
            with self.path(digest).open("rb") as file:
                file.seek(start)
                return file.read(most)
        except FileNotFoundError:
            return None

    def remove(self, digest: str) -> None:
        """Delete a file, if it is there."""
        self.path(digest).unlink(missing_ok=True)


def checkpoint_store() -> CheckpointStore:
    """The store of uploaded checkpoints. Only the workers' API serves them."""
    return CheckpointStore(settings.STORE_DIR / "checkpoints")


def keep_upload(*, owner: User, file: ReceivedFile) -> CheckpointUpload:
    """Check a zip that came with a form, as `keep_file` does.

    Raises:
        TooLargeError: it has too many bytes.
        FieldErrors: as `keep_file`.
    """
    if file.too_large:
        raise TooLargeError
    return keep_file(owner=owner, path=Path(file.temporary_file_path()), digest=file.digest)


def keep_file(*, owner: User, path: Path, digest: str) -> CheckpointUpload:
    """Check an uploaded zip and keep it for its owner's next submission.

    Before: nothing.
    After: the store has the file, and there is a row that says so; uploaded again, it is the same row.

    Raises:
        FieldErrors: it is no checkpoint that is evaluated here, or the owner has too many unused ones; nothing is kept.
    """
    facts = _inspected(path)
    with transaction.atomic():
        lock_until_commit(Lock.CHECKPOINT_STORE)
        others = _unused(CheckpointUpload.objects.filter(owner=owner)).exclude(digest=digest)
        if others.count() >= settings.UNUSED_CHECKPOINTS:
            sentence = (
                f"You have {settings.UNUSED_CHECKPOINTS} checkpoints that you did not submit: submit them, or wait "
                f"until they are removed, {settings.UNUSED_CHECKPOINT_HOURS} hours after their upload."
            )
            raise FieldErrors({FIELD: [sentence]})
        checkpoint_store().take(path=path, digest=digest)
        upload, _ = CheckpointUpload.objects.update_or_create(
            owner=owner,
            digest=digest,
            defaults={
                "bytes": path.stat().st_size,
                "architecture": facts.architecture,
                "parameters": facts.parameters,
                "weights_bytes": facts.weights_bytes,
                "wanted_at": Now(),
            },
        )
    upload.refresh_from_db()
    return upload


def uploads_of(owner: User) -> "QuerySet[CheckpointUpload]":
    """The owner's stored uploads, newest first."""
    return CheckpointUpload.objects.filter(owner=owner).order_by("-created", "-pk")


def wanted(*, owner: User, digest: str) -> CheckpointUpload | None:
    """The owner's upload with this digest, which is about to be submitted; from now on it stays for another while."""
    found = CheckpointUpload.objects.filter(owner=owner, digest=digest)
    return found.first() if found.update(wanted_at=Now()) else None


def remove_unused() -> int:
    """Delete what was uploaded a day ago and belongs to no planner. Returns how many uploads there were.

    Before: nothing; it may run twice at once.
    After: none of these has a row, and the store has no file that no row names.
    """
    long_ago = Now() - timedelta(hours=settings.UNUSED_CHECKPOINT_HOURS)
    with transaction.atomic():
        lock_until_commit(Lock.CHECKPOINT_STORE)
        old = _unused(CheckpointUpload.objects.filter(wanted_at__lt=long_ago))
        digests = list(old.values_list("digest", flat=True))
        # The condition again: what was submitted meanwhile was noted as wanted just now.
        count, _ = _unused(CheckpointUpload.objects.filter(digest__in=digests, wanted_at__lt=long_ago)).delete()
        left = set(CheckpointUpload.objects.filter(digest__in=digests).values_list("digest", flat=True))
        for digest in set(digests) - left:
            checkpoint_store().remove(digest)
    return count


def remove_unnamed() -> int:
    """Delete files that belong to no upload, and return how many.

    Before: nothing; it may run twice at once.
    After: every file of the store is named by an upload or by a planner whose owner has an account.
    """
    count = 0
    for digest in checkpoint_store().digests():
        with transaction.atomic():
            lock_until_commit(Lock.CHECKPOINT_STORE)
            planners = Planner.objects.filter(checkpoint_digest=digest, owner__deleted_at=None)
            if not (CheckpointUpload.objects.filter(digest=digest).exists() or planners.exists()):
                checkpoint_store().remove(digest)
                count += 1
    return count


def _unused(uploads: "QuerySet[CheckpointUpload]") -> "QuerySet[CheckpointUpload]":
    of_planner = Planner.objects.filter(owner=OuterRef("owner"), checkpoint_digest=OuterRef("digest"))
    return uploads.filter(~Exists(of_planner))


def _link_or_copy(path: Path, target: Path) -> None:
    """An upload lies beside the store and is given up afterwards, so that another name for it will do."""
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, target)


def _inspected(path: Path) -> CheckpointFacts:
    try:
        facts = inspect_confined(path, most_unpacked_bytes=2 * settings.MAX_CHECKPOINT_BYTES)
    except ModelRefusedError as error:
        raise FieldErrors({FIELD: [str(error)]}) from None
    if problem := too_large(what="The checkpoint", weights_bytes=facts.weights_bytes):
        raise FieldErrors({FIELD: [problem]})
    return facts
