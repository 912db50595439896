"""Progress without a terminal: a line every ten seconds."""

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import IO, Self

LINE_SECONDS = 10.0
"""Pipelines consider a job hung that prints nothing for some minutes."""


class ProgressLines:
    """Prints lines while its block runs, unless the stream is a terminal.

    A thread prints them, so that they continue while a model loads or an endpoint answers.
    """

    def __init__(self, text: Callable[[], str], *, stream: IO[str]) -> None:
        """Args:
        text: returns the line; called in another thread.
        stream: usually standard error.
        """
        self._text, self._stream, self._ended = text, stream, Event()
        self._thread = Thread(target=self._print, name="progress", daemon=True)

    def __enter__(self) -> Self:
        if not self._stream.isatty():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Stop printing."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _print(self) -> None:
        while not self._ended.wait(LINE_SECONDS):
            self._stream.write(f"{self._text()}\n")
            self._stream.flush()
