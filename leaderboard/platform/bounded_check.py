"""Checks of services that may not answer: one at a time, in a separate thread, with a deadline."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BoundedCheck(Generic[Result]):
    """Runs a check on behalf of all callers. There is at most one thread, and no caller waits beyond the deadline,
    which counts from the start of the check."""

    def __init__(
        self, check: Callable[[], Result], *, name: str, deadline: float, late: Result, keep: Callable[[], float]
    ) -> None:
        """Args:
        check: must not raise.
        name: of its thread.
        deadline: seconds to wait for the check.
        late: the result while it takes longer.
        keep: seconds for which a result is reused.
        """
        self._check = check
        self._name = name
        self._deadline = deadline
        self._late = late
        self._keep = keep
        self._lock = threading.Lock()
        self._future: Future[Result] | None = None
        self._began = float("-inf")

    def result(self) -> Result:
        """The result of the check, or `late`."""
        future, seconds = self._current()
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            return self._late

    async def result_in_loop(self) -> Result:
        """`result` without blocking the event loop."""
        future, seconds = self._current()
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), timeout=seconds)
        except TimeoutError:
            return self._late

    def last(self) -> Result | None:
        """What the newest check has found so far: its result, `late` if it is past the deadline, or None. Starts none
        and waits for none."""
        with self._lock:
            future, seconds = self._future, time.monotonic() - self._began
        if future is not None and future.done():
            return future.result()
        return self._late if future is not None and seconds > self._deadline else None

    def forget(self) -> None:
        """Run the check again on the next call."""
        with self._lock:
            if self._future is not None and self._future.done():
                self._future = None

    def _current(self) -> tuple["Future[Result]", float]:
        """The running check, or one whose result is still valid, and the seconds to wait for it."""
        with self._lock:
            now = time.monotonic()
            future = self._future
            if future is None or (future.done() and now - self._began >= self._keep()):
                future = self._future = Future()
                self._began = now
                # A daemon, so that a hanging check does not keep the process from exiting.
                threading.Thread(target=self._run, args=(future,), name=self._name, daemon=True).start()
            return future, max(0.0, self._began + self._deadline - now)

    def _run(self, future: "Future[Result]") -> None:
        try:
            future.set_result(self._check())
        except BaseException as error:  # noqa: BLE001 - raised in the callers
            future.set_exception(error)
