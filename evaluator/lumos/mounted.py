"""Files that an operator provides, since they cannot be fetched by the site or are too large for it.

They belong in a folder with the suite's name: in the folder that `PLANARENA_LUMOS_DATA` names, or among the fetched
files (`suites` in `PLANARENA_DATA`).
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
    """Paths of files and folders in the suite's folder. All of them are needed."""
    origin: str
    """What they are and where they are published, as the end of a sentence."""

    @property
    def folder(self) -> Path:
        """Where they belong."""
        named = os.environ.get(VARIABLE)
        return Path(named) / self.suite if named else data_folder(self.suite)

    def path(self, name: str) -> Path:
        """Of one of the files."""
        return self.folder / name

    def is_here(self) -> bool:
        """Whether all of them are there."""
        return all(self.path(name).exists() for name in self.files)

    def check(self) -> None:
        """Raises:
        LookupError: a file is missing; the message says where which file belongs.
        """
        for name in self.files:
            if not self.path(name).exists():
                raise LookupError(
                    f"{self.suite} is unavailable: {self.path(name)} is missing. Mount {self.origin} there, or name "
                    f"another folder with a folder {self.suite} by {VARIABLE}."
                )


def digest_of(path: Path) -> str:
    """SHA-256 of a file, computed again only if its size or time changes.

    Raises:
        LookupError: it cannot be read.
    """
    try:
        facts = path.stat()
        return _digest(path, facts.st_size, facts.st_mtime_ns)
    except OSError as error:
        raise LookupError(f"{path} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=8192)
def _digest(path: Path, size: int, changed: int) -> str:
    del size, changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
