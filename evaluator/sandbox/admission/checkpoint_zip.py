"""Checking and unpacking of a checkpoint as a zip. No torch.

Nothing in the archive is trusted: names, declared and real sizes, checksums, headers and settings are checked before
anything is unpacked. On a site this runs in a process with limits, since the zip determines the cost of reading it.
"""

import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from evaluator.sandbox.admission.rules import CONFIG, INDEX, ModelRefusedError, shards_named
from evaluator.sandbox.admission.safetensors_headers import (
    LENGTH_BYTES,
    Header,
    HeaderError,
    header_length,
    read_header,
)
from evaluator.sandbox.admission.settings_files import Read, check_settings, check_size
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call, serve

MOST_FILES = 200
_MOST_LISTING_BYTES = 1024 * 1024
"""Size of the central directory; for 200 files it has about ten thousand bytes."""
_MOST_RATIO = 20
"""Unpacked bytes per byte of the zip. Weights hardly compress; bfloat16 stored as float32 compresses to a half."""
_MOST_OUTSIDE_RATIO = 64 * 1024 * 1024
"""Unpacked bytes exempt from the ratio: small models, vocabularies, settings."""
_MOST_OTHER_BYTES = 512 * 1024 * 1024
"""Size of all files except the weights, whose size their headers declare."""
_LOCAL_HEADER_BYTES = 30
_ALLOWED = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|training|"
    r"chat_template)\.json|vocab\.txt|merges\.txt|chat_template\.jinja|[\w.-]+\.(model|tiktoken)|"
    r"model(-\d{1,5}-of-\d{1,5})?\.safetensors|model\.safetensors\.index\.json|"
    r"(README|LICENSE|LICENCE|NOTICE|card|USE_POLICY)(\.md|\.txt)?",
    re.ASCII,
)
_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".onnx", ".npz", ".npy")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LITTER = re.compile(r"__MACOSX/.*|(.*/)?(\._[^/]*|\.DS_Store)")
"""Files that file managers add to archives; ignored."""
_PIECE = 1024 * 1024
_END_OF_LISTING = struct.Struct("<4s4H2LH")
_MEMORY_BYTES = 1024**3
_LEAST_CPU_SECONDS = 30
_BYTES_PER_SECOND = 20_000_000
"""Reading rate of a zip; uncompressed weights are read ten times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """Facts about a checkpoint that passed all checks."""

    architecture: str
    files: int
    unpacked_bytes: int
    weights_bytes: int
    parameters: int


def is_accepted_name(name: str) -> bool:
    """Whether a checkpoint may have a file of this name."""
    return _ALLOWED.fullmatch(name) is not None


def inspect(path: Path, *, most_unpacked_bytes: int) -> CheckpointFacts:
    """Check an archive.

    Args:
        path: of the zip.
        most_unpacked_bytes: total size of its files.

    Raises:
        ModelRefusedError: it is not an accepted checkpoint; the message is a sentence that says why.
    """
    with _opened(path) as (archive, members):
        _check_sizes(members, most=most_unpacked_bytes, zip_bytes=path.stat().st_size)
        # Overlapping data: a few bytes of a zip could unpack to many files.
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
        ends = [info.header_offset for info in infos[1:]] + [archive.start_dir]
        for info, end in zip(infos, ends, strict=True):
            if info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size > end:
                raise ModelRefusedError(f"{info.filename[:80]!r} in the zip overlaps with what comes after it.")
        _check_names(members)
        headers = {
            name: _header(archive, member=member) for name, member in members.items() if _WEIGHTS.fullmatch(name)
        }
        if not headers:
            raise ModelRefusedError("The zip has no weights: put model.safetensors, or its parts with their index, in.")
        read = _reader(archive, members=members)
        _check_index(read, has=INDEX in members, headers=headers)
        if CONFIG not in members:
            raise ModelRefusedError(f"The zip has no {CONFIG}.")
        config = check_settings(read)
        for member in members.values():
            # ZipExtFile returns at most the declared size, and raises BadZipFile there if the checksum differs.
            received = 0
            with archive.open(member) as source:
                while piece := source.read(_PIECE):
                    received += len(piece)
            if received != member.file_size:
                raise ModelRefusedError(f"{member.filename[:80]!r} in the zip is shorter than the zip says.")
        return CheckpointFacts(
            architecture=config.architecture,
            files=len(members),
            unpacked_bytes=sum(member.file_size for member in members.values()),
            weights_bytes=sum(members[name].file_size for name in headers),
            parameters=sum(header.parameters for header in headers.values()),
        )


def inspect_confined(path: Path, *, most_unpacked_bytes: int, cpu_seconds: int | None = None) -> CheckpointFacts:
    """Like `inspect`, with limits on memory and CPU time.

    Args:
        path: of the zip.
        most_unpacked_bytes: total size of its files.
        cpu_seconds: None for a limit by the size of the zip.

    Raises:
        ModelRefusedError: it is not an accepted checkpoint, or reading it takes too much time or memory.
    """
    cpu = cpu_seconds or _LEAST_CPU_SECONDS + path.stat().st_size // _BYTES_PER_SECOND
    limits = Limits(memory_bytes=_MEMORY_BYTES, cpu_seconds=cpu, wall_seconds=3.0 * cpu)
    request: Any = {"path": str(path), "most_unpacked_bytes": most_unpacked_bytes}
    try:
        answer = call(__name__, request, limits=limits)
    except LimitExceededError as error:
        if error.what is Exceeded.TIME:
            text = f"Reading the zip takes more than {cpu} seconds of processor time."
        else:
            text = f"Reading the zip takes more than {_MEMORY_BYTES // 1024**2} MiB of memory."
        raise ModelRefusedError(text) from None
    if "refused" in answer:
        raise ModelRefusedError(answer["refused"])
    return CheckpointFacts(**answer["facts"])


def _facts(request: Any) -> Any:
    try:
        return {"facts": asdict(inspect(Path(request["path"]), most_unpacked_bytes=request["most_unpacked_bytes"]))}
    except ModelRefusedError as error:
        return {"refused": str(error)}


def unpack(path: Path, *, folder: Path, most_unpacked_bytes: int) -> CheckpointFacts:
    """Check an archive and unpack it into a folder, which is created or replaced when all files are complete.

    Raises:
        ModelRefusedError: like `inspect`, or a file differs from what the archive declares; no files are left.
    """
    facts = inspect(path, most_unpacked_bytes=most_unpacked_bytes)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with _opened(path) as (archive, members):
            for name, member in members.items():
                with archive.open(member) as source, (partial / name).open("xb") as file:
                    shutil.copyfileobj(source, file, _PIECE)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return facts


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """The archive, and its members by unpacked name."""
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            yield archive, _members(archive.infolist())
    except ModelRefusedError:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error) as error:
        raise ModelRefusedError(f"The zip cannot be read: {error}.") from None
    except (ValueError, OverflowError, struct.error, UnicodeError):
        raise ModelRefusedError("The zip cannot be read: its list of files is damaged.") from None


def _check_directory(path: Path) -> None:
    """Refuse an archive whose central directory is too large, before it is read into memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 65_557))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END_OF_LISTING.size:
        raise ModelRefusedError("This is no zip, or only a part of one.")
    *_, count, listing_bytes, _, _ = _END_OF_LISTING.unpack_from(tail, at)
    # These values mark zip64, which is also used for few large files.
    if count == 0xFFFF or listing_bytes == 0xFFFFFFFF:
        locator = tail.rfind(b"PK\x06\x07", 0, at)
        if locator >= 0 and len(tail) - locator >= 20:
            (where,) = struct.unpack_from("<Q", tail, locator + 8)
            with path.open("rb") as file:
                file.seek(min(where, 2**62))
                record = file.read(56)
            if len(record) == 56 and record[:4] == b"PK\x06\x06":
                count, listing_bytes = struct.unpack_from("<Q", record, 32)[0], struct.unpack_from("<Q", record, 40)[0]
    if count > MOST_FILES + 100 or listing_bytes > _MOST_LISTING_BYTES:
        raise ModelRefusedError(f"The zip has more than {MOST_FILES} files; a checkpoint has a dozen.")


def _members(infos: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files by name, without the common folder that they may be in."""
    files = [info for info in infos if not info.is_dir() and not _LITTER.fullmatch(info.filename)]
    if len(files) > MOST_FILES:
        raise ModelRefusedError(f"The zip has {len(files)} files; at most {MOST_FILES} are possible.")
    for info in files:
        _check_kind(info)
    folders = {info.filename.rpartition("/")[0] for info in files}
    if len(folders) > 1 or any("/" in folder for folder in folders):
        raise ModelRefusedError("The zip has folders inside: put all files at its top, or into one folder.")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in files:
        name = info.filename.rpartition("/")[2]
        if name in members:
            raise ModelRefusedError(f"The zip has two files {name[:80]!r}.")
        members[name] = info
    return members


def _check_kind(info: zipfile.ZipInfo) -> None:
    """Refuse anything but a regular file with a plain path."""
    name = info.filename
    # ZipFile truncates names at a NUL and replaces some backslashes; `orig_filename` is unchanged.
    original = info.orig_filename
    if "\\" in original or "\x00" in original or name.startswith("/") or ":" in name:
        raise ModelRefusedError(f"The zip has a file with an odd name: {original[:80]!r}.")
    if any(part in {"", ".", ".."} for part in name.split("/")):
        raise ModelRefusedError(f"The zip has a file outside of its folder: {original[:80]!r}.")
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        raise ModelRefusedError(f"{name[:80]!r} in the zip is a link or device; only plain files are possible.")
    if info.flag_bits & 0x1:
        raise ModelRefusedError(f"{name[:80]!r} in the zip is encrypted.")
    if info.compress_type not in _METHODS:
        raise ModelRefusedError(f"{name[:80]!r} in the zip is compressed in an unusual way; use deflate or none.")


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], *, most: int, zip_bytes: int) -> None:
    """Refuse too large files. Reading fails if a file is longer than it declares."""
    declared = sum(member.file_size for member in members.values())
    if declared > most:
        raise ModelRefusedError(f"The files in the zip have {declared} bytes together; at most {most} are possible.")
    if declared > _MOST_OUTSIDE_RATIO + _MOST_RATIO * zip_bytes:
        raise ModelRefusedError(
            f"The zip has {zip_bytes} bytes and unpacks to {declared}, more than {_MOST_RATIO} times as many: weights "
            "do not compress like that."
        )
    others = sum(member.file_size for name, member in members.items() if not _WEIGHTS.fullmatch(name))
    if others > _MOST_OTHER_BYTES:
        raise ModelRefusedError(
            f"The files beside the weights have {others} bytes together; at most {_MOST_OTHER_BYTES} are possible."
        )


def _check_names(members: Mapping[str, zipfile.ZipInfo]) -> None:
    for name in members:
        if _ALLOWED.fullmatch(name):
            continue
        quoted = repr(name[:80])
        if name.endswith(_PICKLED):
            raise ModelRefusedError(f"{quoted} in the zip may run code when it is loaded; save weights as safetensors.")
        if name.endswith(".py"):
            raise ModelRefusedError(
                f"{quoted} in the zip is a program; code that comes with a model is never run here."
            )
        raise ModelRefusedError(
            f"{quoted} is no file of a checkpoint: {CONFIG}, generation_config.json, the tokenizer's files, "
            "model*.safetensors with their index, README and LICENSE are."
        )


def _header(archive: zipfile.ZipFile, *, member: zipfile.ZipInfo) -> Header:
    name = member.filename.rpartition("/")[2]
    try:
        with archive.open(member) as file:
            length = header_length(_exactly(file, LENGTH_BYTES), file_bytes=member.file_size)
            return read_header(_exactly(file, length), file_bytes=member.file_size)
    except HeaderError as error:
        raise ModelRefusedError(f"{name} {error}.") from None


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := file.read(min(_PIECE, count - len(data)))):
        data += piece
    return bytes(data)


def _check_index(read: Read, *, has: bool, headers: Mapping[str, Header]) -> None:
    """Refuse shards without an index, an index without its shards, and two sets of weights."""
    if not has:
        if set(headers) != {"model.safetensors"}:
            raise ModelRefusedError(f"The zip has parts of weights, but no {INDEX} that says which tensor is where.")
        return
    named = shards_named(read(INDEX) or b"", name=INDEX)
    if missing := sorted(named - set(headers)):
        raise ModelRefusedError(f"{INDEX} names {missing[0][:80]!r}, which is not in the zip.")
    if unused := sorted(set(headers) - named):
        raise ModelRefusedError(f"{unused[0]} is in the zip, but {INDEX} does not name it.")


def _reader(archive: zipfile.ZipFile, *, members: Mapping[str, zipfile.ZipInfo]) -> Read:
    def read(name: str) -> bytes | None:
        if name not in members:
            return None
        check_size(name=name, size=members[name].file_size)
        with archive.open(members[name]) as file:
            return _exactly(file, members[name].file_size)

    return read


if __name__ == "__main__":
    serve(_facts)
