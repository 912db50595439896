"""Files that an operator provides, because the site cannot fetch them or they are too large.

Their folder has the suite's name and is in `PLANARENA_LUMOS_DATA`, or among the fetched files (`suites` in
`PLANARENA_DATA`).
"""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evaluator.network.released_files import data_folder

VARIABLE = "PLANARENA_LUMOS_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """The operator's files of one suite."""

    suite: str
    files: tuple[str, ...]
    """Required files and folders, as paths in the suite's folder."""
    origin: str
    """Description and source of the files, as the object of a sentence."""

    @property
    def folder(self) -> Path:
        """The suite's folder."""
        root = os.environ.get(VARIABLE)
        return Path(root) / self.suite if root else data_folder(self.suite)

    def path(self, name: str) -> Path:
        """Path of one of the files."""
        return self.folder / name

    def is_here(self) -> bool:
        """Whether all files exist."""
        return all(self.path(name).exists() for name in self.files)

    def check(self) -> None:
        """Raises:
        LookupError: a file is missing; the message says where it belongs.
        """
        for name in self.files:
            if not self.path(name).exists():
                raise LookupError(
                    f"{self.suite} is unavailable: {self.path(name)} is missing. Mount {self.origin} there, or name "
                    f"another folder with a folder {self.suite} by {VARIABLE}."
                )


def digest_of(path: Path) -> str:
    """SHA-256 of a file, cached until its size or modification time changes.

    Raises:
        LookupError: the file cannot be read.
    """
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise LookupError(f"{path} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=8192)
def _digest(path: Path, size: int, changed: int) -> str:
    del size, changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
