"""Landlock by its system calls: restricts this process and its children to listed paths, irrevocably.

See landlock(7). The system call numbers are the same on every architecture.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR, _IOCTL = 1 << 1, 1 << 2, 1 << 3, 1 << 15
_FILE_RIGHTS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file access rights by ABI version; later versions use the last one."""
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)


class LandlockError(OSError):
    """The kernel refused a rule."""


def abi() -> int:
    """The ABI version of the kernel; 0 if Landlock is missing or disabled."""
    version = _libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    return max(0, int(version))


def restrict(
    *,
    readable: Iterable[Path],
    writable: Iterable[Path] = (),
    devices: Iterable[Path] = (),
    sockets: bool = False,
) -> None:
    """Restrict file access to these paths and all below; execution is not allowed. Also refuses TCP, and signals to and
    abstract sockets of other processes, where the kernel supports it.

    Args:
        readable: paths that may be read; missing ones are ignored.
        writable: folders with all rights.
        devices: paths that may also be written, and controlled by `ioctl`.
        sockets: whether TCP and abstract sockets are allowed.

    Raises:
        LandlockError: the kernel has no Landlock, or refused.
    """
    version = abi()
    if version < 1:
        raise LandlockError(errno.ENOSYS, "the kernel has no Landlock")
    handled = (1 << _FILE_RIGHTS_OF_ABI[min(version, max(_FILE_RIGHTS_OF_ABI))]) - 1
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", 0 if sockets else _BIND_AND_CONNECT_TCP)
    if version >= 6 and not sockets:
        attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    try:
        for path in readable:
            _allow(ruleset, path=path, rights=_READ_FILE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path=path, rights=handled)
        for path in devices:
            _allow(ruleset, path=path, rights=(_READ_FILE | _WRITE_FILE | _READ_DIR | _IOCTL) & handled)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise LandlockError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, *, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= ~_READ_DIR
        rule = struct.pack("=Qi", rights, opened)
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise LandlockError(code, os.strerror(code))
    return result
