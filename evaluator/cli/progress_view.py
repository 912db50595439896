"""Progress of an evaluation: a bar on a terminal, else a line every ten seconds."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from evaluator.cli.progress_lines import ProgressLines

if TYPE_CHECKING:
    from evaluator.execution.engine.progress import Progress


class ProgressView:
    """Counts tasks; shows remaining calls, rate and estimated time of the execution."""

    def __init__(self, *, title: str, tasks: int, console: Console) -> None:
        self._tasks = tasks
        self._completed = 0
        self._title = title
        self._text = ""
        self._lines = ProgressLines(self._line, stream=console.file)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=len(f"{tasks}/{tasks}"))),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
            # Last, so that narrow terminals truncate this column, not counts or time.
            TextColumn("{task.fields[execution]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            expand=True,
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task(title, total=tasks, execution="")

    def __enter__(self) -> Self:
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
        self._text = describe(progress)
        self._show()

    def _show(self) -> None:
        self._bars.update(self._bar, completed=self._completed, execution=self._text)

    def _line(self) -> str:
        line = f"{self._title}: {self._completed}/{self._tasks} tasks"
        return f"{line}; {self._text}" if self._text else line


def describe(progress: "Progress") -> str:
    """One line: `Image Captioning; 240 calls, about 360 left, 41.5/s, about 9 s`."""
    left = f"{progress.calls} calls, about {progress.calls_left:.0f} left"
    speed = f"{progress.rate:.1f}/s"
    until = "" if progress.eta_seconds is None else f", about {progress.eta_seconds:.0f} s"
    return f"{progress.tool}; {left}, {speed}{until}"
