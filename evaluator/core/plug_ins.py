"""Packages that add something by an entry point: which package it is, and what its files are."""

import hashlib
from functools import lru_cache
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

from evaluator.core import canonical_json

_CACHES = "__pycache__"


def package_of(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution that declares an entry point."""
    return ("unknown", "0") if point.dist is None else (point.dist.name, point.dist.version)


def top_of(module: str) -> str:
    """The top-level package of a module."""
    return module.partition(".")[0]


def digest_of_files(package: str, *, of: str) -> str:
    """SHA-256 over the paths and contents of a top-level package's files, except compiled ones. Imports nothing of it.

    Not over the distribution's list of files, which has no code of editable installations.

    Args:
        package: name of the package.
        of: what it adds, as the beginning of a message.

    Raises:
        LookupError: its files cannot be read.
    """
    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:
        raise LookupError(f"{of}: {package} cannot be found: {error}") from error
    if spec is None:
        raise LookupError(f"{of}: its entry point names the module {package}, which is not installed")
    if spec.submodule_search_locations is None:
        files = {spec.name: Path(spec.origin or "")}
    else:
        roots = [Path(root) for root in spec.submodule_search_locations]
        files = {
            f"{number}/{path.relative_to(root).as_posix()}": path
            for number, root in enumerate(roots)
            for path in root.rglob("*")
            if path.is_file() and _CACHES not in path.parts
        }
    try:
        digests = {relative: _file_digest(path) for relative, path in files.items()}
    except OSError as error:
        raise LookupError(f"{of}: the files of {package} cannot be read: {error}") from error
    if not digests:
        raise LookupError(f"{of}: {package} has no files that can be read; install it unpacked")
    return canonical_json.digest(dict(digests))


def _file_digest(path: Path) -> str:
    facts = path.stat()
    return _remembered_digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4096)
def _remembered_digest(path: Path, _size: int, _changed: int) -> str:
    """Packages may contain weights of gigabytes, and profiles are read for every request of a board."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
