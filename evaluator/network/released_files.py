"""Getting the files of a published benchmark: pinned, verified and written whole. They are no part of this repository.

This module knows no network: callers pass a function that reads an address.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
"""Written last into a folder of fetched files: their digests by name, and where they are from."""


class FetchError(Exception):
    """The files could not be obtained; the message is one sentence for the person who asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A released file: its name, the folder it is served from, and what its bytes must be."""

    name: str
    """Its path in the folder of fetched files, in which `/` separates folders."""
    base: str
    """Address of the folder, without a slash at the end."""
    sha256: str
    bytes: int
    served_as: str = ""
    """Its path at `base`, if that is not its name."""

    @property
    def url(self) -> str:
        """Where the file is served."""
        return f"{self.base}/{self.served_as or self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The files of one benchmark at one commit. All of them are needed."""

    name: str
    """What `planarena suites fetch` calls it, and the name of its folder."""
    origin: str
    """Address of the repository."""
    commit: str
    files: tuple[PublicFile, ...]

    @property
    def folder(self) -> Path:
        """Where the fetched files belong."""
        return data_folder(self.name)

    def fetch(self, *, download: Callable[[PublicFile], bytes], target: Path) -> Mapping[str, str]:
        """Download all files into `target`; nothing is written unless every one is the released one.

        Args:
            download: returns the bytes served at `file.url`, or raises `FetchError`.
            target: the folder, made if need be.

        Returns:
            SHA-256 of each file by its name.

        Raises:
            FetchError: a file could not be obtained, or is not the released one.
        """
        contents = {
            file.name: verified(file=file, content=download(file), origin=file.url) for file in self.files
        }  # fmt: skip
        return self._write(contents=contents, target=target, origin=f"{self.origin} at {self.commit}")

    def take(self, *, folder: Path, target: Path) -> Mapping[str, str]:
        """Copy the files from a folder into `target`; nothing is written unless every one is the released one.

        Raises:
            FetchError: a file is missing, or is not the released one.
        """
        contents = {
            file.name: verified(file=file, content=read(folder / file.name), origin=str(folder / file.name))
            for file in self.files
        }
        return self._write(contents=contents, target=target, origin="a folder")

    def problem_of(self, folder: Path) -> str | None:
        """Why the files fetched into a folder cannot be used, as a sentence, or None if they can."""
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
        """The folder with the fetched files, complete and undamaged, or None."""
        return self.folder if self.problem_of(self.folder) is None else None

    def _write(self, *, contents: Mapping[str, bytes], target: Path, origin: str) -> dict[str, str]:
        facts = {"version": f"{self.name}/1", "origin": origin, "commit": self.commit}
        return write_files(contents=contents, target=target, facts=facts)


def data_folder(name: str) -> Path:
    """Where a benchmark's files belong: `suites/<name>` in `PLANARENA_DATA`, or in `.data` where that is not set."""
    return Path(os.environ.get("PLANARENA_DATA", ".data")) / "suites" / name


def verified(*, file: PublicFile, content: bytes, origin: str) -> bytes:
    """The content, if it is that of the released file.

    Raises:
        FetchError: it is not; the message has both digests.
    """
    if digest(content) == file.sha256:
        return content
    raise FetchError(
        f"{origin} is not the released {file.name}: {len(content)} bytes with SHA-256 {digest(content)}, "
        f"but the released file has {file.bytes} bytes with SHA-256 {file.sha256}"
    )


def write_files(*, contents: Mapping[str, bytes], target: Path, facts: Mapping[str, str]) -> dict[str, str]:
    """Write files, each whole or not at all, and then their manifest.

    Returns:
        SHA-256 of each file by its name.

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
    """The bytes of a file.

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
