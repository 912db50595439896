"""Progress of an evaluation: a bar on a terminal, else a few lines."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from evaluator.cli.progress_lines import ProgressLines, span_in_words

if TYPE_CHECKING:
    from evaluator.execution.engine.progress import Progress


class ProgressView:
    """Counts tasks; shows rate and remaining time, of the calls of experts while plans are executed."""

    def __init__(
        self, *, title: str, tasks: int, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock`: monotonic clock in seconds."""
        self._tasks, self._completed = tasks, 0
        self._title, self._clock = title, clock
        self._began: float | None = None
        self._execution: Progress | None = None
        self._lines = ProgressLines(self._line, stream=console.file, share=self._share)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=len(f"{tasks}/{tasks}"))),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
            # Last, so that narrow terminals truncate this column, not counts or time. Its end is the tool's name.
            TextColumn("{task.fields[pace]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            expand=True,
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task(title, total=tasks, pace="")

    def __enter__(self) -> Self:
        self._began = self._clock()
        self._bars.start()
        self._lines.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.__exit__(kind, error, trace)
        self._bars.stop()

    def task_completed(self) -> None:
        """Count a completed task."""
        self._completed += 1
        self._show()

    def executed(self, progress: "Progress") -> None:
        """Listener of the engine."""
        self._execution = progress
        self._show()

    def _show(self) -> None:
        self._bars.update(self._bar, completed=self._completed, pace=self._pace())

    def _line(self) -> str:
        line = f"{self._title}: {self._completed}/{self._tasks} tasks"
        pace = self._pace()
        return f"{line}; {pace}" if pace else line

    def _pace(self) -> str:
        """Remaining time, rate and current tool; of the tasks where nothing is executed."""
        if self._execution is not None and self._completed < self._tasks:
            return describe(self._execution)
        seconds = 0.0 if self._began is None else self._clock() - self._began
        if not self._completed or seconds <= 0:
            return ""
        rate = self._completed / seconds
        left = (self._tasks - self._completed) / rate
        return f"{_left(left)}{_rate(rate, 'task')}"

    def _share(self) -> float:
        """The completed part: of the execution's steps, which end long before the first task of a large run."""
        share = self._completed / self._tasks if self._tasks else 1.0
        execution = self._execution
        if execution is not None and execution.steps_total:
            share = max(share, execution.steps / execution.steps_total)
        return min(1.0, share)


def describe(progress: "Progress") -> str:
    """One line: `about 9 s left, 41.5 calls/s; Image Captioning, 240 calls, about 360 left`."""
    left = f"{progress.calls} calls, about {progress.calls_left:.0f} left"
    where = f"{progress.tool}, {left}" if progress.tool else left
    return f"{_left(progress.eta_seconds)}{_rate(progress.rate, 'call')}; {where}"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {span_in_words(seconds)} left, "


def _rate(rate: float, what: str) -> str:
    """A rate such as `41.5 calls/s`, or the time of one for slow ones: `12 s a call`."""
    if rate <= 0:
        return f"no {what} yet"
    return f"{rate:.1f} {what}s/s" if rate >= 0.1 else f"{span_in_words(1 / rate)} a {what}"
