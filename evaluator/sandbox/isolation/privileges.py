"""Another user, no capabilities, no life after the parent's, no readable memory. Linux, except for the user."""

import ctypes
import os
import signal

_CAPABILITY_VERSION_3 = 0x20080522
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_FIRST_USER, _USERS = 60_600, 500
"""User ids that neither Debian nor systemd gives to anybody."""


def unprivileged_user() -> int:
    """A user id that owns nothing; processes with near numbers get different ones."""
    return _FIRST_USER + os.getpid() % _USERS


def become(user: int) -> None:
    """Change to this user and to the group with its number, as root. It cannot be undone."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """Give up all rights of root's; without effect for others."""
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capset(header, none)


def end_with_parent() -> None:
    """Be killed when the parent ends. A change of user makes the kernel forget it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """Refuse `ptrace` and reads of `/proc/PID/mem` by processes of the same user; children inherit it."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
