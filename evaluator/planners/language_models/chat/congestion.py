"""Congestion control: limits the concurrent calls of an endpoint.

Slow start, multiplicative decrease and binary search, as in BIC TCP: the limit doubles with every window of answers
until the first refusal. A refusal halves it. It then returns to the highest proven limit and bisects the distance to
the refused one. There it stays, and probes one more call from time to time, less often while that is refused.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto

logger = logging.getLogger(__name__)

FIRST_LIMIT = 8
FIRST_PATIENCE, LONGEST_PATIENCE = 8, 64
"""Windows of answers before a probe of one more call: after the first refusal, and at most."""


class Refusal(Enum):
    """The meaning of a refusal."""

    KNOWN = auto()
    """Nothing new: the limit has been lowered since that call started."""
    OF_NUMBER = auto()
    """Too many concurrent calls: fewer have succeeded."""
    OF_RATE = auto()
    """A rate limit: as many concurrent calls succeeded before, or none ever did."""


class ConcurrencyLimit:
    """The limit, without clock or network. A window is as many successes as the limit."""

    def __init__(self, *, highest: int, first: int = FIRST_LIMIT) -> None:
        """Args:
        highest: maximum of the limit.
        first: initial limit.
        """
        if highest < 1:
            raise ValueError(f"at least one call must be allowed at once, not {highest}")
        self.highest = highest
        self.limit = min(first, highest)
        self.reached = self.limit
        """The highest limit so far."""
        self._proven = 0
        self._refused_at: int | None = None
        self._successes = 0
        self._step = 1
        self._patience = FIRST_PATIENCE
        self._windows_here = 0
        self._decreases = 0

    @property
    def epoch(self) -> int:
        """The number of decreases. A call records it at its start, so that a burst of refusals counts once."""
        return self._decreases

    def succeeded(self, *, was_full: bool) -> None:
        """Record a success. `was_full`: as many calls were in flight as the limit allows, so that it was tested."""
        if not was_full:
            return
        self._successes += 1
        if self._successes >= self.limit:
            self._successes = 0
            self._proven = max(self._proven, self.limit)
            self.limit = min(self.highest, self._next())
            self.reached = max(self.reached, self.limit)

    def refused(self, *, epoch: int) -> Refusal:
        """Record the refusal of a call that started in this epoch."""
        if epoch != self._decreases:
            return Refusal.KNOWN
        is_rate = self._proven == 0 or self._proven >= self.limit
        again = self.limit == self._refused_at
        self._patience = min(LONGEST_PATIENCE, self._patience * 2) if again else FIRST_PATIENCE
        self._refused_at = self.limit
        self._decreases += 1
        self._successes = self._windows_here = 0
        self._step = 1
        self.limit = max(1, self.limit // 2)
        if self._proven >= self._refused_at:
            # The endpoint's capacity has fallen.
            self._proven = self.limit
        return Refusal.OF_RATE if is_rate else Refusal.OF_NUMBER

    def _next(self) -> int:
        if self._refused_at is None:
            return 2 * self.limit
        if self.limit >= self._refused_at:
            # The endpoint's capacity has risen.
            self._step *= 2
            return self.limit + self._step
        if self.limit < self._proven:
            return self._proven
        if self._proven + 1 < self._refused_at:
            return (self._proven + self._refused_at) // 2
        self._windows_here += 1
        if self._windows_here < self._patience:
            return self.limit
        self._windows_here = 0
        return self.limit + 1


@dataclass(slots=True)
class Progress:
    """Counters of a gate."""

    running: int = 0
    waiting: int = 0
    answered: int = 0
    retried: int = 0
    failed: int = 0


class Gate:
    """Admits calls up to the limit, and none during a pause that the endpoint asked for.

    Used in one event loop at a time.
    """

    def __init__(self, limit: ConcurrencyLimit, *, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.progress = Progress()
        self._name = name
        self._clock = clock
        self._closed_until = 0.0
        self._waiters: deque[asyncio.Future[int]] = deque()
        self._wake: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def place(self, *, first: bool = False, until: float | None = None) -> AsyncIterator[int]:
        """Hold a place. Yields the limit's epoch.

        Args:
            first: whether to go to the front of the queue, as a retry does.
            until: deadline of waiting, by the event loop's clock; None: none.

        Raises:
            TimeoutError: no place became free in time.
        """
        async with asyncio.timeout_at(until):
            epoch = await self._enter(first=first)
        try:
            yield epoch
        finally:
            self.progress.running -= 1
            self._let_in()

    def succeeded(self) -> None:
        """Record the success of a call that holds a place."""
        self.limit.succeeded(was_full=self.progress.running >= self.limit.limit)

    def refused(self, *, epoch: int, why: str, after: float | None) -> None:
        """Record the refusal of a call that holds a place.

        Args:
            epoch: the limit's epoch at its start.
            why: reason for the log.
            after: seconds of the endpoint's `Retry-After`. Pauses all calls, unless fewer concurrent calls suffice.
        """
        before = self.limit.limit
        refusal = self.limit.refused(epoch=epoch)
        if refusal is Refusal.KNOWN:
            return
        logger.warning("%s: %s; at most %d calls at once, before %d", self._name, why, self.limit.limit, before)
        if refusal is Refusal.OF_RATE and after:
            logger.warning("%s: no calls for %.1f seconds, as it asks", self._name, after)
            self._closed_until = max(self._closed_until, self._clock() + after)

    async def _enter(self, *, first: bool) -> int:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Nobody waits in the previous loop any more, and its timer will never fire.
            self._loop, self._wake = loop, None
            self._waiters.clear()
        if self._is_open() and not self._waiters:
            self.progress.running += 1
            return self.limit.epoch
        waiter: asyncio.Future[int] = loop.create_future()
        (self._waiters.appendleft if first else self._waiters.append)(waiter)
        self.progress.waiting += 1
        self._let_in()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.progress.running -= 1
                self._let_in()
            raise
        finally:
            self.progress.waiting -= 1

    def _is_open(self) -> bool:
        return self.progress.running < self.limit.limit and self._clock() >= self._closed_until

    def _let_in(self) -> None:
        while self._waiters and self._is_open():
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.progress.running += 1
                # The epoch of its admission; it may have changed when the call resumes.
                waiter.set_result(self.limit.epoch)
        closed_for = self._closed_until - self._clock()
        if self._waiters and closed_for > 0 and self._wake is None:
            self._wake = asyncio.get_running_loop().call_later(closed_for, self._woken)

    def _woken(self) -> None:
        self._wake = None
        self._let_in()
