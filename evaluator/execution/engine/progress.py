"""Progress, speed and remaining time of a run, and stopwatches."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaluator.execution.engine.frontier import Frontier


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an engine's run. A step counts once for each job, a call once for all steps that share it."""

    steps: int
    """Steps that are executed, found in the store, failed or abandoned."""
    steps_total: int
    jobs: int
    """Finished jobs."""
    jobs_total: int
    calls: int
    """Distinct calls that experts have executed."""
    calls_left: float
    """Remaining calls: exact where inputs are available, otherwise estimated from the sharing so far."""
    seconds: float
    """Since the start of the run."""
    rate: float
    """Calls per second."""
    eta_seconds: float | None
    """Estimated from the duration of each tool's calls; None before the first."""
    tool: str | None
    """The current or next tool."""


Listener = Callable[[Progress], None]


class Tracker:
    """Counts the events of a run and reports its progress to a listener."""

    def __init__(self, *, frontier: Frontier, steps: int, jobs: int, listener: Listener | None) -> None:
        self._frontier = frontier
        self._steps_total = steps
        self._jobs_total = jobs
        self._listener = listener
        self._started = time.perf_counter()
        self._steps = self._jobs = 0
        self._seen: Counter[str] = Counter()
        """Steps that became ready, by tool."""
        self._calls: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def step_ready(self, tool: str) -> None:
        self._seen[tool] += 1

    def steps_over(self, count: int) -> None:
        self._steps += count

    def job_over(self) -> None:
        self._jobs += 1

    def executed(self, *, tool: str, calls: int, seconds: float) -> None:
        self._calls[tool] += calls
        self._seconds[tool] += seconds

    def report(self, tool: str | None) -> None:
        if self._listener is None:
            return
        remaining = self._calls_left()
        calls, seconds = self._calls.total(), time.perf_counter() - self._started
        worked = sum(self._seconds.values())
        usual = worked / calls if calls else None
        eta = None
        if usual is not None:
            ahead = sum(
                count * (self._seconds[name] / self._calls[name] if self._calls[name] else usual)
                for name, count in remaining.items()
            )
            # Time outside of experts (scoring, storing) is extrapolated.
            eta = ahead * max(seconds / worked, 1.0) if worked else 0.0
        self._listener(
            Progress(
                steps=self._steps,
                steps_total=self._steps_total,
                jobs=self._jobs,
                jobs_total=self._jobs_total,
                calls=calls,
                calls_left=sum(remaining.values()),
                seconds=seconds,
                rate=calls / seconds if seconds else 0.0,
                eta_seconds=eta,
                tool=tool,
            )
        )

    def _calls_left(self) -> dict[str, float]:
        """Per tool: pending calls, plus expected steps times the share of steps that were new calls so far."""
        pending = {tool: self._frontier.pending_calls(tool) for tool in self._frontier.pending_tools}
        new, seen = self._calls.total() + sum(pending.values()), self._seen.total()
        usual = min(new / seen, 1.0) if seen else 1.0
        remaining: dict[str, float] = {tool: float(count) for tool, count in pending.items()}
        for tool, count in self._frontier.coming().items():
            steps = self._seen[tool]
            share = (self._calls[tool] + pending.get(tool, 0)) / steps if steps else usual
            remaining[tool] = remaining.get(tool, 0.0) + count * min(share, 1.0)
        return remaining


@dataclass(slots=True)
class Work:
    """What an expert or a scorer did so far."""

    items: int = 0
    batches: int = 0
    """Calls of its code, each with one or more items."""
    seconds: float = 0.0
    loading: float = 0.0
    """Seconds, not contained in `seconds`."""

    def add(self, *, items: int, seconds: float) -> None:
        """Count a batch."""
        self.items += items
        self.batches += 1
        self.seconds += seconds


@dataclass(slots=True)
class Stopwatch:
    """Accumulates the time inside `running`, in seconds."""

    wall: float = 0.0
    cpu: float = 0.0
    """Of all threads of this process; more meaningful than wall time on a shared machine."""
    listener: Callable[[float], None] | None = None
    """Called at the end of each interval with its wall time in seconds."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the duration of the context, even if it raises."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            took = time.perf_counter() - wall
            self.wall += took
            self.cpu += time.process_time() - cpu
            if self.listener is not None:
                self.listener(took)
