"""`python -m tests.crash.zygote`: imports everything once, then forks the processes of runs as it is told.

Reads one JSON object a line, `{"role", "folder"}`, and answers with the process id. It ends with its input, and ends
all its descendants first, by their ids.
"""

import ctypes
import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

_SUBREAPER = 36
_POLL_SECONDS = 0.1
_USED_LATER = (
    "celery.app.amqp",
    "celery.apps.worker",
    "celery.concurrency.solo",
    "celery.worker.consumer",
    "django.core.management.commands.migrate",
    "gpu_jobs.__main__",
    "kombu.transport.redis",
    "leaderboard.wiring.asgi",
    "leaderboard.platform.celery",
    "leaderboard.platform.file_broker",
    "leaderboard.queue.tasks",
    "tests.crash.outcome",
    "tests.fakes.evaluator",
    "tests.fakes.runner",
    "tests.leaderboard.factories",
    "uvicorn.lifespan.off",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)


def warm_up() -> None:
    """Import what the roles use; open nothing, start no thread."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.crash.settings"
    import django

    django.setup()
    for name in _USED_LATER:
        importlib.import_module(name)
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018 - loads every view
    # What is here now stays shared between all forks: the collector would otherwise write into every page.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Fork until the input ends."""
    # What outlives its parent is ours to end.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    warm_up()
    print("ready", flush=True)
    try:
        _serve()
    finally:
        _end_descendants()
        from django.conf import settings

        shutil.rmtree(settings.DATA_DIR, ignore_errors=True)


def _serve() -> None:
    while True:
        _reap()
        if not select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            return
        wanted = json.loads(line)
        print(json.dumps({"pid": _fork(role=wanted["role"], folder=Path(wanted["folder"]))}), flush=True)


def _fork(*, role: str, folder: Path) -> int:
    from tests.crash.roles import in_child, play

    log = os.open(folder / f"{role}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    pid = os.fork()
    if not pid:
        in_child(lambda: play(role=role, folder=folder), output=log)
    os.close(log)
    return pid


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end_descendants() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
