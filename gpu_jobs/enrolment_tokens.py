"""Where a worker's enrolment token comes from: given once, or in a file that others renew, such as that of a Secret."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

logger = logging.getLogger(__name__)

_SAID_EVERY_SECONDS = 60.0
_LARGEST = 4096
"""Characters."""
RENEWED_WITHIN_SECONDS = 150.0
"""For so long a refused token is expected to be replaced in its file: the kubelet takes up to two minutes."""


class TokenSource(Protocol):
    """Gives a worker its enrolment token."""

    def current(self) -> str:
        """The token; waits for it if it has not come yet."""
        ...

    def after(self, refused: str) -> str:
        """Another token than one that the site refuses; empty if there is none."""
        ...


class GivenToken:
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
        poll_seconds: between two looks at it.
        sleep: how to wait.
        clock: the time in seconds; tests give their own.
        """
        self._path = path
        self._poll = poll_seconds
        self._sleep = sleep
        self._clock = clock

    def current(self) -> str:
        """See `TokenSource.current`. Waits without end, and says so once a minute."""
        said_at = float("-inf")
        while not (token := self._read()):
            if self._clock() - said_at >= _SAID_EVERY_SECONDS:
                logger.warning("waiting for an enrolment token in %s", self._path)
                said_at = self._clock()
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
        """The token; empty while there is no file, or nothing in it."""
        try:
            with self._path.open(encoding="ascii", errors="replace") as file:
                return file.read(_LARGEST).strip()
        except OSError:
            return ""
