"""One call in a separate process with limits on memory, processor time and duration, for untrusted input.

The caller writes one JSON value to the process and reads one back. The process sets its limits itself, before it reads
the input: code that a caller with threads runs between fork and exec may wait for a lock forever.
"""

import ctypes
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evaluator.canonical_json import JsonValue

logger = logging.getLogger(__name__)

_HOME = Path(__file__).resolve().parent.parent
_OUT_OF_MEMORY_EXIT = 3
_PR_SET_PDEATHSIG = 1
_FIRST_TO_GO = "900"
_SHOWN_OF_ERRORS = 4000
_MOST_WRITTEN = 64 * 1024
"""Bytes of a file that the process writes; what it complains of goes to one."""
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PLANARENA_DATA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a call may use."""

    memory_bytes: int
    """Of address space, shared libraries included (some 60 MB)."""
    cpu_seconds: int
    wall_seconds: float
    most_answer_bytes: int = 16 * 1024 * 1024


class Exceeded(StrEnum):
    """What a call used too much of."""

    MEMORY = "memory"
    TIME = "time"


class LimitExceededError(Exception):
    """A call was ended because it used too much."""

    def __init__(self, what: Exceeded) -> None:
        super().__init__(f"too much {what}")
        self.what = what


def call(module: str, request: JsonValue, *, limits: Limits) -> Any:
    """Run a module whose `__main__` calls `serve`, and return what it answers.

    Args:
        module: as for `python -m`.
        request: what it is given.
        limits: beyond them it is killed.

    Raises:
        LimitExceededError: it used too much, or was killed.
        RuntimeError: it failed otherwise, which is a defect; the log has what it wrote.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # One arena: glibc reserves 64 MB of addresses for each further thread, which would count as memory.
    environment |= {"MALLOC_ARENA_MAX": "1", "PYTHONUTF8": "1"}
    sent = json.dumps({"limits": asdict(limits), "request": request}).encode()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - a module of ours; untrusted input comes through the pipe
            [sys.executable, "-m", module],
            cwd=_HOME,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(limits.wall_seconds, end)
        timer.start()
        try:
            answer = _exchange(process, sent=sent, most=limits.most_answer_bytes)
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        if late.is_set():
            raise LimitExceededError(Exceeded.TIME)
        if process.returncode == 0:
            return json.loads(answer)
        errors.seek(0)
        raise _failure(process.returncode, errors=errors.read(_MOST_WRITTEN), module=module)


def _exchange(process: "subprocess.Popen[bytes]", *, sent: bytes, most: int) -> bytes:
    """What the process answers.

    Raises:
        LimitExceededError: it answers more than it may.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        with suppress(BrokenPipeError):
            process.stdin.write(sent)
            process.stdin.close()
        answer = process.stdout.read(most + 1)
        if len(answer) > most:
            raise LimitExceededError(Exceeded.MEMORY)
        # It has closed its end, and so has ended or is about to.
        process.wait()
        return answer


def serve(handle: Callable[[Any], JsonValue]) -> None:
    """Answer the one request on standard input, within its limits.

    Args:
        handle: makes the answer.
    """
    received = json.loads(sys.stdin.buffer.read())
    limits = Limits(**received["limits"])
    _confine(limits)
    try:
        answer = json.dumps(handle(received["request"])).encode()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY_EXIT)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def _confine(limits: Limits) -> None:
    wanted = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_FSIZE: _MOST_WRITTEN,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    for name, most in wanted.items():
        # macOS knows RLIMIT_AS and refuses to set it; the duration is limited there too.
        with suppress(ValueError, OSError):
            # Processor time: SIGXCPU at the first, to distinguish it from a lack of memory, SIGKILL at the second.
            resource.setrlimit(name, (most, most + 1 if name == resource.RLIMIT_CPU else most))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _failure(code: int, *, errors: bytes, module: str) -> Exception:
    if code in {-signal.SIGXCPU, -signal.SIGKILL} and b"MemoryError" not in errors:
        # The system kills with SIGKILL at the limit of processor time, and where memory ends.
        return LimitExceededError(Exceeded.TIME if code == -signal.SIGXCPU else Exceeded.MEMORY)
    if code == _OUT_OF_MEMORY_EXIT or b"MemoryError" in errors or code in {-signal.SIGSEGV, -signal.SIGABRT}:
        return LimitExceededError(Exceeded.MEMORY)
    logger.error("%s ended with code %d: %s", module, code, errors[-_SHOWN_OF_ERRORS:].decode(errors="replace"))
    return RuntimeError(f"{module} ended with code {code}")
