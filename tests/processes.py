"""Programs that tests start: their output explains failures, and none of them outlives the process of the tests.

A watcher kills what is left as soon as this process has ended, whatever ended it: `-x`, Ctrl-C, a time limit, SIGKILL.
It finds programs by a variable in their environment, which their own children inherit, and everything below them.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
_MARK = "STARTED_BY_TESTS_OF_"
_TAIL = 3000
"""Characters of each log that a failing test shows."""
_STACK_SECONDS = 2.0


class Program:
    """A program in a session of its own: Ctrl-C reaches the tests alone, which end it in order."""

    def __init__(
        self, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None, cwd: Path = ROOT,
        logs: Callable[[], Iterable[Path]] = tuple,
    ) -> None:  # fmt: skip
        """Start it.

        Args:
            command: program and arguments.
            log: file of its output.
            environment: its variables; by default those of the tests.
            cwd: its working directory.
            logs: further files that explain a failure, such as those of its children.
        """
        self.log = log
        self._logs = logs
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                list(command), cwd=cwd, env=marked(os.environ if environment is None else environment),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], Any], *, what: str, seconds: float = 240, every: float = 0.1) -> Any:
        """Poll until the condition is true, and return its value.

        Raises:
            AssertionError: it ended, or the time passed; with the stacks of all its Python processes and their logs.
        """
        until = time.monotonic() + seconds
        while not (found := condition()):
            assert self.process.poll() is None, f"ended while waiting for {what}:\n{self.tails()}"
            assert time.monotonic() < until, f"{what} did not happen within {seconds:g} s:\n{self.stacks()}"
            time.sleep(every)
        return found

    def family(self) -> list[psutil.Process]:
        """It and its descendants."""
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        return []

    def stacks(self) -> str:
        """End all its Python processes so that each writes its stacks into its log; the ends of all logs."""
        write_stacks(self.family())
        return self.tails()

    def tails(self) -> str:
        """The ends of its logs."""
        return tails([self.log, *self._logs()])

    def stop(self, number: signal.Signals = signal.SIGTERM, *, seconds: float = 60) -> int:
        """Ask it to end; its exit code. What does not end in time is killed with everything below it."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            family = self.family()
            said = self.stacks()
            kill(family)
            self.process.wait()
            raise AssertionError(f"did not end within {seconds:g} s after {number.name}:\n{said}") from None


def tails(logs: Iterable[Path]) -> str:
    """The ends of these files, each under its name."""
    return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-_TAIL:]}" for log in logs if log.is_file())


def write_stacks(processes: Iterable[psutil.Process]) -> None:
    """End these with SIGABRT, at which Python writes the stacks of its threads (`PYTHONFAULTHANDLER`)."""
    asked = []
    for process in processes:
        with suppress(psutil.Error):
            if "python" in process.name():
                process.send_signal(signal.SIGABRT)
                asked.append(process)
    psutil.wait_procs(asked, timeout=_STACK_SECONDS)


def kill(processes: Iterable[psutil.Process]) -> None:
    """End these at once."""
    chosen = list(processes)
    for process in chosen:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(chosen, timeout=10)


def marked(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables by which the watcher finds a program, which writes its stacks when it is aborted."""
    return {**environment, _watched(os.getpid()): "1", "PYTHONFAULTHANDLER": "1"}


@cache
def _watched(pid: int) -> str:
    """The variable of this process's programs, for which a watcher runs from now on."""
    variable = f"{_MARK}{pid}"
    # Its input ends with this process, which keeps the other end open and unused. It is nobody's child, so that whoever
    # looks for children that tests left does not find it.
    end, kept = os.pipe()
    command = [sys.executable, "-m", "tests.processes", variable]
    subprocess.run(command, stdin=end, cwd=ROOT, start_new_session=True, check=True)
    os.close(end)
    os.set_inheritable(kept, False)
    return variable


def started_with(variable: str) -> list[psutil.Process]:
    """Every process with this variable in its environment, and what is below one."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and variable in process.environ():
                found |= {one.pid: one for one in (process, *process.children(recursive=True))}
    return list(found.values())


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def free_port() -> int:
    """A port at which nothing listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment of a shell in which nobody has set anything of PlanArena's."""
    names = ("DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLANARENA_")}
    return {name: value for name, value in kept.items() if name not in names} | changes


def main(variable: str) -> None:
    """Go to the background, wait for the end of the process that started this one, and kill what it left."""
    if os.fork():
        return
    sys.stdin.buffer.read()
    while left := started_with(variable):
        kill(left)


if __name__ == "__main__":
    main(*sys.argv[1:])
