"""Runs programs on inputs, each in a separate process, and returns their results."""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.programs.remote import Running, opened
from evaluator.sandbox.programs.results import CallResult, Failed, read_results
from evaluator.sandbox.programs.wire import Failure, Layer, Limits
from evaluator.sandbox.programs.worker import WorkerError

ALL_LAYERS = frozenset(Layer)
_MOST_WORKERS = 2
_SPARE_BYTES = 4096
"""Of a line, besides its value."""
_ANY_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program and its calls."""

    source: str
    """Source text of at most 64 KiB."""
    entry: str | None = None
    """The function to call. If None, the answer is the value of the last expression, or of the last function without
    required arguments."""
    calls: Sequence[Sequence[JsonValue]] = field(default=((),))
    """The arguments of each call. Calls share nothing: each executes the program again."""
    tuples: bool = True
    """Whether results may contain tuples, which become lists."""


class Runner:
    """Runs programs over a library of helpers, in a pool of confined processes.

        with Runner(library=[source]) as runner:
            [results] = runner.run([Program(source=text, entry="transform", calls=[[grid]])])

    A process forks a child for each program. `support` reports whether this machine confines them.
    """

    def __init__(
        self,
        *,
        library: Sequence[str] = (),
        limits: Limits | None = None,
        layers: frozenset[Layer] = ALL_LAYERS,
        workers: int | None = None,
    ) -> None:
        """Does not start a process yet.

        Args:
            library: source texts of helpers, trusted and with the standard library only; programs call their public
                functions by name, and read their public numbers and texts.
            limits: of each program.
            layers: to apply; those that this machine lacks are skipped, see `support`. A remote server applies all.
            workers: number of processes; None for one per core, at most 2.
        """
        self._library = tuple(library)
        self._limits = limits or Limits()
        self._layers = layers
        self._count = workers or min(_MOST_WORKERS, os.cpu_count() or 1)
        self._idle: SimpleQueue[Running | None] = SimpleQueue()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Start a process; the others start when needed.

        Raises:
            WorkerError: it does not start; for example, the library raises an exception.
        """
        self._idle.put(self._started())
        for _ in range(self._count - 1):
            self._idle.put(None)
        self._pool = ThreadPoolExecutor(max_workers=self._count, thread_name_prefix="programs")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Kill all processes."""
        assert self._pool is not None
        self._pool.shutdown(cancel_futures=True)
        while not self._idle.empty():
            worker = self._idle.get()
            if worker is not None:
                worker.close()

    def run(self, programs: Sequence[Program], *, schema: TypeAdapter[Any] = _ANY_JSON) -> list[tuple[CallResult, ...]]:
        """The results of each program's calls, in order.

        Args:
            programs: to run.
            schema: validates each value strictly; results contain the validated values.
        """
        assert self._pool is not None, "use it as a context manager"
        return list(self._pool.map(lambda program: self._run(program, schema=schema), programs))

    def processes(self) -> list[int]:
        """The ids of the idle processes; programs run in their children."""
        workers = [self._idle.get() for _ in range(self._idle.qsize())]
        for worker in workers:
            self._idle.put(worker)
        return [worker.pid for worker in workers if worker is not None]

    def _run(self, program: Program, *, schema: TypeAdapter[Any]) -> tuple[CallResult, ...]:
        most_line = self._limits.answer_bytes + _SPARE_BYTES
        calls = len(program.calls)
        arguments = [json.dumps(list(values), allow_nan=False) for values in program.calls]
        request = json.dumps({
            "source": program.source, "entry": program.entry, "calls": arguments, "tuples": program.tuples,
        })  # fmt: skip
        try:
            with self._worker() as worker:
                answer, ending = worker.run(request, most_bytes=calls * most_line)
        except WorkerError as error:
            lost = Failed(Failure.UNAVAILABLE, f"The process of programs was lost: {str(error)[:200]}.", None)
            return (lost,) * calls
        return read_results(answer, ending=ending, calls=calls, most_bytes=most_line, schema=schema)

    @contextmanager
    def _worker(self) -> Iterator[Running]:
        """An idle process; after a failure it is replaced on next use."""
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._started()
            yield worker
        except WorkerError:
            if worker is not None:
                worker.close()
                worker = None
            raise
        finally:
            self._idle.put(worker)

    def _started(self) -> Running:
        return opened(layers=self._layers, limits=self._limits, library=self._library)
