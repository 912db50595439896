"""Stopwatches that add up time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
