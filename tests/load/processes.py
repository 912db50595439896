"""The processes of a load test: started in sessions of their own, measured, and ended by their ids."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
_STOP_SECONDS = 10.0


class Processes:
    """Programs of this test by what they are: `site`, `celery`, `beat`, `workers`."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str]) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._environment = dict(environment)
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._others: list[tuple[str, int]] = []

    def measure_too(self, *, what: str, pid: int) -> None:
        """Measure a process that somebody else has started and ends."""
        self._others.append((what, pid))

    def start(self, *, what: str, name: str, module: str, arguments: Sequence[str]) -> None:
        """Start `python -m module`; its output goes to `name`.log."""
        with (self._logs / f"{name}.log").open("wb") as output:
            # A session of its own: Ctrl-C reaches the test alone, which then ends the others in order.
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments], cwd=ROOT, env=self._environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._started.append((what, process))

    def check(self) -> None:
        """Fail if one has ended: a load test in which something died measures nothing."""
        for what, process in self._started:
            assert process.poll() is None, f"a process of {what} ended with {process.returncode}:\n{self.tails()}"

    def tails(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in self._logs.iterdir())

    def memory(self) -> dict[str, float]:
        """Resident memory in MiB of each kind, children included."""
        return self._sums(_resident)

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU time that each kind has used so far, children included."""
        return self._sums(_cpu_seconds)

    def _sums(self, measure: Callable[[psutil.Process], float]) -> dict[str, float]:
        found: dict[str, float] = {}
        for what, pid in [*((what, process.pid) for what, process in self._started), *self._others]:
            found[what] = found.get(what, 0.0) + sum(measure(each) for each in _family(pid))
        return found

    def stop(self) -> None:
        """End all, the last one first, so that workers can say goodbye to a site that still answers."""
        for kind in dict.fromkeys(what for what, _ in reversed(self._started)):
            end([one for what, process in self._started if what == kind for one in _family(process.pid)])
        for _, process in self._started:
            process.wait(timeout=_STOP_SECONDS)


def end(processes: Sequence[psutil.Process]) -> None:
    """Ask these to end, and kill what does not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
        _, processes = psutil.wait_procs(processes, timeout=_STOP_SECONDS)


def _cpu_seconds(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        # With those of its children that have ended: Celery replaces some.
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _resident(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        return float(process.memory_info().rss) / 2**20
    return 0.0


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []
