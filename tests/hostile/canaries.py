"""Canary secrets in every place from which code in a model server might read: one for each way to read.

All are open to every user of this machine where the kind of place allows it, so that only the sandbox guards them.
"""

import ctypes
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.serving import accepting

TOKEN_VARIABLE = "PLANARENA_CANARY_TOKEN"
"""In the environment of the site. The name says that it is a secret, so no worker gets it."""
KEPT_VARIABLE = "PLANARENA_CANARY_FOLDER"
"""Names the folder whose files `memory` and `descriptor` each worker holds (`taken_over/sitecustomize.py`)."""
_CREATE, _REMOVE, _EVERYBODY = 0o1000, 0, 0o666
_HANDLE_BYTES = 128
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """The secrets, and where they are."""

    folder: Path
    texts: Mapping[str, str]
    """The secret of each kind of place."""
    port: int
    """A TCP server on 127.0.0.1 that sends its secret to every client, as do `unix` and `abstract`."""
    unix: str
    abstract: str
    shared_file: str
    shared_key: int
    """Of a System V shared memory segment."""
    handle: str
    """Kernel handle of the canary file (`name_to_handle_at`) in hexadecimal: the type, then the opaque bytes."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the site."""
        return {TOKEN_VARIABLE: self.texts["environment"], KEPT_VARIABLE: str(self.folder)}


@contextmanager
def canaries() -> Iterator[Canaries]:
    """Put the secrets into their places, and remove them afterwards."""
    kinds = ("file", "environment", "memory", "descriptor", "tcp", "unix", "abstract", "shared file", "shared segment")
    texts = {kind: f"canary{secrets.token_hex(12)}" for kind in kinds}
    name = f"planarena-canary-{secrets.token_hex(4)}"
    folder, shared_file = Path("/tmp") / name, Path("/dev/shm") / name
    key = secrets.randbelow(1 << 30) + 1
    unix, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    folder.mkdir(mode=0o755)
    try:
        for kind, mode in (("file", 0o644), ("memory", 0o600), ("descriptor", 0o600)):
            (folder / kind).write_text(texts[kind])
            (folder / kind).chmod(mode)
        shared_file.write_text(texts["shared file"])
        shared_file.chmod(0o644)
        unix.bind(str(folder / "unix"))
        (folder / "unix").chmod(0o777)
        abstract.bind(f"\0{name}")
        unix.listen(64)
        abstract.listen(64)
        with (
            accepting(_telling(texts["tcp"])) as port,
            accepting(_telling(texts["unix"]), listener=unix),
            accepting(_telling(texts["abstract"]), listener=abstract),
        ):
            segment = _segment(key, texts["shared segment"])
            try:
                yield Canaries(
                    folder=folder, texts=texts, port=port, unix=str(folder / "unix"), abstract=name,
                    shared_file=str(shared_file), shared_key=key, handle=_handle(folder / "file"),
                )  # fmt: skip
            finally:
                _libc.shmctl(segment, _REMOVE, None)
    finally:
        for path in (*folder.iterdir(), shared_file):
            path.unlink(missing_ok=True)
        folder.rmdir()


def _telling(text: str) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(text.encode())


def _segment(key: int, text: str) -> int:
    segment = int(_libc.shmget(key, 4096, _CREATE | _EVERYBODY))
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    place = _libc.shmat(segment, None, 0)
    ctypes.memmove(place, text.encode(), len(text))
    _libc.shmdt(ctypes.c_void_p(place))
    return segment


def _handle(path: Path) -> str:
    buffer = ctypes.create_string_buffer(8 + _HANDLE_BYTES)
    ctypes.memmove(buffer, _HANDLE_BYTES.to_bytes(4, "little"), 4)
    mount = ctypes.c_int()
    if _libc.name_to_handle_at(-100, os.fsencode(path), buffer, ctypes.byref(mount), 0):
        # Some file systems have none.
        return ""
    return buffer.raw[4 : 8 + int.from_bytes(buffer.raw[:4], "little")].hex()
