"""Another user, no capabilities, exit with the parent, no readable memory. Linux only, except for the user."""

import ctypes
import os
import signal

_CAPABILITY_VERSION_3 = 0x20080522
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_FIRST_USER, _USERS = 60_600, 500
"""A range of user ids that neither Debian nor systemd allocates."""


def unprivileged_user() -> int:
    """A user id that owns nothing; processes with near numbers get different ones."""
    return _FIRST_USER + os.getpid() % _USERS


def become(user: int) -> None:
    """Change from root to a user and the group with the same id, irrevocably."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """Drop all capabilities; no effect for other users than root."""
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capset(header, none)


def end_with_parent() -> None:
    """Request SIGKILL when the parent exits. The kernel resets this when the user changes."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """Refuse `ptrace` and reads of `/proc/PID/mem` by processes of the same user; inherited by children."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
