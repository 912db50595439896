"""Sends a model's files from the worker to a model server in another container, with size limits and digests.

    receiver: Hello
    worker:   Deliver, then each file's bytes in frames      receiver: Delivered | Failed

The worker is trusted, but the network is not: names, sizes and digests are checked before a file is read.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel, ChannelError, ChannelTimeoutError
from gpu_jobs.model_server.digests import file_digest

PIECE_BYTES = 4 * 1024 * 1024
"""Largest frame with a file's bytes."""
_MOST_FILES = 1000
_MOST_DELIVER_BYTES = 1024 * 1024
_DEEPEST = 4
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")
"""A part of a file's path. It does not begin with a dot, so that it is not hidden, `.` or `..`."""


class DeliveryError(Exception):
    """The files differ from their announcement; the message is part of a sentence."""


class WireFile(wire._Message):
    """An announced file."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    """Path in the model's folder, with `/` as separator."""
    size: Annotated[int, Field(ge=0, le=2**50)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Deliver(wire._Message):
    """Announces files, in order. Sent once."""

    type: Literal["deliver"] = "deliver"
    files: Annotated[tuple[WireFile, ...], Field(min_length=1, max_length=_MOST_FILES)]


class Delivered(wire._Message):
    """The files have arrived, and the server runs in its sandbox."""

    type: Literal["delivered"] = "delivered"
    folder: Annotated[str, Field(max_length=500)]
    """Path of the model's folder in the sandbox."""
    device: Annotated[str, Field(pattern=r"^\w{1,20}$")]
    """Torch device in the server's container."""
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Torch threads on its CPU; None: torch's default."""
    confined_by: Annotated[tuple[str, ...], Field(max_length=16)] = ()


_REPLY: TypeAdapter[Delivered | wire.Failed] = TypeAdapter(
    Annotated[Delivered | wire.Failed, Field(discriminator="type")]
)


def deliver(files: Mapping[str, Path], *, channel: Channel, deadline: float) -> Delivered | wire.Failed:
    """Send files, and return the receiver's response.

    Args:
        files: by path in the model's folder.
        channel: to a receiver that has sent `Hello`.
        deadline: for all files, on `time.monotonic`.

    Raises:
        DeliveryError: the response is invalid, or a file has changed since it was announced.
        ChannelError: the receiver is gone or does not read.
        OSError: a file cannot be read.
    """
    announced = tuple(
        WireFile(name=name, size=path.stat().st_size, sha256=file_digest(path)) for name, path in files.items()
    )
    channel.send(wire.encoded(Deliver(files=announced)), deadline=deadline)
    for file in announced:
        _send(files[file.name], size=file.size, channel=channel, deadline=deadline)
    try:
        return _REPLY.validate_json(channel.receive(most=wire.MOST_SMALL_BYTES, deadline=deadline))
    except ValidationError:
        raise DeliveryError("the receiver's response is not a message of the protocol") from None


def announced_files(channel: Channel, *, most_bytes: int, deadline: float) -> Deliver:
    """Read the announcement of files, and check names and sizes.

    Args:
        channel: to the worker.
        most_bytes: of all files together.
        deadline: on `time.monotonic`.

    Raises:
        DeliveryError: the message is invalid, a name could lead out of the folder, or the files are too large.
        ChannelError: the worker is gone or silent.
    """
    try:
        request = Deliver.model_validate_json(channel.receive(most=_MOST_DELIVER_BYTES, deadline=deadline))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise DeliveryError(f"the first message is not a list of files ({first['type']})") from None
    names = [file.name for file in request.files]
    for name in names:
        if not is_plain(name):
            raise DeliveryError(f"{name[:100]!r} is not a plain relative path")
    if len(set(names)) != len(names) or any(name.startswith(f"{other}/") for name in names for other in names):
        raise DeliveryError("two files have the same path, or one lies inside another")
    total = sum(file.size for file in request.files)
    if total > most_bytes:
        raise DeliveryError(f"the files have {total} bytes; there is room for {most_bytes}")
    return request


def receive_files(request: Deliver, *, channel: Channel, folder: Path, deadline: float) -> None:
    """Write the announced files into an empty folder, which stays empty if one of them is invalid.

    Args:
        request: from `announced_files`.
        channel: to the worker.
        folder: an empty folder.
        deadline: for all files, on `time.monotonic`.

    Raises:
        DeliveryError: the size or digest of a file differs from the announcement.
        ChannelError: the worker is gone or silent.
        OSError: the disk is full.
    """
    try:
        for file in request.files:
            _receive(file, channel=channel, path=folder / file.name, deadline=deadline)
    except BaseException:
        emptied(folder)
        raise


def emptied(folder: Path) -> None:
    """Create a folder or remove its content: an `emptyDir` outlives its containers."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def is_plain(name: str) -> bool:
    """Whether a name is a relative path of ordinary parts that stays in its folder."""
    parts = name.split("/")
    return len(parts) <= _DEEPEST and all(_PART.fullmatch(part) for part in parts)


def _send(path: Path, *, size: int, channel: Channel, deadline: float) -> None:
    left = size
    with path.open("rb") as file:
        while left:
            piece = file.read(min(PIECE_BYTES, left))
            if not piece:
                raise DeliveryError(f"{path.name} became shorter while it was sent")
            channel.send(piece, deadline=deadline)
            left -= len(piece)


def _receive(file: WireFile, *, channel: Channel, path: Path, deadline: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), file.size
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as target:
        while left:
            try:
                piece = channel.receive(most=min(PIECE_BYTES, left), deadline=deadline)
            except ChannelTimeoutError:
                raise
            except ChannelError as error:
                raise DeliveryError(f"{file.name}: {error}; {left} bytes are missing") from None
            if not piece:
                raise DeliveryError(f"{file.name} is shorter than announced by {left} bytes")
            target.write(piece)
            digest.update(piece)
            left -= len(piece)
    if digest.hexdigest() != file.sha256:
        raise DeliveryError(f"{file.name} does not have the announced digest")


def soon(seconds: float) -> float:
    """A deadline on `time.monotonic`."""
    return time.monotonic() + seconds
