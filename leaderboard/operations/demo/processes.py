"""Child processes of the demo: started, watched, restarted when they die or their sources change, and stopped."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import httpx  # noqa: TID251 - asks the demo's own site
import psutil

from evaluator.core.private_files import private_folder

STOP_SECONDS = 10.0
RESTARTS_ALLOWED = 5
QUEUE, SITE = ("celery", "beat"), ("site",)
WORKERS = "workers"
"""Workers of evaluations, which the launcher starts."""
_PACKAGES = ("evaluator", "gpu_jobs", "leaderboard")
_TEMPLATES = Path("frontend") / "templates"


class DemoError(Exception):
    """The demo cannot continue; the message is a sentence for the user."""


@dataclass(slots=True)
class Child:
    """A process that the demo keeps running."""

    name: str
    command: Sequence[str]
    log: Path
    process: "subprocess.Popen[bytes]"
    environment: Mapping[str, str]
    descriptors: Sequence[int] = ()
    restarts: int = 0
    started: float = field(default_factory=time.monotonic)


class Supervisor:
    """Owns the demo's processes. Their output goes to one log file each."""

    def __init__(
        self,
        *,
        logs: Path,
        home: Path,
        environment: Mapping[str, str],
        raise_if_interrupted: Callable[[], None] = lambda: None,
    ) -> None:
        """`raise_if_interrupted` comes from `interruptible`; every `watch` calls it."""
        self.logs = logs
        self._home = home
        self._environment = dict(environment)
        self._raise_if_interrupted = raise_if_interrupted
        self._children: list[Child] = []
        private_folder(logs)
        self._end_leftovers()

    def start(
        self,
        *,
        name: str,
        command: Sequence[str],
        descriptors: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a process and keep it running until `stop`.

        Args:
            name: used in messages and for its log.
            command: program and arguments.
            descriptors: open files that it inherits.
            environment: replaces the default environment.
        """
        log = self.logs / f"{name}.log"
        log.unlink(missing_ok=True)
        own = self._environment if environment is None else dict(environment)
        process = self._spawn(command=command, log=log, descriptors=descriptors, environment=own)
        child = Child(name=name, command=command, log=log, process=process, environment=own, descriptors=descriptors)
        self._children.append(child)
        self._note_children()

    def watch(self) -> None:
        """Restart processes that have ended.

        Raises:
            DemoError: a process died too often; the sentence names its log and last line.
            KeyboardInterrupt: a signal asked the demo to stop.
        """
        self._raise_if_interrupted()
        for child in self._children:
            if child.process.poll() is None:
                continue
            if child.restarts >= RESTARTS_ALLOWED:
                raise DemoError(
                    f"The {child.name} process ended {child.restarts + 1} times "
                    f"(exit code {child.process.returncode}); the last line of {child.log} is: {last_line(child.log)}"
                )
            child.restarts += 1
            child.process = self._spawn(
                command=child.command, log=child.log, descriptors=child.descriptors, environment=child.environment
            )
            self._note_children()

    def ended(self) -> list[Child]:
        """The processes that have ended and were not restarted.

        Raises:
            KeyboardInterrupt: a signal asked the demo to stop.
        """
        self._raise_if_interrupted()
        return [child for child in self._children if child.process.poll() is not None]

    def restart(self, names: Collection[str]) -> None:
        """Restart these processes with all their descendants, and reset their counts of restarts."""
        chosen = [child for child in self._children if child.name in names]
        _end([process for child in chosen for process in _family(child.process.pid)])
        for child in chosen:
            child.restarts = 0
            child.process = self._spawn(
                command=child.command, log=child.log, descriptors=child.descriptors, environment=child.environment
            )
        self._note_children()

    def stop(self) -> None:
        """Stop all processes with their descendants."""
        _end([process for child in self._children for process in _family(child.process.pid)])
        (self.logs / "pids").unlink(missing_ok=True)

    def _spawn(
        self, *, command: Sequence[str], log: Path, descriptors: Sequence[int], environment: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        with log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - our own programs
                list(command),
                cwd=self._home,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=descriptors,
                # In a new session, so that Ctrl-C reaches only the demo, which then stops the others in order.
                start_new_session=True,
            )

    def _note_children(self) -> None:
        lines = []
        for child in self._children:
            try:
                lines.append(f"{child.process.pid} {psutil.Process(child.process.pid).create_time()}")
            except psutil.NoSuchProcess:
                continue
        (self.logs / "pids").write_text("\n".join(lines))

    def _end_leftovers(self) -> None:
        """End the processes of a killed demo in this data folder."""
        try:
            lines = (self.logs / "pids").read_text().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            pid, created = line.split()
            try:
                if abs(psutil.Process(int(pid)).create_time() - float(created)) < 1:
                    _end(_family(int(pid)))
            except psutil.NoSuchProcess:
                continue


def wait_for_site(*, url: str, supervisor: Supervisor, seconds: float = 60.0) -> None:
    """Wait until the site responds.

    Raises:
        DemoError: it does not in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        supervisor.watch()
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code < 500:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise DemoError(f"The site did not answer at {url} within {seconds:.0f} seconds; see the logs.")


def last_line(log: Path) -> str:
    """The last non-empty line of a log."""
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "(empty)"


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _end(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        _signal(process, signal.SIGTERM)
    _, alive = psutil.wait_procs(processes, timeout=STOP_SECONDS)
    for process in alive:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=STOP_SECONDS)


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Handle SIGTERM like Ctrl-C within the block, so that `kill` stops all processes, too.

    Yields:
        A function that raises KeyboardInterrupt if a signal has arrived. Call it in every loop: a library may have
        caught the first exception.

    Later signals are ignored, because they would interrupt the shutdown. SIGINT is included, because processes in the
    background of a script inherit that it is ignored.
    """

    received: list[int] = []

    def raise_if_interrupted() -> None:
        if received:
            raise KeyboardInterrupt

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's signature
        received.append(number)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield raise_if_interrupted
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class SourceWatcher:
    """Detects changed files of a checkout."""

    def __init__(self, root: Path) -> None:
        """`root`: the checkout."""
        self._root = root
        self._seen = self._look()

    def changed(self) -> list[Path]:
        """Files that were changed, added or removed since the last call, relative to the checkout."""
        before, self._seen = self._seen, self._look()
        paths = {path for path, _ in before.items() ^ self._seen.items()}
        return sorted(path.relative_to(self._root) for path in paths)

    def _look(self) -> Mapping[Path, int]:
        """Modification time of each file in nanoseconds."""
        times = {}
        for path in (
            *(path for package in _PACKAGES for path in (self._root / package).rglob("*.py")),
            *(self._root / _TEMPLATES).rglob("*.*"),
        ):
            try:
                times[path] = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
        return times


def to_restart(changed: Sequence[Path]) -> set[str]:
    """Names of the processes that use the changed files, including `WORKERS` for evaluation workers.

    Each process caches compiled templates, and the queue's processes render emails.
    """
    names = set[str]()
    for path in changed:
        names.update(SITE, QUEUE)
        if path.parts[0] in {"evaluator", "gpu_jobs"}:
            names.add(WORKERS)
    return names
