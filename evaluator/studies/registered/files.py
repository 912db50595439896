"""Bounded reading within a folder, and manifests of files. Study folders come from strangers."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from evaluator.core import canonical_json

LARGEST_FILE = 32 * 1024 * 1024
"""Bytes of a file of a study."""
ROOT = Path(__file__).resolve().parents[3]
"""The folder that contains the package; in a checkout the repository."""
_CODE = frozenset({".py", ".toml"})
_LONGEST_PATH = 300


class StudyError(Exception):
    """A study cannot be read, or something is not as it was signed; the message is a sentence without a full stop."""


def inside(folder: Path, name: str) -> Path:
    """The path of a name within a folder.

    Raises:
        StudyError: the name is absolute, goes upwards, or leads outside through a link.
    """
    parts = PurePosixPath(name).parts
    if (
        not name
        or len(name) > _LONGEST_PATH
        or PurePosixPath(name).is_absolute()
        or ".." in parts
        or re.search(r"[\x00-\x1f\\]", name)
    ):
        raise StudyError(f"{name[:80]!r} is no path within the folder")
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise StudyError(f"{name[:80]!r} leads out of the folder")
    return path


def read(folder: Path, name: str) -> bytes:
    """The content of a file within a folder.

    Raises:
        StudyError: there is no such file, or it is larger than `LARGEST_FILE`.
    """
    path = inside(folder, name)
    try:
        if not path.is_file():
            raise StudyError(f"{name} is missing")
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise StudyError(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise StudyError(f"{name} is larger than {LARGEST_FILE // 1024**2} MiB")
    return content


def digest_of(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


Manifest = Mapping[str, str]
"""SHA-256 of each file by its path."""


def manifest(*, root: Path, paths: Sequence[str]) -> dict[str, str]:
    """The code in some files and folders: every Python and TOML file.

    Args:
        root: the folder that the paths are relative to.
        paths: files, whatever their type, and folders.

    Raises:
        StudyError: a path leads outside, or does not exist.
    """
    found: dict[str, str] = {}
    for name in paths:
        path = inside(root, name)
        if not path.exists():
            raise StudyError(f"there is no {name} in {root.name}")
        for file in [path] if path.is_file() else _files(path, root=root.resolve()):
            found[file.relative_to(root).as_posix()] = digest_of(file.read_bytes())
    return dict(sorted(found.items()))


def _files(folder: Path, *, root: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        is_code = file.suffix in _CODE and "__pycache__" not in file.parts and file.is_file()
        if is_code and file.resolve().is_relative_to(root):
            yield file


def manifest_bytes(found: Manifest) -> bytes:
    """A manifest as it is stored."""
    return as_bytes(dict(found))


def manifest_digest(found: Manifest) -> str:
    """Digest of a manifest as it is stored."""
    return digest_of(manifest_bytes(found))


def differences(*, before: Manifest, after: Manifest) -> list[str]:
    """Paths of files that were added, removed or changed."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def as_bytes(value: object) -> bytes:
    """A JSON document of a study as it is stored: sorted, with a line for each value, so that Git shows changes."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    canonical_json.loads(text.encode())
    return text.encode()


def json_of(folder: Path, name: str) -> canonical_json.JsonValue:
    """A JSON file within a folder.

    Raises:
        StudyError: it cannot be read, or is not JSON that all readers interpret alike.
    """
    try:
        return canonical_json.loads(read(folder, name))
    except ValueError as error:
        raise StudyError(f"{name} {error}") from None
