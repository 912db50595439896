"""Files that others released and this repository does not contain: pinned, verified, and never half-written.

This module knows no network: whoever calls it passes what reads an address.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"


class FetchError(Exception):
    """The files could not be had; the message is one sentence for the person who asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A released file: where it is, and what its bytes must be."""

    name: str
    """In the data folder."""
    url: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The released files of one benchmark."""

    name: str
    """What `planarena suites fetch` calls it."""
    part: str
    """Its folder beside those of other releases under the same name."""
    origin: str
    files: tuple[PublicFile, ...]

    def folder(self) -> Path:
        """Where fetched files belong: in `suites` of `PLANARENA_DATA`, or of `.data` where that is not set."""
        return Path(os.environ.get("PLANARENA_DATA", ".data")) / "suites" / self.name / self.part

    def fetch(self, *, download: Callable[[PublicFile], bytes], target: Path) -> Mapping[str, str]:
        """Download the files into `target`; only when every one is right is anything written.

        Args:
            download: returns the bytes at `file.url`, or raises `FetchError`.
            target: the folder, made if need be.

        Returns:
            SHA-256 of each file by its name.

        Raises:
            FetchError: a file could not be had, or is not the released one.
        """
        contents = {file.name: verified(file, content=download(file), origin=file.url) for file in self.files}
        return write_files(contents, target=target, facts={"origin": self.origin})

    def take(self, *, folder: Path, target: Path) -> Mapping[str, str]:
        """Copy the files from a folder into `target`; only when every one is right is anything written.

        Raises:
            FetchError: a file is missing, or is not the released one.
        """
        contents = {}
        for file in self.files:
            path = folder / file.name
            contents[file.name] = verified(file, content=read_bytes(path), origin=str(path))
        return write_files(contents, target=target, facts={"origin": "a folder"})

    def problem(self) -> str | None:
        """Why there are no fetched files to use, as a sentence, or None if there are."""
        folder, again = self.folder(), f"run `planarena suites fetch {self.name}`"
        if not (folder / MANIFEST).exists():
            return f"{folder} holds no fetched files; {again}"
        try:
            for file in self.files:
                verified(file, content=read_bytes(folder / file.name), origin=str(folder / file.name))
        except FetchError as error:
            return f"{error}; {again} again"
        return None


def verified(file: PublicFile, *, content: bytes, origin: str) -> bytes:
    """The content, if it is the released one.

    Raises:
        FetchError: it is not.
    """
    if digest(content) == file.sha256:
        return content
    raise FetchError(
        f"{origin} is not the released {file.name}: {len(content)} bytes with SHA-256 {digest(content)}, "
        f"but the released file has {file.bytes} bytes with SHA-256 {file.sha256}"
    )


def write_files(contents: Mapping[str, bytes], *, target: Path, facts: Mapping[str, str]) -> dict[str, str]:
    """Write files and then their manifest, each whole or not at all.

    Returns:
        SHA-256 of each file by its name.

    Raises:
        FetchError: the folder cannot be written.
    """
    digests = {name: digest(content) for name, content in contents.items()}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            replace_file(path=target / name, content=content)
        manifest = json.dumps({**facts, "files": digests}, indent=1) + "\n"
        replace_file(path=target / MANIFEST, content=manifest.encode())
    except OSError as error:
        raise FetchError(f"{error.filename or target} cannot be written: {error.strerror or error}") from None
    return digests


def replace_file(*, path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
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


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        FetchError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FetchError(f"{path} cannot be read: {error.strerror or error}") from None


def digest(content: bytes) -> str:
    """SHA-256 as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
