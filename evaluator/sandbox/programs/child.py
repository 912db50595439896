"""`python child.py`: the process of programs. Forks a child for each program, and kills it when its time is up.

Reads its settings from standard input, a Unix socket, and confirms them with one line of JSON. Each further message is
one byte with a descriptor, over which the child receives a program and answers; then one line reports how it ended.
Programs and results do not pass through this process, so no program can find another one in its memory.

Runs without site packages, and makes this package's modules importable without running their `__init__`.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.sandbox.programs.confining import Confinement
    from evaluator.sandbox.programs.executing import Executor

_LENGTH_BYTES = 8
_MOST_READ = 1 << 20
_MOST_DESCRIPTORS = 2
_MOST_MESSAGE = 500
_PROBE_SECONDS = 5.0
_RECURSION = 3000
"""Recursion limit. A flood fill of a 30 x 30 grid takes 900 nested calls."""
_UNCONFINED_EXIT = 70


def main() -> None:
    """Serve until the parent closes the socket."""
    root = Path(__file__).resolve().parents[2]
    for name in ("evaluator", "evaluator.sandbox.programs"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    from evaluator.sandbox.programs.confining import Confinement
    from evaluator.sandbox.programs.executing import Executor
    from evaluator.sandbox.programs.wire import Layer, Limits, Settings

    channel = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    os.close(null)
    settings = Settings.loads(_received(channel.recv))
    limits = Limits(**settings.limits)
    layers = frozenset(map(Layer, settings.layers))
    try:
        executor = Executor(library=settings.library, limits=limits, language=Layer.LANGUAGE in layers)
    except Exception as error:  # noqa: BLE001 - reported to the author of the library
        channel.sendall(json.dumps({"error": f"the library raises {error!r}"[:_MOST_MESSAGE]}).encode() + b"\n")
        return
    confinement = Confinement(layers, limits=limits)
    confinement.confine_parent()
    endings = _Endings()
    gc.collect()
    gc.freeze()
    if endings.of(_forked(channel, executor=None, confinement=confinement), seconds=_PROBE_SECONDS)["code"] != 0:
        for layer in (Layer.LIMITS, Layer.SECCOMP):
            if layer in layers:
                confinement.failed[layer] = "the kernel refused it"
    hello = {"holding": sorted(confinement.holding()), "failed": confinement.failed}
    channel.sendall(json.dumps(hello).encode() + b"\n")
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1, _MOST_DESCRIPTORS)
        if not message:
            return
        child = _forked(socket.socket(fileno=descriptors[0]), executor=executor, confinement=confinement)
        channel.sendall(json.dumps(endings.of(child, seconds=limits.wall_seconds)).encode() + b"\n")


def _forked(connection: socket.socket, *, executor: "Executor | None", confinement: "Confinement") -> int:
    """Fork a child that runs the program received over the connection, or, without an executor, only confines itself.
    Returns its process id."""
    pid = os.fork()
    if pid:
        with suppress(OSError):
            os.setpgid(pid, pid)
        if executor is not None:
            connection.close()
        return pid
    code = _UNCONFINED_EXIT
    try:
        os.setpgid(0, 0)
        _run(connection, executor=executor, confinement=confinement)
        code = 0
    finally:
        os._exit(code)


def _run(connection: socket.socket, *, executor: "Executor | None", confinement: "Confinement") -> None:
    from evaluator.sandbox.isolation import privileges
    from evaluator.sandbox.programs.confining import RESULTS, leave_descriptors
    from evaluator.sandbox.programs.executing import Request

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux":
        privileges.end_with_parent()
    leave_descriptors(connection.fileno())
    received = "" if executor is None else _received(partial(os.read, RESULTS))
    confinement.confine_child()
    if executor is None:
        return
    message = json.loads(received)
    request = Request(**message | {"calls": tuple(message["calls"])})
    sys.setrecursionlimit(_RECURSION)

    def write(line: str) -> None:
        rest = memoryview(line.encode() + b"\n")
        while rest:
            rest = rest[os.write(RESULTS, rest) :]

    executor.run(request, write=write)


def _received(read: "Callable[[int], bytes]") -> str:
    """Read a text after its length."""
    return _exactly(int.from_bytes(_exactly(_LENGTH_BYTES, read=read)), read=read).decode()


def _exactly(count: int, *, read: "Callable[[int], bytes]") -> bytes:
    parts = []
    while count:
        part = read(min(count, _MOST_READ))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class _Endings:
    """Waits for children without polling. `sigtimedwait` exists on Linux only."""

    def __init__(self) -> None:
        self._woken, writing = socket.socketpair()
        self._woken.setblocking(False)
        writing.setblocking(False)
        self._writing = writing
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)

    def of(self, child: int, *, seconds: float) -> dict[str, object]:
        """Wait for a child, and kill it and its descendants when its time is up. Returns its exit code (negative for a
        signal), whether it was late, and its peak memory."""
        deadline = time.monotonic() + seconds
        ended, late = os.wait4(child, os.WNOHANG), False
        while ended[0] == 0:
            left = deadline - time.monotonic()
            if left <= 0:
                late = True
                with suppress(OSError):
                    os.killpg(child, signal.SIGKILL)
                ended = os.wait4(child, 0)
                break
            select.select([self._woken], [], [], left)
            with suppress(BlockingIOError):
                self._woken.recv(_MOST_READ)
            ended = os.wait4(child, os.WNOHANG)
        # Its descendants, if any.
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        _, status, usage = ended
        return {"code": os.waitstatus_to_exitcode(status), "late": late, "peak_kib": usage.ru_maxrss}


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
