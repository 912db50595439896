"""Workers as processes of this machine: one pool of fixed size for all evaluations, and one for the workbench.

Files with process id and start time record the running workers, so that all processes find the same workers, also after
a restart.
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
from gpu_jobs.launchers.base import Enrolments, LaunchError, Liveness, handle_of
from gpu_jobs.redaction import Redactor
from gpu_jobs.worker_secrets import NO_SECRETS, OPTION, WorkerSecrets, harmless, piped

PREFIX = "local-"
_RUNS_PREFIX = f"{PREFIX}runs-"
"""Of workers that take runs of the workbench only."""
_CRASH_WINDOW_SECONDS = 60
_CRASHES_ALLOWED = 5
_KEEP_DEAD_SECONDS = 600
_IDLE_SECONDS = 600
_SHARE = 0.8
"""Share of the machine's memory for all workers. The site and its database need the rest."""
_LEAST = 2 * 1024**3
"""Bytes. A worker of the profile `lilliput` needs half of it."""
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class _WorkerProcess:
    """A worker that was started here."""

    handle: str
    pid: int
    created: float
    """Start time of the process, since process ids are reused."""
    started_at: float
    api_url: str
    """Address of the site."""
    log: Path

    def running(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.created) > 1:
                return False
            # A killed child is listed until its parent waits for it.
            return process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of each worker. A worker that exceeds them is killed, and its evaluation's owner sees the reason."""

    memory_bytes: int = 0
    """Private memory of the worker and its children; 0: no limit."""
    seconds: float = 0
    """Lifetime, after which it gets SIGTERM; 0: no limit."""
    grace_seconds: float = 30
    """Time between SIGTERM and SIGKILL."""


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
        run_workers: int = 0,
        secrets: WorkerSecrets = NO_SECRETS,
        home: Path,
        command: tuple[str, ...] = (sys.executable, "-m", "gpu_jobs", "worker"),
        limits: Limits = NO_LIMITS,
    ) -> None:
        """Args:
        folder: for files about workers and their logs.
        api_url: address of the API.
        store: folder of the workers' store.
        workers: number of workers.
        environment: source of their environment, from which secrets and unneeded variables are removed.
        enrolments: source of their tokens.
        run_workers: number of further workers that take runs of the workbench only, and wait for them all the time.
        secrets: passed through the pipe besides the token.
        home: their working directory.
        command: the worker program.
        limits: of each worker.
        """
        self._folder = folder
        self._api_url = api_url
        self._store = store
        self._workers = workers
        self._run_workers = run_workers
        self._environment = harmless(environment)
        self._enrolments = enrolments
        self._secrets = secrets
        self._home = home
        self._command = command
        self._limits = limits

    def ensure(self, *, evaluation_id: str) -> str:  # noqa: ARG002 - one pool serves all
        """Fill the pool, and return the handle of its oldest worker."""
        return self._filled(workers=self._workers, only_runs=False)

    def ensure_any(self) -> None:
        """Fill the pool that takes runs."""
        if self._run_workers:
            self.keep_ready()
        else:
            self.ensure(evaluation_id="")

    def keep_ready(self) -> None:
        """Fill the pool of workers that take runs only, if there is one."""
        if self._run_workers:
            self._filled(workers=self._run_workers, only_runs=True)

    def _filled(self, *, workers: int, only_runs: bool) -> str:
        with self._locked():
            known = [worker for worker in self._known() if worker.handle.startswith(_RUNS_PREFIX) == only_runs]
            running = [worker for worker in known if worker.running()]
            for worker in [worker for worker in running if worker.api_url != self._api_url]:
                # Of a site at another address, where it would wait indefinitely.
                _terminate(worker.pid)
                running.remove(worker)
            if not running:
                self._refuse_crash_loop(known)
            while len(running) < workers:
                running.append(self._start(only_runs=only_runs))
            for worker in known:
                if not worker.running() and time.time() - worker.started_at > _KEEP_DEAD_SECONDS:
                    (self._folder / f"{worker.handle}.json").unlink(missing_ok=True)
                    worker.log.unlink(missing_ok=True)
                    self._note(worker.handle).unlink(missing_ok=True)
            return running[0].handle

    def alive(self, *, handle: str) -> Liveness:
        """Whether a worker that was recorded here runs; unknown for all others."""
        if not handle.startswith(PREFIX):
            return Liveness(alive=None)
        handle = handle_of(handle)
        worker = self._read(self._folder / f"{handle}.json")
        if worker is None:
            # The process that started it was killed before it wrote the record; the worker may send heartbeats.
            return Liveness(alive=None)
        if worker.running():
            return Liveness(alive=True)
        try:
            # The guard's reason for killing it.
            reason = self._note(handle).read_text()
        except OSError:
            reason = ""
        return Liveness(alive=False, reason=reason or "its process ended")

    def stop(self, *, handle: str) -> None:
        """Stop a worker, and kill it if it does not stop within ten seconds."""
        worker = self._read(self._folder / f"{handle_of(handle)}.json")
        if worker is not None and worker.running():
            _terminate(worker.pid)

    def stop_if_over(self, *, handle: str) -> None:
        """See `PoolsWorkers.stop_if_over`."""
        worker = self._read(self._folder / f"{handle_of(handle)}.json")
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

    def _start(self, *, only_runs: bool) -> _WorkerProcess:
        handle = f"{_RUNS_PREFIX if only_runs else PREFIX}{token_hex(4)}"
        token = self._enrolments.mint(name=handle)
        log = self._folder / f"{handle}.log"
        arguments = [*self._command, "--url", self._api_url, "--name", handle]
        arguments += ["--store", str(self._store)]
        arguments += ["--only-runs"] if only_runs else ["--idle-seconds", str(_IDLE_SECONDS)]
        # Standard input, which the guard's child inherits.
        arguments += [OPTION, "0"]
        if self._limits != NO_LIMITS:
            guard = [sys.executable, "-m", "gpu_jobs.launchers.guard", "--note", str(self._note(handle))]
            guard += ["--memory", str(self._limits.memory_bytes), "--seconds", str(self._limits.seconds)]
            arguments = [*guard, "--grace", str(self._limits.grace_seconds), "--", *arguments]
        try:
            with log.open("ab") as output, os.fdopen(piped(replace(self._secrets, token=token)), "rb") as pipe:
                process = subprocess.Popen(  # noqa: S603 - fixed program, no user input
                    arguments,
                    cwd=self._home,
                    env=self._environment,
                    stdin=pipe,
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
        path = self._folder / f"{handle}.json"
        draft = path.with_suffix(".draft")
        content = {"pid": worker.pid, "created": worker.created, "started_at": worker.started_at}
        draft.write_text(json.dumps({**content, "api_url": worker.api_url}))
        draft.replace(path)
        return worker

    def _note(self, handle: str) -> Path:
        return self._folder / f"{handle}.reason"

    def _refuse_crash_loop(self, known: list[_WorkerProcess]) -> None:
        """Stop starting workers that end at once, and show why they do."""
        recent = [worker for worker in known if time.time() - worker.started_at < _CRASH_WINDOW_SECONDS]
        if len(recent) < _CRASHES_ALLOWED:
            return
        log = recent[-1].log
        try:
            lines = log.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        # The evaluation's page shows it.
        last = Redactor(secrets=self._secrets.values())(lines[-1][:300] if lines else "(empty)")
        raise LaunchError(
            f"{len(recent)} workers ended within the last {_CRASH_WINDOW_SECONDS} seconds; "
            f"the last line of {log.name} is: {last!r}."
        )

    def _known(self) -> list[_WorkerProcess]:
        workers = [self._read(path) for path in self._folder.glob(f"{PREFIX}*.json")]
        return sorted((worker for worker in workers if worker is not None), key=lambda worker: worker.started_at)

    def _read(self, path: Path) -> _WorkerProcess | None:
        try:
            raw = json.loads(path.read_text())
            return _WorkerProcess(
                handle=path.stem, pid=int(raw["pid"]), created=float(raw["created"]),
                started_at=float(raw["started_at"]), api_url=str(raw["api_url"]), log=path.with_suffix(".log"),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """A lock for starting workers, which ends with its process."""
        # Private: contains logs, and the store of workers that may run the hidden split.
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


def default_worker_memory(*, workers: int) -> int:
    """Memory limit in bytes of each worker on this machine, or in this container."""
    return memory_of_each(total=machine_memory(), workers=workers)


def memory_of_each(*, total: int, workers: int) -> int:
    """Memory limit in bytes of each worker on a machine with `total` bytes."""
    return max(_LEAST, int(total * _SHARE / workers))


def machine_memory(*, limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """Bytes of memory of the machine, or the limit of its container."""
    total = int(psutil.virtual_memory().total)
    for path in limits:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        # Without a limit, "max" or, in version 1, a number beyond all memory.
        if text.isdigit():
            total = min(total, int(text))
    return total
