"""The channel between a command and the daemon: a Unix socket in a folder that only its user can enter.

A message is four bytes of length and a JSON object. Imports only the standard library.
"""

import array
import json
import os
import signal
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")
MOST_BYTES = 2**23
"""Of a message. The kernel allows arguments and environment of a process 6 MiB together."""
_MOST_DESCRIPTORS = 4


class ChannelError(Exception):
    """There is no daemon, or it or its folder are not what they must be."""


def folder_of(environment: Mapping[str, str]) -> Path:
    """The folder of the socket: in the user's folder of the running system if there is one, else in the temporary
    one."""
    base = environment.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"planarena-{os.getuid()}"


def checked_folder(folder: Path, *, create: bool) -> Path:
    """The folder, if it is the user's own and nobody else may enter it.

    Raises:
        ChannelError: it is not, or there is none.
    """
    try:
        if create:
            folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise ChannelError(f"{folder}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise ChannelError(f"{folder} must be a folder of yours that nobody else may enter (mode 0700)")
    return folder


def socket_in(folder: Path) -> Path:
    """The path of the socket."""
    return folder / "daemon"


def connect(environment: Mapping[str, str], *, seconds: float) -> socket.socket:
    """A connection to the user's daemon.

    Args:
        environment: names the folder.
        seconds: limit of each wait.

    Raises:
        ChannelError: there is none, or it is another user's.
    """
    path = socket_in(checked_folder(folder_of(environment), create=False))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(str(path))
        check_peer(connection)
    except (OSError, ChannelError) as error:
        connection.close()
        raise ChannelError(f"{path}: {error}") from None
    return connection


def stop(environment: Mapping[str, str]) -> int | None:
    """Have the user's daemon end, after the commands that run in it. Returns its process; None if there is none."""
    try:
        with connect(environment, seconds=1) as connection:
            process = check_peer(connection)
            os.kill(process, signal.SIGTERM)
    except (ChannelError, ProcessLookupError):
        return None
    return process


def check_peer(connection: socket.socket) -> int:
    """The number of the process at the other end; ChannelError unless it belongs to this user."""
    if sys.platform != "linux":
        raise ChannelError("the other end's user is known on Linux only")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(credentials)
    if user != os.getuid():
        raise ChannelError(f"the process at the other end belongs to user {user}")
    return int(process)


def send(connection: socket.socket, message: Mapping[str, Any], *, descriptors: Sequence[int] = ()) -> None:
    """Send a message, with descriptors for the receiver."""
    data = json.dumps(message).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    connection.sendmsg([_LENGTH.pack(len(data))], rights)
    connection.sendall(data)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A message, and the descriptors that came with it.

    Raises:
        ChannelError: the other end sent none, or something else.
    """
    head, descriptors, _, _ = socket.recv_fds(connection, _LENGTH.size, _MOST_DESCRIPTORS)
    try:
        if len(head) < _LENGTH.size:
            head += _exactly(connection, size=_LENGTH.size - len(head))
        (size,) = _LENGTH.unpack(head)
        if size > MOST_BYTES:
            raise ChannelError(f"a message of {size} bytes")
        message = json.loads(_exactly(connection, size=size))
        if not isinstance(message, dict):
            raise ChannelError("a message that is no object")
    except (ChannelError, ValueError, OSError) as error:
        for descriptor in descriptors:
            os.close(descriptor)
        raise ChannelError(str(error)) from None
    return message, descriptors


def _exactly(connection: socket.socket, *, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 2**16))
        if not part:
            raise ChannelError("the other end hung up")
        data += part
    return bytes(data)
