"""How many costly things one process of the site does at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class NoPlaceError(Exception):
    """Too many wait already, or no place became free in time."""


class Places:
    """A few places, and a short queue for them."""

    def __init__(self, *, at_once: int, waiting: int, wait_seconds: float) -> None:
        """Args:
        at_once: places.
        waiting: callers that wait for one of them.
        wait_seconds: how long each waits.
        """
        self._queue = threading.BoundedSemaphore(at_once + waiting)
        self._places = threading.BoundedSemaphore(at_once)
        self._wait_seconds = wait_seconds

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place, perhaps after waiting.

        Raises:
            NoPlaceError: see there.
        """
        if not self._queue.acquire(blocking=False):
            raise NoPlaceError
        try:
            if not self._places.acquire(timeout=self._wait_seconds):
                raise NoPlaceError
            try:
                yield
            finally:
                self._places.release()
        finally:
            self._queue.release()
