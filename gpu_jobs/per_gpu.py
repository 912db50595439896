"""One worker process per GPU of a machine or pod.

A worker computes on one device. Where several are visible, the command starts itself once for each, with
CUDA_VISIBLE_DEVICES naming that device before torch is imported. This is also the only way to use several MIG slices,
since CUDA shows at most one to a process.

Each process is a worker with its own name, session, heartbeats and exit code. The first process only watches
them: it restarts one that has crashed while the others continue, and passes signals on. It imports no torch.
"""

import ctypes
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import FrameType

from gpu_jobs.exits import REFUSED, Exit
from gpu_jobs.launchers.base import name_of_part
from gpu_jobs.metrics import PORT, metrics_port
from gpu_jobs.probes import ALIVE, READY
from gpu_jobs.worker_secrets import OPTION, WorkerSecrets, harmless, piped

logger = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
_NVIDIA_SMI_SECONDS = 30
_IDENTITY = re.compile(r"\(UUID: ([A-Za-z0-9/-]{1,100})\)")
_LOOK_EVERY_SECONDS = 0.2
_SOON_SECONDS = 60.0
"""A process that ends sooner than this after its start counts as failing at once."""
_FAILURES_ALLOWED = 5
_LONGEST_PAUSE_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


def visible_gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The CUDA devices that this process may use, as values of CUDA_VISIBLE_DEVICES; empty if unknown.

    From CUDA_VISIBLE_DEVICES, or else from `nvidia-smi -L`.
    """
    if VISIBLE in environment:
        return _named(environment[VISIBLE])
    try:
        listing = subprocess.run(
            ["nvidia-smi", "-L"],  # noqa: S607 - the container runtime chooses its folder
            env=dict(environment), capture_output=True, text=True, timeout=_NVIDIA_SMI_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ()
    return gpus_in(listing.stdout) if listing.returncode == 0 else ()


def _named(devices: str) -> tuple[str, ...]:
    """The devices that CUDA uses of such a list: those before the first invalid entry."""
    found: list[str] = []
    for name in devices.split(","):
        if not name.strip() or name.strip().startswith("-"):
            break
        found.append(name.strip())
    return tuple(found)


def gpus_in(listing: str) -> tuple[str, ...]:
    """The UUIDs in the output of `nvidia-smi -L`. A GPU with MIG slices is represented by its slices."""
    found: list[str] = []
    whole = ""
    for line in listing.splitlines():
        match = _IDENTITY.search(line)
        if match is None:
            continue
        if line.startswith("GPU "):
            whole = match[1]
            found.append(whole)
        elif line.lstrip().startswith("MIG "):
            if found and found[-1] == whole:
                found.pop()
            found.append(match[1])
    return tuple(found)


class Next(Enum):
    """What follows the end of a process."""

    AGAIN = "again"
    """It is started again."""
    DONE = "done"
    """It has no work left; the others continue."""
    END = "end"
    """All end: a restart would end in the same way."""


def after_exit(*, code: int, failures: int) -> Next:
    """What follows the end of a process.

    Args:
        code: its exit code; negative: killed by this signal.
        failures: how many times in a row it has ended soon after its start, this time included.
    """
    if code in {Exit.IDLE, Exit.WORK_LEFT}:
        return Next.DONE
    if code in REFUSED or failures > _FAILURES_ALLOWED:
        return Next.END
    return Next.AGAIN


@dataclass(slots=True, kw_only=True)
class _Part:
    """The process of one GPU."""

    gpu: str
    name: str
    alive: Path
    ready: Path
    process: "subprocess.Popen[bytes] | None" = None
    started: float = 0.0
    due: float = 0.0
    """When it is to be started."""
    failures: int = 0
    code: int | None = None
    """Exit code with which it was done."""
    was_ready: bool = field(default=False)


class GpuProcesses:
    """The processes of a worker with several GPUs."""

    def __init__(
        self,
        *,
        gpus: Sequence[str],
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        secrets: WorkerSecrets,
        pause_seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        gpus: one process for each of these devices.
        name: of the worker; each process adds its number.
        command: the worker program with its arguments, to which a name and a descriptor are added.
        environment: source of theirs, from which secrets are removed.
        secrets: passed to each through a pipe.
        pause_seconds: before a process that ended soon after its start is started again; doubled each time.
        clock: for tests.
        """
        self._environment = harmless(environment)
        self._probes = {variable: environment.get(variable, "").strip() for variable in (ALIVE, READY)}
        self._secrets = secrets
        self._command = list(command)
        self._pause = pause_seconds
        self._clock = clock
        self._folder = tempfile.TemporaryDirectory(prefix="planarena-gpus-")
        folder = Path(self._folder.name)
        self._parts = [
            _Part(
                gpu=gpu, name=name_of_part(name, number), alive=folder / f"alive-{number}",
                ready=folder / f"ready-{number}",
            )
            for number, gpu in enumerate(gpus)
        ]  # fmt: skip
        self._stopped_by: int | None = None
        self._signals: list[int] = []

    def run(self) -> int:
        """Run the processes until all are done or one cannot continue, and return the exit code: the last of those that
        have something to say, `TERMINATED` after a signal."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self._note_signal)
        names = ", ".join(part.gpu for part in self._parts)
        logger.info("%d GPUs, one process for each: %s", len(self._parts), names)
        with self._folder:
            return self._watch()

    def _note_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signal's signature
        self._signals.append(number)

    def _watch(self) -> int:
        ending: int | None = None
        while True:
            for part in self._parts:
                if part.process is None:
                    if part.code is None and ending is None and self._clock() >= part.due:
                        self._start(part)
                elif part.process.poll() is not None:
                    found = self._ended(part, is_ending=ending is not None)
                    if found is not None and ending is None:
                        ending = found
                        self._stop()
            self._show_probes()
            if (stopped := self._pass_on_signals()) and ending is None:
                ending = stopped
            if all(part.process is None and (part.code is not None or ending is not None) for part in self._parts):
                return ending if ending is not None else self._code_of_all()
            self._wait()

    def _wait(self) -> None:
        """Wait for a while, or until a process ends."""
        running = [part.process for part in self._parts if part.process is not None]
        if running and not self._signals:
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(_LOOK_EVERY_SECONDS)
        else:
            time.sleep(_LOOK_EVERY_SECONDS)

    def _start(self, part: _Part) -> None:
        for path in (part.alive, part.ready):
            path.unlink(missing_ok=True)
        descriptor = piped(self._secrets)
        arguments = [*self._command, "--name", part.name, OPTION, str(descriptor)]
        own = {ALIVE: str(part.alive), READY: str(part.ready)}
        if (port := metrics_port(self._environment)) is not None:
            own[PORT] = str(port + self._parts.index(part))
        try:
            part.process = subprocess.Popen(  # noqa: S603 - this very program
                arguments,
                env={**self._environment, **own, VISIBLE: part.gpu},
                pass_fds=[descriptor],
                preexec_fn=_end_with_parent,
            )
        finally:
            os.close(descriptor)
        part.started = self._clock()

    def _ended(self, part: _Part, *, is_ending: bool) -> int | None:
        """Record the end of a process, and return the exit code of all if they end because of it."""
        assert part.process is not None
        code, part.process = part.process.returncode, None
        if is_ending:
            return None
        lived = self._clock() - part.started
        part.failures = part.failures + 1 if lived < _SOON_SECONDS else 0
        what = f"the process of GPU {part.gpu} ({part.name}) ended {_how(code)}"
        following = after_exit(code=code, failures=part.failures)
        if following is Next.DONE:
            part.code = code
            logger.info("%s: it has no work left", what)
        elif following is Next.AGAIN:
            pause = min(self._pause * 2 ** max(part.failures - 1, 0), _LONGEST_PAUSE_SECONDS)
            part.due = self._clock() + pause
            logger.warning("%s, and is started again in %g s; the others continue", what, pause)
        else:
            again = "" if code in REFUSED else f" for the {part.failures}th time soon after its start"
            logger.error("%s%s: all processes end, after returning their tasks", what, again)
            return code if code >= 0 else 128 - code
        return None

    def _show_probes(self) -> None:
        """Create this worker's files for probes once each process has created its own. Both remain while one is
        restarted: the others work."""
        for part in self._parts:
            part.was_ready |= part.ready.exists()
        shown = {
            ALIVE: all(part.alive.exists() for part in self._parts), READY: all(part.was_ready for part in self._parts),
        }  # fmt: skip
        for variable, is_shown in shown.items():
            if is_shown and (path := self._probes[variable]):
                Path(path).touch()
                self._probes[variable] = ""

    def _pass_on_signals(self) -> int | None:
        """Pass received signals on to the processes, and return the exit code if they are to end."""
        ending = None
        while self._signals:
            if self._signals.pop(0) == signal.SIGUSR1:
                for part in self._parts:
                    # Its handler is installed before the file is created.
                    if part.process is not None and part.alive.exists():
                        part.process.send_signal(signal.SIGUSR1)
            else:
                self._stop()
                ending = int(Exit.TERMINATED)
        return ending

    def _stop(self) -> None:
        """Have all processes send their results and return the rest."""
        for part in self._parts:
            if part.process is not None:
                part.process.send_signal(signal.SIGTERM)

    def _code_of_all(self) -> int:
        return max(part.code or 0 for part in self._parts)


def _how(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    with suppress(ValueError):
        return f"by {signal.Signals(-code).name}"
    return f"by signal {-code}"


def _end_with_parent() -> None:
    """Runs in the child process: SIGTERM when this process is killed, so that no worker is left on a GPU."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
