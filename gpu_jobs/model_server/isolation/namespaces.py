"""`python namespaces.py PLAN`: a replacement for bubblewrap. Runs a program in new namespaces, on a file system that
contains only listed files.

Root creates the namespaces directly, other users in a user namespace. There are three processes: the outermost waits
and dies with the worker; the second is the first of the new process namespace and reaps; the third becomes the program.
The kernel kills all of them with the second. Imports only the standard library, so that it starts quickly.
"""

import ctypes
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

_NEW_MOUNTS, _NEW_CGROUP, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_PLACES = ("/tmp", "/usr", "/etc")  # noqa: S108 - temporary mount points in this namespace
_libc = ctypes.CDLL(None, use_errno=True)


class Plan(TypedDict):
    """The namespaces' content, as JSON on the command line."""

    binds: list[tuple[str, str]]
    """Read-only mounts: source and target."""
    links: list[tuple[str, str]]
    """Symbolic links: path and target."""
    devices: list[str]
    """Writable mounts, at the same paths."""
    start: str
    """Working directory of the program; empty, except for mounts below it."""
    keeps_root: bool
    """Whether root stays root, so that the program can switch to another user."""
    command: list[str]


def main(argument: str) -> int:
    """Run the program of a plan, and return its exit code, or 128 plus the number of the signal that ended it."""
    plan: Plan = json.loads(argument)
    os.umask(0o022)
    _end_with_parent()
    _enter(plan)
    return _as_parent_of(lambda: _first_process(plan))


def _enter(plan: Plan) -> None:
    user, group = os.getuid(), os.getgid()
    own_user = 0 if plan["keeps_root"] else _NEW_USER
    flags = _NEW_MOUNTS | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET | own_user
    if _libc.unshare(flags | _NEW_CGROUP):
        _checked(_libc.unshare(flags), what="unshare")
    if own_user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _first_process(plan: Plan) -> int:
    """The first process of the new namespace: builds the file system and starts the program."""

    def execute() -> int:
        os.chdir(plan["start"])
        _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.execve(plan["command"][0], plan["command"], dict(os.environ))  # noqa: S606 - the program of `sandbox`

    _end_with_parent()
    _build(plan)
    os.setsid()
    return _as_parent_of(execute)


def _as_parent_of(child: Callable[[], int]) -> int:
    # Before the child replaces the file system, which both share.
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = child()
        except BaseException as error:  # noqa: BLE001 - the child must not return into the parent's code
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)
    # Only the program may hold the channel, so that its end closes it.
    os.dup2(null, 0)
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _build(plan: Plan) -> None:
    """Build a file system in memory, make it the root, and remount it read-only."""
    _mount("none", "/", flags=_RECURSIVE | _PRIVATE)
    _move_aside()
    root = Path("/new")
    for source, target in plan["binds"]:
        _bind(source, root / target.lstrip("/"), read_only=True)
    for target, content in plan["links"]:
        place = root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(content)
    for device in plan["devices"]:
        _bind(device, root / device.lstrip("/"), read_only=False)
    _mount("proc", _made(root / "proc"), kind="proc", flags=_NO_SETUID | _NO_DEVICES | _NO_EXECUTION)
    # Not a mount: code may be mounted below it.
    _made(root / plan["start"].lstrip("/"))
    os.chdir(root)
    # The old root is then on top of the new one, and is unmounted with everything below it.
    _pivot(b".", b".")
    _checked(_libc.umount2(b".", _DETACH), what="umount2")
    os.chdir("/")
    _mount("none", "/", flags=_BIND | _REMOUNT | _READ_ONLY | _NO_SETUID | _NO_DEVICES)


def _move_aside() -> None:
    """Move the current root to `/old` in an empty root, so that no mount hides it."""
    place = next(path for path in _PLACES if Path(path).is_dir())
    _mount("tmpfs", place, kind="tmpfs", flags=_NO_SETUID | _NO_DEVICES, data="mode=0755,size=4m,nr_inodes=20000")
    _made(Path(place, "old"))
    _made(Path(place, "new"))
    os.chdir(place)
    _pivot(b".", b"old")
    os.chdir("/")
    _mount("/new", "/new", flags=_BIND)


def _pivot(new: bytes, old: bytes) -> None:
    _checked(_libc.syscall(ctypes.c_long(_PIVOT_ROOT[os.uname().machine]), new, old), what="pivot_root")


def _made(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _bind(source: str, place: Path, *, read_only: bool) -> None:
    original = Path("/old", source.lstrip("/"))
    if original.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    _mount(str(original), str(place), flags=_BIND | _RECURSIVE)
    # A user namespace must not remove flags of the original mount. The first four have the same values in `statvfs`.
    current = os.statvfs(place).f_flag
    flags = _BIND | _REMOUNT | _NO_SETUID | current & (_READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXECUTION)
    flags |= (1024 if current & os.ST_NOATIME else 0) | ((1 << 21) if current & os.ST_RELATIME else 0)
    is_device = stat.S_ISCHR(original.stat().st_mode)
    _mount("none", str(place), flags=flags | (0 if is_device else _NO_DEVICES) | (_READ_ONLY if read_only else 0))


def _mount(source: str, target: str, *, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    arguments = [None if text is None else text.encode() for text in (source, target, kind)]
    done = _libc.mount(*arguments, ctypes.c_ulong(flags), None if data is None else data.encode())
    _checked(done, what=f"mount {target}")


def _checked(done: int, *, what: str) -> None:
    if done:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1]))
