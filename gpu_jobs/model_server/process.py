"""The process of a model server: watched from outside, and killed with all its children."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import psutil

from gpu_jobs.launchers.guard import own_memory
from gpu_jobs.model_server.channel import Channel

_LOOK_EVERY_SECONDS = 0.2
_KEPT_OUTPUT = 4000
_REFUSED_MEMORY = re.compile(r"^MemoryError|DefaultCPUAllocator: ", re.MULTILINE)
"""Messages of Python and torch if the kernel refuses memory."""
_LATE = re.compile(r'^  File ".*/network\.py", line \d+ in prompt$', re.MULTILINE)
"""In the stack that `server.ends_when_late` prints; a traceback has a comma before the function."""
_SHARED_MEMORY = re.compile(r"^(\w+)-(\w+) \S{3}s (\w+) \S+ (\d+) +(?:/dev/zero|/memfd:|/SYSV)", re.MULTILINE)
"""Shared memory without a file in `/proc/PID/maps`: first and last address, offset, inode."""
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model-servers")
"""Starts all servers, in a thread that lives as long as the worker: for the kernel, a child's parent ends with the
*thread* that started it."""


class ServerProcess:
    """A running model server and the worker's end of its channel."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], memory_bytes: int) -> None:
        """Start the server in an empty folder.

        Args:
            command: the program in its sandbox.
            environment: its whole environment.
            memory_bytes: limit of the private memory of it and its children, above which it is killed.

        Raises:
            OSError: it cannot be started.
        """
        self._memory = memory_bytes
        self._killed_for = ""
        self._output: deque[bytes] = deque()
        self._folder = TemporaryDirectory(prefix="model-server-", ignore_cleanup_errors=True)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _starter.submit(_start, command, environment, Path(self._folder.name), theirs).result()
            except BaseException:
                ours.close()
                raise
        self.channel = Channel(ours)
        for run, name in ((self._watch, "memory"), (self._drain, "output")):
            threading.Thread(target=run, name=f"model-server-{name}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Id of the outermost process."""
        return self._process.pid

    def kill(self, *, why: str = "") -> None:
        """Kill it and all its children, and wait for their end. Idempotent.

        Args:
            why: as part of a sentence, for `end_in_words`; the first reason counts.
        """
        if self._process.returncode is None:
            self._killed_for = self._killed_for or why
            _kill_tree(self._process)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)

    def close(self) -> None:
        """Kill it, and close the channel and its folder. Called by the reader of the channel."""
        self.kill()
        self.channel.close()
        self._folder.cleanup()

    def end_in_words(self) -> str:
        """How it ended, as part of a sentence. Waits up to two seconds for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        code = self._process.returncode
        if self._killed_for:
            return self._killed_for
        if code is None:
            return "it closed its channel"
        # A sandbox reports the signal that killed its program as a shell does.
        number = -code if code < 0 else code - 128
        if number > 0:
            with suppress(ValueError):
                return f"it was ended by {signal.Signals(number).name}"
        if code == 1 and _REFUSED_MEMORY.search(self.output()):
            return f"it requested more than the {self._memory / 1e6:.0f} MB of memory that it may use"
        if code == 1 and _LATE.search(self.output()):
            return "its chat template and tokenizer took too long to make a prompt"
        return f"it ended with the exit code {code}"

    def output(self) -> str:
        """The tail of its standard error, for the operator's log."""
        return b"".join(self._output).decode(errors="replace")[-_KEPT_OUTPUT:].strip()

    def _watch(self) -> None:
        while self._process.poll() is None:
            used = sum(_memory(pid) for pid in _tree(self._process.pid))
            if used > self._memory:
                allowed = f"{self._memory / 1e6:.0f} MB"
                self.kill(why=f"it used {used / 1e6:.0f} MB of memory, more than the {allowed} that it may")
                return
            time.sleep(_LOOK_EVERY_SECONDS)

    def _drain(self) -> None:
        """Read its output, which would block it otherwise, and keep the tail."""
        stream: IO[bytes] | None = self._process.stderr
        assert stream is not None
        with stream, suppress(ValueError):
            while piece := os.read(stream.fileno(), 4096):
                self._output.append(piece)
                while len(self._output) > 1 and sum(map(len, self._output)) > _KEPT_OUTPUT:
                    self._output.popleft()


def _start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, channel: socket.socket
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - the program of `sandbox`
        list(command),
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
        close_fds=True,
    )


def _kill_tree(process: "subprocess.Popen[bytes]") -> None:
    pids = _tree(process.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _tree(pid: int) -> list[int]:
    """A process and its descendants, except for reparented ones."""
    tree = [pid]
    for member in tree:
        with suppress(OSError, ValueError):
            for children in Path(f"/proc/{member}/task").glob("*/children"):
                tree.extend(int(child) for child in children.read_text().split())
    return tree


def _memory(pid: int) -> int:
    with suppress(psutil.Error):
        return own_memory(psutil.Process(pid)) + _absent_shared_memory(pid)
    return 0


def _absent_shared_memory(pid: int) -> int:
    """Bytes of anonymous shared memory that are mapped but not resident, which the kernel keeps."""
    ends: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for match in _SHARED_MEMORY.finditer(Path(f"/proc/{pid}/maps").read_text(errors="replace")):
            first, last, offset = (int(match[group], 16) for group in (1, 2, 3))
            ends[match[4]] = max(ends.get(match[4], 0), offset + last - first)
        if ends:
            status = Path(f"/proc/{pid}/status").read_text()
            return max(0, sum(ends.values()) - int(status.partition("RssShmem:")[2].split(None, 1)[0]) * 1024)
    return 0
