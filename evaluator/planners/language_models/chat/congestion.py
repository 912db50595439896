"""Congestion control: how many concurrent calls an endpoint gets.

Additive increase, multiplicative decrease, with the refinements that networks use so that little is lost by it. The
limit doubles with every window of answers until the first refusal. A refusal halves it. It then returns to the most
that was borne, and looks for the bound between that and the refusal by halving the distance. Where both meet it stays,
and tries one call more now and then, ever more rarely as long as that is refused.
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
"""Windows of answers before one more call is tried where that was refused: the first time, and at most."""


class Refusal(Enum):
    """What a refusal says."""

    KNOWN = auto()
    """Nothing new: the limit was lowered since that call started."""
    OF_NUMBER = auto()
    """More calls at once than were ever borne; fewer are."""
    OF_RATE = auto()
    """As many were borne before, or none ever was: it is not the number of calls that is too much now."""


class ConcurrencyLimit:
    """The limit itself: no clock, no network. One window is as many successes as the limit."""

    def __init__(self, *, highest: int, first: int = FIRST_LIMIT) -> None:
        """Args:
        highest: the limit never exceeds it.
        first: where it begins.
        """
        if highest < 1:
            raise ValueError(f"at least one call must be allowed at once, not {highest}")
        self.highest = highest
        self.limit = min(first, highest)
        self.reached = self.limit
        """The highest limit so far."""
        self._borne = 0
        self._refused_at: int | None = None
        self._successes = 0
        self._step = 1
        self._patience = FIRST_PATIENCE
        self._windows_here = 0
        self._decreases = 0

    @property
    def epoch(self) -> int:
        """Counts the decreases. A call notes it when it starts, so that one burst of refusals counts once."""
        return self._decreases

    def succeeded(self, *, was_full: bool) -> None:
        """A call was answered; `was_full`: as many were under way as the limit allows, so that it was tested."""
        if not was_full:
            return
        self._successes += 1
        if self._successes >= self.limit:
            self._successes = 0
            self._grow()

    def refused(self, *, epoch: int) -> Refusal:
        """The endpoint had too much, says a call that started in this epoch."""
        if epoch != self._decreases:
            return Refusal.KNOWN
        was_borne = self._borne == 0 or self._borne >= self.limit
        again = self.limit == self._refused_at
        self._patience = min(LONGEST_PATIENCE, self._patience * 2) if again else FIRST_PATIENCE
        self._refused_at = self.limit
        self._decreases += 1
        self._successes = self._windows_here = 0
        self._step = 1
        self.limit = max(1, self.limit // 2)
        if self._borne >= self._refused_at:
            # Its capacity has fallen.
            self._borne = self.limit
        return Refusal.OF_RATE if was_borne else Refusal.OF_NUMBER

    def _grow(self) -> None:
        self._borne = max(self._borne, self.limit)
        self.limit = min(self.highest, self._next())
        self.reached = max(self.reached, self.limit)

    def _next(self) -> int:
        if self._refused_at is None:
            return 2 * self.limit
        if self.limit >= self._refused_at:
            # Its capacity has risen.
            self._step *= 2
            return self.limit + self._step
        if self.limit < self._borne:
            return self._borne
        if self._borne + 1 < self._refused_at:
            return (self._borne + self._refused_at) // 2
        self._windows_here += 1
        if self._windows_here < self._patience:
            return self.limit
        self._windows_here = 0
        return self.limit + 1


@dataclass(slots=True)
class Progress:
    """What a gate has seen."""

    running: int = 0
    waiting: int = 0
    answered: int = 0
    retried: int = 0
    failed: int = 0


class Gate:
    """Lets calls through as the limit allows, and none while the endpoint asked for a pause.

    In one event loop at a time.
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
        """Hold a place; gives the limit's epoch.

        Args:
            first: stand in front of those who wait, as a call does that has waited before.
            until: when to give up waiting, by the event loop's clock; None: never.

        Raises:
            TimeoutError: there was no place until then.
        """
        async with asyncio.timeout_at(until):
            epoch = await self._enter(first=first)
        try:
            yield epoch
        finally:
            self.progress.running -= 1
            self._let_in()

    def succeeded(self) -> None:
        """The call that holds a place was answered."""
        self.limit.succeeded(was_full=self.progress.running >= self.limit.limit)

    def refused(self, *, epoch: int, why: str, after: float | None) -> None:
        """The call that holds a place, since that epoch, was too much for the endpoint.

        Args:
            epoch: the limit's.
            why: for the log.
            after: seconds that the endpoint asks to wait. All wait, unless fewer calls at once are the remedy.
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
        self._move_to(asyncio.get_running_loop())
        if self._is_open() and not self._waiters:
            self.progress.running += 1
            return self.limit.epoch
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
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

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            # In the loop before nobody waits any more, and its timer will never go off.
            self._loop, self._wake = loop, None
            self._waiters.clear()

    def _is_open(self) -> bool:
        return self.progress.running < self.limit.limit and self._clock() >= self._closed_until

    def _let_in(self) -> None:
        while self._waiters and self._is_open():
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.progress.running += 1
                # The epoch in which it is let in; by the time it goes on there may be another.
                waiter.set_result(self.limit.epoch)
        closed_for = self._closed_until - self._clock()
        if self._waiters and closed_for > 0 and self._wake is None:
            self._wake = asyncio.get_running_loop().call_later(closed_for, self._woken)

    def _woken(self) -> None:
        self._wake = None
        self._let_in()
