"""Getting ControlLLM's released files: pinned, verified, and never half-written. They are no part of this repository.

Tool100 and Tool2K are files of github.com/OpenGVLab/ControlLLM, folder `eval_data`, at the commit that added them. The
gold decompositions of Tool2K were removed a day later and are still there under that commit. This module knows no
network: whoever calls it gives what reads an address.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.suites.toolbench.released.files import (
    TOOL2K,
    TOOL2K_GOLD,
    TOOL2K_GOLD_EVEN,
    TOOL100,
    SuiteFileError,
    read_tool2k,
)

COMMIT = "0dfe4a1d31b6e515d1ab9c1655d0d5b6515e30f0"
"""Tool100 and Tool2K are byte for byte the same at the newest commit (9013d4d)."""
MANIFEST = "manifest.json"
_VERSION = "controlllm/1"
_AGAIN = "run `planarena suites fetch controlllm`"


class FetchError(Exception):
    """The files could not be had; the message is one sentence for the person who asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A released file: its name and what its bytes must be."""

    name: str
    sha256: str
    bytes: int

    @property
    def url(self) -> str:
        """Where GitHub serves it."""
        return f"https://raw.githubusercontent.com/OpenGVLab/ControlLLM/{COMMIT}/eval_data/{self.name}"


FILES = (
    PublicFile(name=TOOL100, sha256="eb27cd84812968a1117b339be73fd0162774bd997b2bd7a5d50174cc882d0cb2", bytes=148_319),
    PublicFile(name=TOOL2K, sha256="c3776b79f3e6f047d87ac5d0d6a0ed030b17081604a9cd87d273a53f2a2261fa", bytes=539_744),
    PublicFile(
        name=TOOL2K_GOLD, sha256="67995dced2d025b14a4ba49a1006fd516dad3f5832db2c78a63c6f15b7253a21", bytes=2_607_026
    ),
)


def suite_folder() -> Path:
    """Where fetched files belong: `suites/controlllm` in `PLANARENA_DATA`, or in `.data` where that is not set."""
    return Path(os.environ.get("PLANARENA_DATA", ".data")) / "suites" / "controlllm"


def fetch(*, download: Callable[[PublicFile], bytes], target: Path) -> Mapping[str, str]:
    """Download all released files into `target`; only when every one is right is anything written.

    Args:
        download: gives the bytes that `file.url` serves, or raises `FetchError`.
        target: the folder, made if need be.

    Returns:
        SHA-256 of each file by its name.

    Raises:
        FetchError: a file could not be had, or is not the released one.
    """
    contents: dict[str, bytes] = {}
    for file in FILES:
        contents[file.name] = _verified(file=file, content=download(file), origin=file.url)
    return _write(contents=contents, target=target, origin=f"https://github.com/OpenGVLab/ControlLLM at {COMMIT}")


def take(*, folder: Path, target: Path) -> Mapping[str, str]:
    """Copy the released files from a folder into `target`; only when every one is right is anything written.

    In place of the whole gold of Tool2K the folder may hold `tool2k_gold_even.json` with a part of it, whose digest is
    not known beforehand and is only recorded.

    Raises:
        FetchError: a file is missing, or is not the released one.
    """
    contents: dict[str, bytes] = {}
    for file in FILES:
        path = folder / file.name
        if file.name == TOOL2K_GOLD and not path.exists() and (folder / TOOL2K_GOLD_EVEN).exists():
            contents[TOOL2K_GOLD_EVEN] = _partial_gold(folder)
        else:
            contents[file.name] = _verified(file=file, content=_read(path), origin=str(path))
    return _write(contents=contents, target=target, origin="a folder")


def fetched_folder() -> Path | None:
    """The folder with fetched files, all there and undamaged, or None; `problem_of_fetched` says why."""
    return suite_folder() if problem_of_fetched() is None else None


def problem_of_fetched() -> str | None:
    """Why there are no fetched files to use, as a sentence, or None if there are."""
    return problem_of(suite_folder())


def problem_of(folder: Path) -> str | None:
    """Why the files that were fetched into a folder cannot be used, as a sentence, or None if they can."""
    if not (folder / MANIFEST).exists():
        return f"{folder} holds no fetched files; {_AGAIN}"
    try:
        recorded = _recorded(folder / MANIFEST)
        damaged = sorted(name for name, digest in recorded.items() if _digest(_read(folder / name)) != digest)
    except FetchError as error:
        return f"{error}; {_AGAIN} again"
    if damaged:
        return f"{folder / damaged[0]} was changed after it was fetched; {_AGAIN} again"
    return None


def gold_file(folder: Path) -> Path | None:
    """The file with gold decompositions of Tool2K in a folder: the whole one, else a part, else None."""
    candidates = (folder / TOOL2K_GOLD, folder / TOOL2K_GOLD_EVEN)
    return next((path for path in candidates if path.is_file()), None)


def _partial_gold(folder: Path) -> bytes:
    """A part of the gold, which has no known digest: at least its rows belong to the requests."""
    try:
        read_tool2k(folder / TOOL2K, folder / TOOL2K_GOLD_EVEN)
    except SuiteFileError as error:
        raise FetchError(str(error)) from None
    return _read(folder / TOOL2K_GOLD_EVEN)


def _recorded(manifest: Path) -> dict[str, str]:
    """Digests by file name, from a manifest that names at least the requests and one gold."""
    try:
        files = json.loads(_read(manifest))["files"]
        names = set(files)
    except (ValueError, KeyError, TypeError):
        raise FetchError(f"{manifest} is damaged") from None
    if not isinstance(files, dict) or not names >= {TOOL100, TOOL2K} or not names & {TOOL2K_GOLD, TOOL2K_GOLD_EVEN}:
        raise FetchError(f"{manifest} does not name all files")
    return files


def _verified(*, file: PublicFile, content: bytes, origin: str) -> bytes:
    if _digest(content) == file.sha256:
        return content
    raise FetchError(
        f"{origin} is not the released {file.name}: {len(content)} bytes with SHA-256 {_digest(content)}, "
        f"but the released file has {file.bytes} bytes with SHA-256 {file.sha256}"
    )


def _write(*, contents: Mapping[str, bytes], target: Path, origin: str) -> dict[str, str]:
    """Each file appears whole or not at all; the manifest comes last, so that it never promises what is not there."""
    digests = {name: _digest(content) for name, content in contents.items()}
    manifest = {"version": _VERSION, "origin": origin, "commit": COMMIT, "files": digests}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            _replace(path=target / name, content=content)
        _replace(path=target / MANIFEST, content=(json.dumps(manifest, indent=1) + "\n").encode())
        _remove(target / name for name in {TOOL2K_GOLD, TOOL2K_GOLD_EVEN} - set(contents))
    except OSError as error:
        raise FetchError(f"{error.filename or target} cannot be written: {error.strerror or error}") from None
    return digests


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


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FetchError(f"{path} cannot be read: {error.strerror or error}") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
