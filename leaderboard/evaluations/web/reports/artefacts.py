"""Artefacts of a report in a folder: read only, by their digest, and never from outside the folder."""

import os
import stat
from pathlib import Path

from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ENDINGS, ObjectDamagedError, ObjectMissingError, is_digest

MOST_BYTES = 64 * 1024 * 1024
"""Of one artefact."""


class FolderArtefacts:
    """Artefacts in the layout of a store (`LocalStore`). Writes nothing, follows no link, and verifies digests: a
    stranger made the folder."""

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: with `objects/ab/cdef....png`; may be missing.
        """
        self._folder = folder

    def exists(self) -> bool:
        """Whether the folder has any objects."""
        return (self._folder / "objects").is_dir()

    def get(self, digest: str) -> Artefact:
        """The artefact with this digest.

        Raises:
            ObjectMissingError: there is none in the folder, or only a link or a file that is too large.
            ObjectDamagedError: its bytes have another digest.
        """
        for media_type, ending in ENDINGS.items() if is_digest(digest) else ():
            data = self._read("objects", digest[:2], f"{digest[2:]}{ending}")
            if data is not None:
                artefact = Artefact(data=data, media_type=media_type)
                if artefact.digest != digest:
                    raise ObjectDamagedError(f"the object {digest} has the digest {artefact.digest}")
                return artefact
        raise ObjectMissingError(f"the folder has no object {digest}")

    def _read(self, *names: str) -> bytes | None:
        """The bytes of a regular file that is reached without a link."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opened: list[int] = []
        try:
            # The folder itself may be a link: its owner named it.
            opened.append(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for name in names:
                opened.append(os.open(name, flags, dir_fd=opened[-1]))
            facts = os.fstat(opened[-1])
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
                return None
            with os.fdopen(opened.pop(), "rb") as file:
                return file.read(MOST_BYTES + 1)
        except OSError:
            return None
        finally:
            for descriptor in opened:
                os.close(descriptor)


def media_type_of(artefact: Artefact) -> str:
    """The content type under which an artefact is sent."""
    return MediaType(artefact.media_type).value
