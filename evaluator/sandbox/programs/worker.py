"""The parent's side of a process of programs: starts it, sends programs, and reads their answers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluator.sandbox.programs import child
from evaluator.sandbox.programs.wire import Layer, Limits, Settings

_START_SECONDS = 30.0
_SPARE_SECONDS = 5.0
"""Beyond a program's time, for the process to report its end."""
_MOST_LINE = 64 * 1024
_PASSED_ON = ("LD_LIBRARY_PATH",)
_OPTIONS = ("-P", "-s", "-S", "-B")
"""Like `-I -S`, but with the hash seed of the environment, which has no other variables: a program that iterates over a
set of texts must return the same result each time."""


class WorkerError(Exception):
    """A process of programs did not start, or exited."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the child of a program ended."""

    code: int
    """Exit code, negative for a signal."""
    late: bool
    """Whether it was killed because its time was up."""
    peak_kib: int
    """Peak resident memory, including memory shared with its parent."""


class Worker:
    """A process of programs. Not thread-safe."""

    def __init__(self, *, layers: frozenset[Layer], limits: Limits, library: Sequence[str]) -> None:
        """Start the process.

        Raises:
            WorkerError: it does not start.
        """
        self._limits = limits
        self._channel, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - a module of ours
                [os.path.realpath(sys.executable), *_OPTIONS, str(Path(child.__file__).resolve())],
                cwd="/",
                env=environment | {"PYTHONHASHSEED": "0"},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            settings = Settings(layers=tuple(sorted(layers)), limits=asdict(limits), library=tuple(library))
            _send(self._channel, settings.dumps())
            hello = json.loads(self._line(seconds=_START_SECONDS))
            if "error" in hello:
                raise WorkerError(hello["error"])
        except (OSError, WorkerError) as error:
            self.close()
            raise WorkerError(f"The process of programs does not start ({error}).") from None
        self.layers = frozenset(map(Layer, hello["holding"]))
        """Active layers."""
        self.missing: dict[Layer, str] = {Layer(name): why for name, why in hello["failed"].items()}
        """Failed layers, with the reason."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def run(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        """Run one program.

        Args:
            request: the program and its calls as JSON.
            most_bytes: of its answer; the rest is not read.

        Raises:
            WorkerError: the process exited, or does not answer. It must be closed.
        """
        deadline = time.monotonic() + self._limits.wall_seconds + _SPARE_SECONDS
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    socket.send_fds(self._channel, [b"."], [theirs.fileno()])
                ours.settimeout(self._limits.wall_seconds)
                with suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
                    _send(ours, request)
                answer = _read(ours, most_bytes=most_bytes, deadline=deadline)
            except OSError as error:
                raise WorkerError(str(error)) from None
        return answer, Ending(**json.loads(self._line(seconds=deadline - time.monotonic())))

    def close(self) -> None:
        """Kill the process and its child, if any."""
        self._channel.close()
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _line(self, *, seconds: float) -> bytes:
        """Read one line of the process, which is trusted to send no more than that."""
        received = b""
        self._channel.settimeout(max(0.01, seconds))
        try:
            while not received.endswith(b"\n"):
                part = self._channel.recv(_MOST_LINE)
                if not part:
                    raise WorkerError(f"it ended{self._end_in_words()}")
                received += part
        except OSError as error:
            raise WorkerError(f"{error}{self._end_in_words()}") from None
        return received

    def _end_in_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            return f" with code {self._process.wait(timeout=1)}"
        return ""


def _send(connection: socket.socket, text: str) -> None:
    content = text.encode()
    connection.sendall(len(content).to_bytes(8) + content)


def _read(connection: socket.socket, *, most_bytes: int, deadline: float) -> bytes:
    """Read until the peer closes the connection, the deadline, or too much data."""
    parts, size = [], 0
    with suppress(TimeoutError, ConnectionResetError):
        while size <= most_bytes:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            part = connection.recv(1 << 16)
            if not part:
                break
            parts.append(part)
            size += len(part)
    return b"".join(parts)[:most_bytes]
