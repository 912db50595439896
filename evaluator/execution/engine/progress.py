"""Progress, speed and remaining time of a run, and the stopwatches that measure it."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaluator.execution.engine.frontier import Frontier


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run of the engine is. A step counts once for each job, a call once for all that share it."""

    steps: int
    """Steps that are executed, found in the store, failed or given up."""
    steps_total: int
    jobs: int
    """Plans on samples that are over."""
    jobs_total: int
    calls: int
    """Distinct calls that experts have worked on."""
    calls_left: float
    """Those that are still to come: exact where inputs are there, else estimated from what was shared so far."""
    seconds: float
    """Since the run began."""
    rate: float
    """Calls per second."""
    eta_seconds: float | None
    """Estimated from what a call of each tool took; None before the first."""
    tool: str | None
    """The tool that runs next or at present."""


Listener = Callable[[Progress], None]


class Tracker:
    """Counts what happens in a run and tells a listener."""

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

    def tell(self, tool: str | None) -> None:
        """Tell the listener, if there is one."""
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
            # What is not the experts' time (scoring, storing) goes on at the pace so far.
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
        """Per tool: what is pending, and what is coming times the share of steps that turned out to be new calls."""
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
class Stopwatch:
    """Time spent inside `running`, in seconds."""

    wall: float = 0.0
    cpu: float = 0.0
    """Of all threads of this process. On a machine that others use too it tells more than the wall does."""
    listener: Callable[[float], None] | None = None
    """Called at the end of each stretch with its wall time in seconds."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the time until the context is left, by an error too."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            took = time.perf_counter() - wall
            self.wall += took
            self.cpu += time.process_time() - cpu
            if self.listener is not None:
                self.listener(took)
