"""Uploaded checkpoints: receiving, storing by digest, and removing them.

They are private to their owners and never served to browsers. Their store is separate from those of artefacts.
"""

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.private_files import private_folder
from evaluator.sandbox.admission.checkpoint_zip import CheckpointFacts, inspect_confined
from evaluator.sandbox.admission.rules import ModelRefusedError
from leaderboard.people.models import User
from leaderboard.planners.checkpoint_stores import Checkpoints, CheckpointStore, bucket_of
from leaderboard.planners.kinds.language_models import too_large
from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.problems import FieldErrors


class ReceivedFile(TemporaryUploadedFile):
    """An uploaded file on disk."""

    digest: str
    """SHA-256 of its bytes."""
    too_large: bool
    """Whether it exceeds the limit; the bytes beyond it were not written."""


class BoundedUpload(TemporaryFileUploadHandler):
    """Writes an upload to a temporary file, up to the size limit."""

    file: ReceivedFile

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        assert self.file_name is not None
        self.file = ReceivedFile(self.file_name, self.content_type, 0, self.charset, self.content_type_extra)
        self._hash, self._received = hashlib.sha256(), 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002 - the base class's
        self._received += len(raw_data)
        if self._received <= settings.MAX_CHECKPOINT_BYTES:
            self._hash.update(raw_data)
            self.file.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        self.file.seek(0)
        self.file.size = file_size
        self.file.digest = self._hash.hexdigest()
        self.file.too_large = self._received > settings.MAX_CHECKPOINT_BYTES
        return self.file


FIELD = "file"
"""Field of errors in an upload."""


class TooLargeError(Exception):
    """The upload exceeds the size limit; the message is a sentence."""

    def __init__(self) -> None:
        super().__init__(f"A checkpoint's zip has at most {settings.MAX_CHECKPOINT_BYTES} bytes here.")


def checkpoint_store() -> Checkpoints:
    """The store of uploaded checkpoints. Only the workers' API serves them."""
    if settings.STORE_URL:
        return bucket_of(settings.STORE_URL, scratch=Path(settings.UPLOADS_DIR))
    return CheckpointStore(private_folder(settings.STORE_DIR / "checkpoints"))


def keep_upload(*, owner: User, file: ReceivedFile) -> CheckpointUpload:
    """`keep_file` for a zip that was uploaded with a form.

    Raises:
        TooLargeError: it exceeds the size limit.
        FieldErrors: as `keep_file`.
    """
    if file.too_large:
        raise TooLargeError
    return keep_file(owner=owner, path=Path(file.temporary_file_path()), digest=file.digest)


def keep_file(*, owner: User, path: Path, digest: str) -> CheckpointUpload:
    """Check an uploaded zip and store it for its owner's next submission.

    Before: nothing.
    After: the store has the file, and a row names it; a repeated upload uses the same row.

    Raises:
        FieldErrors: it cannot be evaluated here, or the owner has too many unused uploads; nothing was stored.
    """
    facts = _inspected(path)
    if settings.STORE_URL:
        # Before taking the lock, since the network may be slow. The call below then finds the file.
        checkpoint_store().take(path=path, digest=digest)
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
    """The owner's upload with this digest, which is about to be submitted. Renews its time until deletion."""
    uploads = CheckpointUpload.objects.filter(owner=owner, digest=digest)
    return uploads.first() if uploads.update(wanted_at=Now()) else None


def remove_unused() -> int:
    """Delete uploads of more than a day ago that no planner uses. Returns their number.

    Before: nothing; concurrent runs are safe.
    After: none of these has a row, and the store has no file without a row.
    """
    long_ago = Now() - timedelta(hours=settings.UNUSED_CHECKPOINT_HOURS)
    with transaction.atomic():
        lock_until_commit(Lock.CHECKPOINT_STORE)
        old = _unused(CheckpointUpload.objects.filter(wanted_at__lt=long_ago))
        digests = list(old.values_list("digest", flat=True))
        # With the same condition: submitting in the meantime has updated `wanted_at`.
        count, _ = _unused(CheckpointUpload.objects.filter(digest__in=digests, wanted_at__lt=long_ago)).delete()
        left = set(CheckpointUpload.objects.filter(digest__in=digests).values_list("digest", flat=True))
        for digest in set(digests) - left:
            checkpoint_store().remove(digest)
    return count


def remove_unnamed() -> int:
    """Delete files that belong to no upload. Returns their number.

    Before: nothing; concurrent runs are safe.
    After: every file of the store is named by an upload or by a planner whose owner has an account.
    """
    count = 0
    for digest in checkpoint_store().digests():
        with transaction.atomic():
            lock_until_commit(Lock.CHECKPOINT_STORE)
            planners = Planner.objects.filter(uses_checkpoint(digest), owner__deleted_at=None)
            if not (CheckpointUpload.objects.filter(digest=digest).exists() or planners.exists()):
                checkpoint_store().remove(digest)
                count += 1
    return count


def uses_checkpoint(digest: "str | OuterRef") -> Q:
    """Condition: planners with this checkpoint, as their model or as that of a role."""
    return Q(checkpoint_digest=digest) | Q(role_checkpoints__contains=[digest])


def _unused(uploads: "QuerySet[CheckpointUpload]") -> "QuerySet[CheckpointUpload]":
    of_planner = Planner.objects.filter(uses_checkpoint(OuterRef("digest")), owner=OuterRef("owner"))
    return uploads.filter(~Exists(of_planner))


def _inspected(path: Path) -> CheckpointFacts:
    try:
        facts = inspect_confined(path, most_unpacked_bytes=2 * settings.MAX_CHECKPOINT_BYTES)
    except ModelRefusedError as error:
        raise FieldErrors({FIELD: [str(error)]}) from None
    if problem := too_large(what="The checkpoint", weights_bytes=facts.weights_bytes):
        raise FieldErrors({FIELD: [problem]})
    return facts
