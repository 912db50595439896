"""Obtaining the files of a published benchmark, which are not part of this repository: pinned, verified and written
atomically.

This module does not use the network: callers pass a function that downloads a file.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
"""Written last to a folder of fetched files: their digests by name, and their origin."""


class FetchError(Exception):
    """The files could not be obtained; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A released file: its name, its address, and its digest."""

    name: str
    """Path in the folder of fetched files, with `/` as separator."""
    base: str
    """Address of its folder, without a trailing slash."""
    sha256: str
    bytes: int
    served_as: str = ""
    """Path at `base`, if it differs from the name."""

    @property
    def url(self) -> str:
        """The address of the file."""
        return f"{self.base}/{self.served_as or self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The files of a benchmark at a commit. All of them are needed."""

    name: str
    """The name for `planarena suites fetch`, and of its folder."""
    origin: str
    """Address of the repository."""
    commit: str
    files: tuple[PublicFile, ...]

    @property
    def folder(self) -> Path:
        """The data folder of the fetched files."""
        return data_folder(self.name)

    def fetch(self, *, download: Callable[[PublicFile], bytes], target: Path) -> Mapping[str, str]:
        """Download all files to `target`; nothing is written unless all of them match.

        Args:
            download: returns the content of `file.url`, or raises `FetchError`.
            target: the folder, created if necessary.

        Returns:
            SHA-256 of each file by name.

        Raises:
            FetchError: a file could not be obtained, or differs from the released one.
        """
        contents = {file.name: verified(file=file, content=download(file), origin=file.url) for file in self.files}
        return self._write(contents=contents, target=target, origin=f"{self.origin} at {self.commit}")

    def take(self, *, folder: Path, target: Path) -> Mapping[str, str]:
        """Copy the files from a folder to `target`; nothing is written unless all of them match.

        Raises:
            FetchError: a file is missing, or differs from the released one.
        """
        contents = {
            file.name: verified(file=file, content=read(folder / file.name), origin=str(folder / file.name))
            for file in self.files
        }
        return self._write(contents=contents, target=target, origin="a folder")

    def problem_of(self, folder: Path) -> str | None:
        """Why the fetched files in a folder cannot be used, as a sentence; None if they can."""
        again = f"run `planarena suites fetch {self.name}`"
        if not (folder / MANIFEST).exists():
            return f"{folder} holds no fetched files; {again}"
        try:
            damaged = [file.name for file in self.files if digest(read(folder / file.name)) != file.sha256]
        except FetchError as error:
            return f"{error}; {again} again"
        if damaged:
            return f"{folder / damaged[0]} was changed after it was fetched; {again} again"
        return None

    def fetched_folder(self) -> Path | None:
        """The folder with the fetched files if they are complete and undamaged, else None."""
        return self.folder if self.problem_of(self.folder) is None else None

    def _write(self, *, contents: Mapping[str, bytes], target: Path, origin: str) -> dict[str, str]:
        facts = {"version": f"{self.name}/1", "origin": origin, "commit": self.commit}
        return write_files(contents=contents, target=target, facts=facts)


def data_folder(name: str) -> Path:
    """The folder of a benchmark's files: `suites/<name>` in `PLANARENA_DATA`, or in `.data` if that is not set."""
    return Path(os.environ.get("PLANARENA_DATA", ".data")) / "suites" / name


def verified(*, file: PublicFile, content: bytes, origin: str) -> bytes:
    """The content, after comparison with the released file.

    Raises:
        FetchError: it differs; the message has both digests.
    """
    if digest(content) == file.sha256:
        return content
    raise FetchError(
        f"{origin} is not the released {file.name}: {len(content)} bytes with SHA-256 {digest(content)}, "
        f"but the released file has {file.bytes} bytes with SHA-256 {file.sha256}"
    )


def write_files(*, contents: Mapping[str, bytes], target: Path, facts: Mapping[str, str]) -> dict[str, str]:
    """Write each file atomically, and then the manifest.

    Returns:
        SHA-256 of each file by name.

    Raises:
        FetchError: the folder cannot be written.
    """
    digests = {name: digest(content) for name, content in contents.items()}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            _replace(path=target / name, content=content)
        manifest = json.dumps({**facts, "files": digests}, indent=1) + "\n"
        _replace(path=target / MANIFEST, content=manifest.encode())
    except OSError as error:
        raise FetchError(f"{error.filename or target} cannot be written: {error.strerror or error}") from None
    return digests


def read(path: Path) -> bytes:
    """Read a file.

    Raises:
        FetchError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FetchError(f"{path} cannot be read: {error.strerror or error}") from None


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _replace(*, path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
