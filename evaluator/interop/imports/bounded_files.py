"""Files, folders and zips of strangers: sizes, counts, names and depth are limited before anything is parsed."""

import hashlib
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from evaluator.interop.imports.run import RunError

MOST_BYTES = 1024**3
"""Of a run: of its file, or of all files of a folder that are read."""
MOST_MEMBER_BYTES = 64 * 1024**2
"""Of one JSON document, unpacked."""
MOST_UNPACKED_BYTES = 2 * 1024**3
"""Of all members of a zip that are read."""
MOST_FILES = 100_000
MOST_DEPTH = 200
"""Nested lists and objects of a document."""
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]', re.DOTALL)
"""Brackets, and texts as a whole."""
_PIECE = 1024 * 1024
_ZSTANDARD = 93


def file_bytes(path: Path, *, most: int = MOST_MEMBER_BYTES) -> bytes:
    """The content of a regular file, without following a link.

    Raises:
        RunError: it cannot be read, is no regular file, or is too large.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(opened, "rb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise RunError(f"{path} is no regular file.")
            data = file.read(most + 1)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > most:
        raise RunError(f"{path} is larger than {most:,} bytes, the most that are read.")
    return data


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in pieces; of a folder's result files it is that of their digests.

    Raises:
        RunError: it cannot be read or is too large.
    """
    if path.is_dir():
        listed = "".join(f"{sha256_of(file)}  {file.relative_to(path)}\n" for file in json_files(path))
        return hashlib.sha256(listed.encode()).hexdigest()
    digest, total = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                total += len(piece)
                if total > MOST_BYTES:
                    raise RunError(f"{path} is larger than {MOST_BYTES:,} bytes, the most that are read.")
                digest.update(piece)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}.") from None
    return digest.hexdigest()


def json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder and of those in it, sorted; links are not followed.

    Raises:
        RunError: there are too many, or they are too large together.
    """
    found: list[Path] = []
    total = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        if len(Path(place).relative_to(folder).parts) > 4:
            folders.clear()
        for name in sorted(names):
            file = Path(place) / name
            if file.suffix != ".json" or file.is_symlink():
                continue
            found.append(file)
            total += file.stat().st_size
            if len(found) > MOST_FILES or total > MOST_BYTES:
                raise RunError(f"{folder} has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes of JSON.")
    return found


def json_of(data: bytes, *, where: str) -> Any:
    """A JSON document. NaN and infinities, which some harnesses write, become null.

    Raises:
        RunError: it is no UTF-8, no JSON or nested too deeply.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{where} is no UTF-8 text.") from None
    check_depth(text, where=where)
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError:
        raise RunError(f"{where} is nested too deeply.") from None
    except ValueError as error:
        raise RunError(f"{where} is not JSON: {error}.") from None


def check_depth(text: str, *, where: str) -> None:
    """Refuse deeply nested JSON before it is parsed.

    Raises:
        RunError: it has more than `MOST_DEPTH` levels.
    """
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket[0], 0)
        if depth > MOST_DEPTH:
            raise RunError(f"{where} is nested too deeply.")


class BoundedZip:
    """The JSON members of a zip, each unpacked in memory and at most `MOST_MEMBER_BYTES` long."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            RunError: it is no zip, or has too many members.
        """
        if path.stat().st_size > MOST_BYTES:
            raise RunError(f"{path} is larger than {MOST_BYTES:,} bytes, the most that are read.")
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise RunError(f"{path} is no zip that can be read: {error}.") from None
        self._path, self._left = path, MOST_UNPACKED_BYTES
        members = self._zip.infolist()
        if len(members) > MOST_FILES:
            raise RunError(f"{path} has {len(members):,} members; at most {MOST_FILES:,} are read.")
        self.names = [member.filename for member in members if not member.is_dir()]
        if len(set(self.names)) < len(self.names):
            raise RunError(f"{path} has a member twice.")

    def __enter__(self) -> "BoundedZip":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def json(self, name: str) -> Any:
        """A member as JSON.

        Raises:
            RunError: there is none, it is damaged or too large, or no JSON.
        """
        return json_of(self._unpacked(name), where=f"{self._path.name}: {name}")

    def _unpacked(self, name: str) -> bytes:
        try:
            member = self._zip.getinfo(name)
        except KeyError:
            raise RunError(f"{self._path} has no {name}.") from None
        most = min(MOST_MEMBER_BYTES, self._left)
        try:
            if member.compress_type == _ZSTANDARD:
                data = _zstandard(self._raw(member), most=most)
            else:
                with self._zip.open(member) as opened:
                    # The size in the directory may be a lie: what counts is what comes out.
                    data = opened.read(most + 1)
        except (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise RunError(f"{self._path}: {name} cannot be unpacked: {error}.") from None
        if len(data) > most:
            raise RunError(f"{self._path}: {name} unpacks to more than {most:,} bytes, the most that are read.")
        self._left -= len(data)
        return data

    def _raw(self, member: zipfile.ZipInfo) -> bytes:
        """The packed bytes of a member, after its local header (APPNOTE 4.3.7)."""
        if member.compress_size > MOST_MEMBER_BYTES:
            raise zipfile.BadZipFile("it is too large")
        file: IO[bytes] = self._zip.fp  # type: ignore[assignment]  # open until `close`
        file.seek(member.header_offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("its local header is damaged")
        file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
        return file.read(member.compress_size)


def _zstandard(packed: bytes, *, most: int) -> bytes:
    """Unpack at most one byte more than allowed.

    Raises:
        RunError: this Python has no module for it.
        OSError: it is damaged.
    """
    for name, unpack in _ZSTANDARD_READERS:
        try:
            module = import_module(name)
        except ImportError:
            continue
        try:
            return unpack(module, packed, most + 1)
        except Exception as error:  # noqa: BLE001 - each module has an error class of its own
            raise OSError(str(error)) from None
    raise RunError(
        "The log is compressed with Zstandard, which this Python cannot read: `pip install zstandard`, or convert it "
        "with `inspect log convert --to json LOG --output-dir DIR`."
    )


def _by_zstandard(module: Any, packed: bytes, most: int) -> bytes:
    with module.ZstdDecompressor(max_window_size=2**27).stream_reader(packed) as reader:
        return b"".join(_pieces(reader.read, most))


def _by_standard_library(module: Any, packed: bytes, most: int) -> bytes:
    return bytes(module.ZstdDecompressor().decompress(packed, max_length=most))


def _by_pyarrow(module: Any, packed: bytes, most: int) -> bytes:
    with module.CompressedInputStream(module.BufferReader(packed), "zstd") as reader:
        return b"".join(_pieces(reader.read, most))


def _pieces(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    while most > 0 and (piece := read(min(most, _PIECE))):
        most -= len(piece)
        yield piece


_ZSTANDARD_READERS: tuple[tuple[str, Callable[[Any, bytes, int], bytes]], ...] = (
    ("compression.zstd", _by_standard_library),
    ("zstandard", _by_zstandard),
    ("pyarrow", _by_pyarrow),
)
"""Modules that unpack Zstandard: Python's own from 3.14, the package that Inspect installs, and one of sites."""
