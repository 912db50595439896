"""Sources of a worker's enrolment token: a static one, or a file that is renewed, such as a mounted Secret."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

logger = logging.getLogger(__name__)

_LOG_EVERY_SECONDS = 60.0
_LARGEST = 4096
"""Characters."""
RENEWED_WITHIN_SECONDS = 150.0
"""How long to wait for a refused token to be replaced in its file: the kubelet takes up to two minutes."""


class TokenSource(Protocol):
    """Source of a worker's enrolment token."""

    def current(self) -> str:
        """The token; waits until there is one."""
        ...

    def after(self, refused: str) -> str:
        """A replacement for a refused token; empty if there is none."""
        ...


class StaticToken:
    """A token that never changes."""

    def __init__(self, token: str) -> None:
        self._token = token

    def current(self) -> str:
        """See `TokenSource.current`."""
        return self._token

    def after(self, refused: str) -> str:  # noqa: ARG002 - as the file's
        """See `TokenSource.after`."""
        return ""


class TokenFile:
    """A token in a file, which is read whenever it is needed."""

    def __init__(
        self,
        path: Path,
        *,
        poll_seconds: float = 2.0,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        path: of the file.
        poll_seconds: interval of reads while waiting.
        sleep: for tests.
        clock: for tests.
        """
        self._path = path
        self._poll = poll_seconds
        self._sleep = sleep
        self._clock = clock

    def current(self) -> str:
        """See `TokenSource.current`. Waits without a limit, and logs that once a minute."""
        logged_at = float("-inf")
        while not (token := self._read()):
            if self._clock() - logged_at >= _LOG_EVERY_SECONDS:
                logger.warning("waiting for an enrolment token in %s", self._path)
                logged_at = self._clock()
            self._sleep(self._poll)
        return token

    def after(self, refused: str) -> str:
        """See `TokenSource.after`. Waits until the file is renewed, for `RENEWED_WITHIN_SECONDS`."""
        until = self._clock() + RENEWED_WITHIN_SECONDS
        while self._clock() < until:
            token = self._read()
            if token and token != refused:
                return token
            self._sleep(self._poll)
        return ""

    def _read(self) -> str:
        """The token; empty if the file is missing or empty."""
        try:
            with self._path.open(encoding="ascii", errors="replace") as file:
                return file.read(_LARGEST).strip()
        except OSError:
            return ""
