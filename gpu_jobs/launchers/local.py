"""Workers as processes of this machine: one pool of fixed size for all evaluations.

Files with process id and start time, not the memory of a process, say what runs: whoever looks finds the same workers,
also after a restart.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

import psutil

from evaluator.core.private_files import private_folder
from gpu_jobs.launchers.base import Enrolments, LaunchError, Liveness
from gpu_jobs.redaction import Redactor
from gpu_jobs.worker_secrets import NO_SECRETS, OPTION, WorkerSecrets, harmless, piped

PREFIX = "local-"
_CRASH_WINDOW_SECONDS = 60
_CRASHES_ALLOWED = 5
_KEEP_DEAD_SECONDS = 600
_IDLE_SECONDS = 600
_SHARE = 0.8
"""Of the machine's memory, for all workers together. The site and its database need the rest."""
_LEAST = 2 * 1024**3
"""Bytes. A worker of the profile `lilliput` needs half of it."""
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class _WorkerProcess:
    """A worker that was started here."""

    handle: str
    pid: int
    created: float
    """Start time of the process, since process ids are used again."""
    started_at: float
    api_url: str
    """The site that it works for."""
    log: Path

    def running(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.created) > 1:
                return False
            # A killed child that nobody waited for is still listed.
            return process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What each worker may use. One that uses more is killed, and its evaluation's owner reads why."""

    memory_bytes: int = 0
    """Of the worker and its children, without mapped files; 0: no limit."""
    seconds: float = 0
    """Of its whole life; then it gets SIGTERM. 0: no limit."""
    grace_seconds: float = 30
    """To stop by itself; then it is killed."""


NO_LIMITS = Limits()


class LocalLauncher:
    """Starts `python -m gpu_jobs worker` in the background, with its output in a log file."""

    def __init__(
        self,
        *,
        folder: Path,
        api_url: str,
        store: Path,
        workers: int,
        environment: Mapping[str, str],
        enrolments: Enrolments,
        secrets: WorkerSecrets = NO_SECRETS,
        home: Path,
        command: tuple[str, ...] = (sys.executable, "-m", "gpu_jobs", "worker"),
        limits: Limits = NO_LIMITS,
    ) -> None:
        """Args:
        folder: where the files about workers and their logs are.
        api_url: where the API is.
        store: folder of the store that workers use.
        workers: how many run at once.
        environment: what their environment is taken from; secrets, and what workers do not need, are left out.
        enrolments: where each worker's token comes from.
        secrets: what they read from a pipe besides the token.
        home: the folder they run in.
        command: the worker program.
        limits: what each of them may use.
        """
        self._folder = folder
        self._api_url = api_url
        self._store = store
        self._workers = workers
        self._environment = harmless(environment)
        self._enrolments = enrolments
        self._secrets = secrets
        self._home = home
        self._command = command
        self._limits = limits

    def ensure(self, *, evaluation_id: str) -> str:  # noqa: ARG002 - one pool serves all
        """See that the pool is full, and return the handle of its oldest worker."""
        with self._locked():
            known = self._known()
            running = [worker for worker in known if worker.running()]
            for worker in [worker for worker in running if worker.api_url != self._api_url]:
                # Left over from a site at another address: it would wait there forever.
                _terminate(worker.pid)
                running.remove(worker)
            if not running:
                self._refuse_crash_loop(known)
            while len(running) < self._workers:
                running.append(self._start())
            self._forget_old(known)
            return running[0].handle

    def alive(self, *, handle: str) -> Liveness:
        """Whether a worker that was started and noted here runs; unknown for all others."""
        if not handle.startswith(PREFIX):
            return Liveness(alive=None)
        worker = self._read(self._folder / f"{handle}.json")
        if worker is None:
            # Who started it was killed before it could note it, and the worker may live: its heartbeats tell.
            return Liveness(alive=None)
        if worker.running():
            return Liveness(alive=True)
        return Liveness(alive=False, reason=self._reason(handle) or "its process ended")

    def stop(self, *, handle: str) -> None:
        """Ask a worker to stop, and kill it if it does not within ten seconds."""
        worker = self._read(self._folder / f"{handle}.json")
        if worker is not None and worker.running():
            _terminate(worker.pid)

    def stop_if_over(self, *, handle: str) -> None:
        """Have a worker ask whether its present attempt is over, and stop if it is."""
        worker = self._read(self._folder / f"{handle}.json")
        if worker is not None and worker.running():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGUSR1)

    def stop_one(self, *, handle: str) -> None:
        """Stop a worker; `ensure` fills the pool again."""
        self.stop(handle=handle)

    def stop_all(self) -> None:
        """Stop every worker that was started here."""
        for worker in self._known():
            self.stop(handle=worker.handle)

    def _start(self) -> _WorkerProcess:
        handle = f"{PREFIX}{token_hex(4)}"
        token = self._enrolments.mint(name=handle)
        log = self._folder / f"{handle}.log"
        arguments = [*self._guard(handle), *self._command, "--url", self._api_url, "--name", handle]
        arguments += ["--store", str(self._store), "--idle-seconds", str(_IDLE_SECONDS)]
        # Standard input, since the guard between them hands that on by itself.
        arguments += [OPTION, "0"]
        try:
            with log.open("ab") as output, os.fdopen(piped(replace(self._secrets, token=token)), "rb") as handed_over:
                process = subprocess.Popen(  # noqa: S603 - fixed program, no user input
                    arguments,
                    cwd=self._home,
                    env=self._environment,
                    stdin=handed_over,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            created = psutil.Process(process.pid).create_time()
        except (OSError, psutil.Error) as error:
            self._enrolments.withdraw(token)
            raise LaunchError(f"{arguments[0]} could not be started: {error}.") from error
        worker = _WorkerProcess(
            handle=handle, pid=process.pid, created=created, started_at=time.time(),
            api_url=self._api_url, log=log,
        )  # fmt: skip
        self._write(worker)
        return worker

    def _guard(self, handle: str) -> list[str]:
        """What a command line begins with so that the limits are kept."""
        if self._limits == NO_LIMITS:
            return []
        guard = [sys.executable, "-m", "gpu_jobs.launchers.guard", "--note", str(self._note(handle))]
        limits = self._limits
        guard += ["--memory", str(limits.memory_bytes), "--seconds", str(limits.seconds)]
        return [*guard, "--grace", str(limits.grace_seconds), "--"]

    def _note(self, handle: str) -> Path:
        return self._folder / f"{handle}.reason"

    def _reason(self, handle: str) -> str:
        """Why the guard killed the worker; empty if it did not."""
        try:
            return self._note(handle).read_text()
        except OSError:
            return ""

    def _refuse_crash_loop(self, known: list[_WorkerProcess]) -> None:
        """Do not start workers that end at once over and over again: it would hide why they do."""
        recent = [worker for worker in known if time.time() - worker.started_at < _CRASH_WINDOW_SECONDS]
        if len(recent) >= _CRASHES_ALLOWED:
            # Whoever looks at the evaluation reads it.
            last = Redactor(secrets=self._secrets.values())(_last_line(recent[-1].log))
            raise LaunchError(
                f"{len(recent)} workers ended within the last {_CRASH_WINDOW_SECONDS} seconds; "
                f"the last line of {recent[-1].log.name} is: {last!r}."
            )

    def _forget_old(self, known: list[_WorkerProcess]) -> None:
        for worker in known:
            if not worker.running() and time.time() - worker.started_at > _KEEP_DEAD_SECONDS:
                (self._folder / f"{worker.handle}.json").unlink(missing_ok=True)
                worker.log.unlink(missing_ok=True)
                self._note(worker.handle).unlink(missing_ok=True)

    def _known(self) -> list[_WorkerProcess]:
        found = [self._read(path) for path in self._folder.glob(f"{PREFIX}*.json")]
        return sorted((worker for worker in found if worker is not None), key=lambda worker: worker.started_at)

    def _read(self, path: Path) -> _WorkerProcess | None:
        try:
            raw = json.loads(path.read_text())
            return _WorkerProcess(
                handle=path.stem, pid=int(raw["pid"]), created=float(raw["created"]),
                started_at=float(raw["started_at"]), api_url=str(raw["api_url"]), log=path.with_suffix(".log"),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, worker: _WorkerProcess) -> None:
        path = self._folder / f"{worker.handle}.json"
        draft = path.with_suffix(".draft")
        known = {"pid": worker.pid, "created": worker.created, "started_at": worker.started_at}
        draft.write_text(json.dumps({**known, "api_url": worker.api_url}))
        draft.replace(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time starts workers; the lock ends with the process that holds it."""
        # Logs, and the store of workers that may run the hidden split: for nobody else on this machine.
        private_folder(self._folder)
        with (self._folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _terminate(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except psutil.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "(empty)"


def default_worker_memory(*, workers: int) -> int:
    """Bytes that each of so many workers may use on this machine, or in this container."""
    return memory_of_each(total=machine_memory(), workers=workers)


def memory_of_each(*, total: int, workers: int) -> int:
    """Bytes for each of so many workers, of a machine with so many."""
    return max(_LEAST, int(total * _SHARE / workers))


def machine_memory(*, limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """Bytes of memory that the machine has, or that its container may use."""
    total = int(psutil.virtual_memory().total)
    for path in limits:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        # "max", or in version 1 a number beyond all memory: no limit.
        if text.isdigit():
            total = min(total, int(text))
    return total
