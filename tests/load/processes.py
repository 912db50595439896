"""The processes of a load test: started in sessions of their own, measured, and ended by their ids."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.processes import Program, tails


class Processes:
    """Programs of this test by what they are: `site`, `celery`, `beat`, `workers`."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str]) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._environment = dict(environment)
        self._started: list[tuple[str, Program]] = []
        self._others: list[tuple[str, int]] = []

    def measure_too(self, *, what: str, pid: int) -> None:
        """Measure a process that somebody else has started and ends."""
        self._others.append((what, pid))

    def start(self, *, what: str, name: str, module: str, arguments: Sequence[str]) -> None:
        """Start `python -m module`; its output goes to `name`.log."""
        command = [sys.executable, "-m", module, *arguments]
        program = Program(command, log=self._logs / f"{name}.log", environment=self._environment)
        self._started.append((what, program))

    def check(self) -> None:
        """Fail if one has ended: a load test in which something died measures nothing."""
        for what, program in self._started:
            code = program.process.poll()
            assert code is None, f"a process of {what} ended with {code}:\n{self.tails()}"

    def tails(self) -> str:
        """The ends of all logs."""
        return tails(self._logs.iterdir())

    def memory(self) -> dict[str, float]:
        """Resident memory in MiB of each kind, children included."""
        return self._sums(_resident)

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU time that each kind has used so far, children included."""
        return self._sums(_cpu_seconds)

    def _sums(self, measure: Callable[[psutil.Process], float]) -> dict[str, float]:
        found: dict[str, float] = {}
        families = [(what, program.family()) for what, program in self._started]
        families += [(what, _family(pid)) for what, pid in self._others]
        for what, family in families:
            found[what] = found.get(what, 0.0) + sum(map(measure, family))
        return found

    def stop(self) -> None:
        """End all, the last one first, so that workers can say goodbye to a site that still answers."""
        for _, program in reversed(self._started):
            program.stop()


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
