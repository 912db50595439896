"""Fetches ControlLLM's released files, pinned and verified. They are not part of this repository.

Tool100 and Tool2K are files of github.com/OpenGVLab/ControlLLM, folder `eval_data`, at the commit that added them. The
gold decompositions of Tool2K were removed a day later and are still available at that commit. The caller supplies the
download function, so this module needs no network client.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.controlllm.toolbench.released.files import (
    TOOL2K,
    TOOL2K_GOLD,
    TOOL2K_GOLD_EVEN,
    TOOL100,
    SuiteFileError,
    read_tool2k,
)
from evaluator.network.released_files import (
    MANIFEST,
    FetchError,
    PublicFile,
    data_folder,
    digest,
    read,
    verified,
    write_files,
)

COMMIT = "0dfe4a1d31b6e515d1ab9c1655d0d5b6515e30f0"
"""Tool100 and Tool2K are byte-identical at the newest commit (9013d4d)."""
BASE = f"https://raw.githubusercontent.com/OpenGVLab/ControlLLM/{COMMIT}/eval_data"
_VERSION = "controlllm/1"
_AGAIN = "run `planarena suites fetch controlllm`"

FILES = tuple(
    PublicFile(name=name, base=BASE, sha256=sha256, bytes=size)
    for name, sha256, size in (
        (TOOL100, "eb27cd84812968a1117b339be73fd0162774bd997b2bd7a5d50174cc882d0cb2", 148_319),
        (TOOL2K, "c3776b79f3e6f047d87ac5d0d6a0ed030b17081604a9cd87d273a53f2a2261fa", 539_744),
        (TOOL2K_GOLD, "67995dced2d025b14a4ba49a1006fd516dad3f5832db2c78a63c6f15b7253a21", 2_607_026),
    )
)


def suite_folder() -> Path:
    """The folder of fetched files: `suites/controlllm` in `PLANARENA_DATA` (default: `.data`)."""
    return data_folder("controlllm")


def fetch(*, download: Callable[[PublicFile], bytes], target: Path) -> Mapping[str, str]:
    """Download all released files into `target`; nothing is written unless all of them are valid.

    Args:
        download: returns the bytes that `file.url` serves, or raises `FetchError`.
        target: the folder; created if necessary.

    Returns:
        SHA-256 of each file by name.

    Raises:
        FetchError: the download of a file failed, or a file is not the released one.
    """
    contents = {file.name: verified(file=file, content=download(file), origin=file.url) for file in FILES}
    return _write(contents=contents, target=target, origin=f"https://github.com/OpenGVLab/ControlLLM at {COMMIT}")


def take(*, folder: Path, target: Path) -> Mapping[str, str]:
    """Copy the released files from a folder into `target`; nothing is written unless all of them are valid.

    Instead of the whole gold of Tool2K the folder may have a part of it, `tool2k_gold_even.json`. Its digest is not
    known beforehand and is only recorded.

    Raises:
        FetchError: a file is missing, or is not the released one.
    """
    contents: dict[str, bytes] = {}
    for file in FILES:
        path, part = folder / file.name, folder / TOOL2K_GOLD_EVEN
        if file.name == TOOL2K_GOLD and not path.exists() and part.exists():
            try:
                read_tool2k(folder / TOOL2K, part)
            except SuiteFileError as error:
                raise FetchError(str(error)) from None
            contents[TOOL2K_GOLD_EVEN] = read(part)
        else:
            contents[file.name] = verified(file=file, content=read(path), origin=str(path))
    return _write(contents=contents, target=target, origin="a folder")


def fetched_folder() -> Path | None:
    """The folder of fetched files, complete and undamaged; else None, and `problem_of_fetched` gives the reason."""
    return suite_folder() if problem_of_fetched() is None else None


def problem_of_fetched() -> str | None:
    """Why no fetched files can be used, as a sentence; None if they can."""
    return problem_of(suite_folder())


def problem_of(folder: Path) -> str | None:
    """Why the fetched files of a folder cannot be used, as a sentence; None if they can."""
    if not (folder / MANIFEST).exists():
        return f"{folder} holds no fetched files; {_AGAIN}"
    try:
        recorded = _recorded(folder / MANIFEST)
        damaged = sorted(name for name, sha256 in recorded.items() if digest(read(folder / name)) != sha256)
    except FetchError as error:
        return f"{error}; {_AGAIN} again"
    if damaged:
        return f"{folder / damaged[0]} was changed after it was fetched; {_AGAIN} again"
    return None


def gold_file(folder: Path) -> Path | None:
    """The file with the gold decompositions of Tool2K in a folder: the whole, else a part, else None."""
    candidates = (folder / TOOL2K_GOLD, folder / TOOL2K_GOLD_EVEN)
    return next((path for path in candidates if path.is_file()), None)


def _recorded(manifest: Path) -> dict[str, str]:
    """Digests by file name, from a manifest that has the requests and a gold file."""
    try:
        files = json.loads(read(manifest))["files"]
        names = set(files)
    except (ValueError, KeyError, TypeError):
        raise FetchError(f"{manifest} is damaged") from None
    if not isinstance(files, dict) or not names >= {TOOL100, TOOL2K} or not names & {TOOL2K_GOLD, TOOL2K_GOLD_EVEN}:
        raise FetchError(f"{manifest} does not name all files")
    return files


def _write(*, contents: Mapping[str, bytes], target: Path, origin: str) -> dict[str, str]:
    facts = {"version": _VERSION, "origin": origin, "commit": COMMIT}
    digests = write_files(contents=contents, target=target, facts=facts)
    try:
        for name in {TOOL2K_GOLD, TOOL2K_GOLD_EVEN} - set(contents):
            (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise FetchError(f"{error.filename or target} cannot be removed: {error.strerror or error}") from None
    return digests
