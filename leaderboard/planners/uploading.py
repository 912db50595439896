"""Taking uploaded files: bounded, and with their digest computed while they come in."""

import hashlib
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler


class ReceivedFile(TemporaryUploadedFile):
    """An uploaded file on disk."""

    digest: str
    """SHA-256 of its bytes."""
    too_large: bool
    """Whether it has more bytes than are taken; those beyond were not written."""


class BoundedUpload(TemporaryFileUploadHandler):
    """Writes an upload to a temporary file, but never more than the largest that is taken."""

    file: ReceivedFile

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin with a file."""
        super().new_file(*args, **kwargs)
        assert self.file_name is not None
        self.file = ReceivedFile(self.file_name, self.content_type, 0, self.charset, self.content_type_extra)
        self._hash, self._received = hashlib.sha256(), 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002 - the base class's
        """Take a piece of it."""
        self._received += len(raw_data)
        if self._received <= settings.MAX_CHECKPOINT_BYTES:
            self._hash.update(raw_data)
            self.file.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        """Hand it on."""
        self.file.seek(0)
        self.file.size = file_size
        self.file.digest = self._hash.hexdigest()
        self.file.too_large = self._received > settings.MAX_CHECKPOINT_BYTES
        return self.file
