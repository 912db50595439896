"""Sends a worker's log of a lease to the site, for the evaluation's owner.

Only messages are sent. Tracebacks, which contain paths of the worker's machine, stay in its local log. Errors of
sending do not affect the attempt.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from types import TracebackType
from typing import Self

from gpu_jobs.client import ApiClient, AttemptOverError, RefusedError, UnreachableError
from gpu_jobs.contract import (
    LONGEST_LEVEL,
    LONGEST_LINE,
    MOST_LINES_PER_CALL,
    LogLine,
    LogLines,
)
from gpu_jobs.planners import HeldLease, addresses_of, secrets_of
from gpu_jobs.redaction import Redactor

_MOST_WAITING = 2000
_LONGEST_MESSAGE = 20 * LONGEST_LINE
_LAST_WORDS_SECONDS = 5.0
_CUT = "… (cut)"


class AttemptLog:
    """Collects the lines of one attempt and sends them every few seconds."""

    def __init__(
        self, *, client: ApiClient, lease: HeldLease, secrets: Iterable[str] = (), every_seconds: float = 2.0
    ) -> None:
        """Args:
        client: the API.
        lease: of the attempt; its secrets and its planner's addresses are redacted.
        secrets: further texts to redact.
        every_seconds: interval of calls.
        """
        self._client = client
        self._lease = lease
        self.redact = Redactor(secrets=[*secrets, *secrets_of(lease)], addresses=addresses_of(lease))
        self._collector = _Collector(self.redact)
        self._every = every_seconds
        self._first = 0
        """Number of the first waiting line."""
        self._is_open = True
        """Whether the site accepts further lines."""
        self._sending = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self._collector)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeHandler(self._collector)
        self._stopping.set()

    def finish(self) -> None:
        """Send waiting lines and stop, before the attempt ends. Never fails."""
        self._send(patience=_LAST_WORDS_SECONDS)
        self._is_open = False

    def rest(self) -> LogLines:
        """Stop, and return the last lines, which the caller sends. Lines beyond one call are sent first."""
        with self._sending:
            while self._is_open and self._collector.waits_for_more_than(MOST_LINES_PER_CALL):
                if not self._send_some(patience=_LAST_WORDS_SECONDS):
                    break
            lines = self._collector.first(MOST_LINES_PER_CALL) if self._is_open else ()
            self._is_open = False
            return LogLines(first=self._first, lines=lines)

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            self._send(patience=0.0)

    def _send(self, *, patience: float) -> None:
        with self._sending:
            while self._is_open and self._send_some(patience=patience):
                pass

    def _send_some(self, *, patience: float) -> bool:
        """Send the oldest lines. False if none wait, or the site does not accept them now."""
        lines = self._collector.first(MOST_LINES_PER_CALL)
        if not lines:
            return False
        try:
            log = LogLines(first=self._first, lines=lines)
            taken = self._client.log(lease=self._lease, log=log, patience=patience)
        except UnreachableError:
            # The next call sends the same lines.
            return False
        except (AttemptOverError, RefusedError):
            self._is_open = False
            return False
        self._collector.forget(len(lines))
        self._first += len(lines)
        self._is_open = not taken.cut
        return True


class _Collector(logging.Handler):
    """Buffers lines until they are sent; drops the newest when the buffer is full."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(level=logging.INFO)
        self._redact = redact
        self._waiting: deque[LogLine] = deque()
        self._dropped = 0
        self._changing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text = f"{text}\n{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        except Exception:  # noqa: BLE001 - a faulty message must not affect the caller
            self.handleError(record)
            return
        for line in self._redact(text[:_LONGEST_MESSAGE]).splitlines():
            self._add(LogLine(at=record.created, level=record.levelname[:LONGEST_LEVEL], text=_bounded(line)))

    def first(self, count: int) -> tuple[LogLine, ...]:
        """The oldest waiting lines."""
        with self._changing:
            return tuple(islice(self._waiting, count))

    def waits_for_more_than(self, count: int) -> bool:
        """Whether more than `count` lines wait."""
        with self._changing:
            return len(self._waiting) > count

    def forget(self, count: int) -> None:
        """Remove the oldest lines, which have arrived."""
        with self._changing:
            for _ in range(count):
                self._waiting.popleft()

    def _add(self, line: LogLine) -> None:
        with self._changing:
            if len(self._waiting) >= _MOST_WAITING:
                self._dropped += 1
                return
            if self._dropped:
                note = f"({self._dropped} lines were dropped: the site could not be reached)"
                self._waiting.append(LogLine(at=line.at, level="WARNING", text=note))
                self._dropped = 0
            self._waiting.append(line)


def _bounded(line: str) -> str:
    """The truncated line, without characters that databases do not store."""
    line = line.encode("utf-8", "replace").decode().replace("\x00", "?")
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - len(_CUT)] + _CUT
