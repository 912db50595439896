"""Progress without a terminal: few lines, so that logs of pipelines stay short."""

import re
import time
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import IO, Self

LINE_SECONDS = 10.0
"""Shortest time between two lines."""
LINE_SHARE = 0.1
"""Progress after which the next line is due."""
LONGEST_SILENCE = 30
"""In multiples of `LINE_SECONDS`: pipelines consider a job hung that prints nothing for ten minutes."""
_NUMBERS = re.compile(r"\d+")


class Cadence:
    """Decides when a line is due: after a tenth of the work, or after a silence that doubles up to five minutes. Pure.

    A run of any length thus prints about ten lines and one for each five minutes.
    """

    def __init__(self) -> None:
        self._share, self._text = 0.0, ""
        self._since, self._silence = 0.0, 1.0

    def is_due(self, *, text: str, share: float | None, units: float) -> bool:
        """Whether to print a line now; called at most once per `LINE_SECONDS`.

        Args:
            text: the line. Without a share, a line that differs in more than its numbers is due.
            share: completed part of the work in [0, 1]; None if unknown.
            units: time since the start, in multiples of `LINE_SECONDS`.
        """
        words = _NUMBERS.sub("", text)
        has_moved = words != self._text if share is None else share - self._share >= LINE_SHARE - 1e-9
        is_silent = units - self._since >= self._silence - 1e-9
        if not (has_moved or is_silent):
            return False
        self._silence = max(self._silence, 2.0) if has_moved else min(2 * self._silence, float(LONGEST_SILENCE))
        self._share, self._text, self._since = share or 0.0, words, units
        return True


class ProgressLines:
    """Prints lines while its block runs, unless the stream is a terminal.

    A thread prints them, so that they continue while a model loads or an endpoint answers.
    """

    def __init__(self, text: Callable[[], str], *, stream: IO[str], share: Callable[[], float] | None = None) -> None:
        """Args:
        text: returns the line; called in another thread.
        stream: usually standard error.
        share: returns the completed part of the work in [0, 1]; None if unknown.
        """
        self._text, self._stream, self._share, self._ended = text, stream, share, Event()
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
        cadence, began = Cadence(), time.monotonic()
        while not self._ended.wait(LINE_SECONDS):
            text, share = self._text(), None if self._share is None else self._share()
            if cadence.is_due(text=text, share=share, units=(time.monotonic() - began) / LINE_SECONDS):
                self._stream.write(f"{text}\n")
                self._stream.flush()


def span_in_words(seconds: float) -> str:
    """A time with two units at most: `41 s`, `3 min 20 s`, `1 h 57 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole < 600 and whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 >= 60 else "")
