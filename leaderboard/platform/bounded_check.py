"""Looking at something that may not answer: in a thread of its own, one at a time, and waited for within a deadline."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BoundedCheck(Generic[Result]):
    """Runs a check for everybody who asks. However long it takes, there is one thread, and nobody waits for longer than
    the deadline after the check began."""

    def __init__(
        self, check: Callable[[], Result], *, name: str, deadline: float, late: Result, keep: Callable[[], float]
    ) -> None:
        """Args:
        check: must not raise.
        name: of its thread.
        deadline: seconds for which the check is waited for.
        late: the result while it takes longer.
        keep: seconds for which a result is used again.
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
        """What the check finds."""
        future, seconds = self._asked()
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            return self._late

    async def result_in_loop(self) -> Result:
        """The same, without keeping the event loop from other work."""
        future, seconds = self._asked()
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), timeout=seconds)
        except TimeoutError:
            return self._late

    def forget(self) -> None:
        """Ask again next time."""
        with self._lock:
            if self._future is not None and self._future.done():
                self._future = None

    def _asked(self) -> tuple["Future[Result]", float]:
        """The check that runs or whose result still counts, and how many seconds to wait for it."""
        with self._lock:
            now = time.monotonic()
            future = self._future
            if future is None or (future.done() and now - self._began >= self._keep()):
                future = self._future = Future()
                self._began = now
                # A daemon: a check that hangs must not keep the process from ending.
                threading.Thread(target=self._run, args=(future,), name=self._name, daemon=True).start()
            return future, max(0.0, self._began + self._deadline - now)

    def _run(self, future: "Future[Result]") -> None:
        try:
            future.set_result(self._check())
        except BaseException as error:  # noqa: BLE001 - who waits is told
            future.set_exception(error)
