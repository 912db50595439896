"""Calls in a separate process with limits on memory, CPU time and duration, for untrusted input.

The caller writes JSON values to the process and reads one back for each: `call` for one, `Server` for many. The process
sets its limits itself before it reads the input: code that a caller with threads runs between fork and exec may
deadlock. Where the system has seccomp and Landlock, the process can then start no processes, use no memory that its
limit does not count, write no files, and read only those that the limits name.
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
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.isolation import landlock, seccomp

logger = logging.getLogger(__name__)

_HOME = Path(__file__).resolve().parents[2]
_OUT_OF_MEMORY_EXIT = 3
_PR_SET_PDEATHSIG = 1
_FIRST_TO_GO = "900"
_SHOWN_OF_ERRORS = 4000
_LENGTH_BYTES = 8
_MOST_WRITTEN = 64 * 1024
"""Largest size in bytes of a file that the process writes; its standard error goes to one."""
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
_DATA_VARIABLE = "PLANARENA_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a call."""

    memory_bytes: int
    """Address space, including shared libraries (about 60 MB)."""
    cpu_seconds: int
    """CPU time of the whole process; 0 for no limit."""
    wall_seconds: float
    """Duration of a request."""
    most_answer_bytes: int = 16 * 1024 * 1024
    sockets: bool = False
    """Whether the network is allowed."""
    writable: tuple[str, ...] = ()
    """Folders that may be written to."""
    readable: tuple[str, ...] | None = None
    """Files, and folders with their content, that may be read; None: all. Otherwise the environment does not name the
    data folder."""


class Exceeded(StrEnum):
    """The resource whose limit a call exceeded."""

    MEMORY = "memory"
    TIME = "time"


class LimitExceededError(Exception):
    """A call was killed because it exceeded a limit."""

    def __init__(self, what: Exceeded) -> None:
        super().__init__(f"too much {what}")
        self.what = what


def call(module: str, request: JsonValue, *, limits: Limits) -> Any:
    """Run a module whose `__main__` calls `serve`, and return its answer.

    Args:
        module: as for `python -m`.
        request: its input.
        limits: beyond them it is killed.

    Raises:
        LimitExceededError: it exceeded a limit, or was killed.
        RuntimeError: it failed otherwise, which is a bug; its standard error is logged.
    """
    sent = json.dumps({"limits": asdict(limits), "request": request}).encode()
    with tempfile.TemporaryFile() as errors:
        process = _started([module], limits=limits, errors=errors)
        try:
            with _killed_after(limits.wall_seconds, process) as late, _streams(process) as (stdin, stdout):
                with suppress(BrokenPipeError):
                    stdin.write(sent)
                    stdin.close()
                answer = stdout.read(limits.most_answer_bytes + 1)
                if len(answer) > limits.most_answer_bytes:
                    raise LimitExceededError(Exceeded.MEMORY)
                # It has closed its end of the pipe, so it has exited or is about to.
                process.wait()
        finally:
            process.kill()
            process.wait()
        if late.is_set():
            raise LimitExceededError(Exceeded.TIME)
        if process.returncode == 0:
            return json.loads(answer)
        errors.seek(0)
        raise _failure(process.returncode, errors=errors.read(_MOST_WRITTEN), module=module)


class Server:
    """A process that answers requests one by one, each within the limits; replaced after it exceeds one.

    Not thread-safe. The process is killed with the object or at exit.
    """

    def __init__(self, module: str, *, limits: Limits, arguments: Sequence[str] = ()) -> None:
        """Does not start the process yet.

        Args:
            module: as for `python -m`; its `__main__` calls `serve_many`.
            limits: beyond them it is killed.
            arguments: of its command line.
        """
        self._module, self._limits, self._arguments = module, limits, tuple(arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._end: Callable[[], object] = lambda: None

    def call(self, request: JsonValue) -> Any:
        """The answer of the process.

        Raises:
            LimitExceededError: it exceeded a limit, or was killed.
            RuntimeError: it failed otherwise, which is a bug; its standard error is logged.
        """
        answer, late = b"", threading.Event()
        try:
            if self._process is None:
                self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
                self._process = _started([self._module, *self._arguments], limits=self._limits, errors=self._errors)
                self._end = weakref.finalize(self, _end_process, self._process, self._errors)
                self._exchange(self._process, sent=json.dumps(asdict(self._limits)).encode())
            process = self._process
            with _killed_after(self._limits.wall_seconds, process) as late:
                answer = self._exchange(process, sent=json.dumps(request).encode())
        except BaseException:
            self.close()
            raise
        finally:
            if late.is_set():
                self.close()
        if late.is_set():
            raise LimitExceededError(Exceeded.TIME)
        if answer:
            try:
                return json.loads(answer)
            except (ValueError, RecursionError):
                # Whatever else is in the pipe answers no later request.
                self.close()
                raise RuntimeError(f"{self._module} gave an answer that is not JSON") from None
        assert self._errors is not None
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.kill()
        code = process.wait()
        self._errors.seek(0)
        errors = self._errors.read(_MOST_WRITTEN)
        self.close()
        raise _failure(code, errors=errors, module=self._module)

    def close(self) -> None:
        """Kill the process; the next call starts another one."""
        self._end()
        self._process, self._end = None, lambda: None

    def _exchange(self, process: "subprocess.Popen[bytes]", *, sent: bytes) -> bytes:
        """The answer; empty if the process exited.

        Raises:
            LimitExceededError: the answer is too long.
        """
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(len(sent).to_bytes(_LENGTH_BYTES) + sent)
            process.stdin.flush()
        length = int.from_bytes(process.stdout.read(_LENGTH_BYTES))
        if length > self._limits.most_answer_bytes:
            raise LimitExceededError(Exceeded.MEMORY)
        answer = process.stdout.read(length)
        return answer if len(answer) == length else b""


def _end_process(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _started(command: Sequence[str], *, limits: Limits, errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    kept = _KEPT_VARIABLES if limits.readable is not None else (*_KEPT_VARIABLES, _DATA_VARIABLE)
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # One arena: glibc reserves 64 MB of address space per further thread, which would count as memory.
    environment |= {"MALLOC_ARENA_MAX": "1", "PYTHONUTF8": "1"}
    return subprocess.Popen(  # noqa: S603 - a module of ours; untrusted input comes through the pipe
        [sys.executable, "-m", *command],
        cwd=_HOME,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
    )


@contextmanager
def _killed_after(seconds: float, process: "subprocess.Popen[bytes]") -> Iterator[threading.Event]:
    """Kill the process if the block takes too long, and set the event."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


@contextmanager
def _streams(process: "subprocess.Popen[bytes]") -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        yield process.stdin, process.stdout


def serve(handle: Callable[[Any], JsonValue]) -> None:
    """Answer the request on standard input with `handle`, within its limits."""
    received = json.loads(sys.stdin.buffer.read())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _confine(Limits(**received["limits"]))
    try:
        answer = json.dumps(handle(received["request"])).encode()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY_EXIT)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def serve_many(handle: Callable[[Any], JsonValue]) -> None:
    """Answer the requests of a `Server` on standard input with `handle`, until it closes the pipe.

    What `handle` prints, also from C, is discarded: standard output is for answers only.
    """
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    limits: Limits | None = None
    while beginning := incoming.read(_LENGTH_BYTES):
        request = json.loads(incoming.read(int.from_bytes(beginning)))
        try:
            if limits is None:
                # No death signal: it is sent at the end of the thread that started this process.
                _confine(limits := Limits(**request))
                answer = b"null"
            else:
                answer = json.dumps(handle(request)).encode()
        except MemoryError:
            os._exit(_OUT_OF_MEMORY_EXIT)
        outgoing.write(len(answer).to_bytes(_LENGTH_BYTES) + answer)
        outgoing.flush()


def _confine(limits: Limits) -> None:
    caps = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_CPU: limits.cpu_seconds or resource.RLIM_INFINITY,
        resource.RLIMIT_FSIZE: _MOST_WRITTEN,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
        # Libraries ask for the temporary folder at import; without this, Python searches for it by writing files.
        tempfile.tempdir = limits.writable[0] if limits.writable else "/"
        # Continue without features that the kernel lacks: the code is trusted, only its input is not.
        with suppress(OSError):
            # Before Landlock, under which the library may be unreadable.
            ctypes.CDLL(seccomp.LIBRARY)
        if landlock.abi():
            landlock.restrict(
                readable=[Path("/")] if limits.readable is None else map(Path, limits.readable),
                writable=map(Path, limits.writable),
                devices=[Path(os.devnull)],
                sockets=limits.sockets,
            )
        with suppress(seccomp.SeccompError):
            seccomp.restrict(sockets=limits.sockets, locks=bool(limits.writable))
    for name, most in caps.items():
        # macOS refuses to set RLIMIT_AS; the duration is limited there too.
        with suppress(ValueError, OSError):
            # CPU time: SIGXCPU at the soft limit, to distinguish it from a lack of memory; SIGKILL at the hard one.
            spare = 1 if name == resource.RLIMIT_CPU and limits.cpu_seconds else 0
            resource.setrlimit(name, (most, most + spare))


def _failure(code: int, *, errors: bytes, module: str) -> Exception:
    if code in {-signal.SIGXCPU, -signal.SIGKILL} and b"MemoryError" not in errors:
        # The kernel sends SIGKILL when it runs out of memory.
        return LimitExceededError(Exceeded.TIME if code == -signal.SIGXCPU else Exceeded.MEMORY)
    if code == _OUT_OF_MEMORY_EXIT or b"MemoryError" in errors or code in {-signal.SIGSEGV, -signal.SIGABRT}:
        return LimitExceededError(Exceeded.MEMORY)
    logger.error("%s ended with code %d: %s", module, code, errors[-_SHOWN_OF_ERRORS:].decode(errors="replace"))
    return RuntimeError(f"{module} ended with code {code}")
