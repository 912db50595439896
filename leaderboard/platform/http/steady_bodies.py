"""Bodies that keep coming: a sender who brings nothing, or hardly anything, is cut off."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class TooSlowError(Exception):
    """A body came too slowly; the message is a sentence."""


class SteadyBody:
    """Receives a body whose parts come in time."""

    def __init__(
        self,
        receive: Receive,
        *,
        patience: float,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        receive: where the body comes from.
        patience: seconds that it may bring nothing, and that it may be late altogether.
        bytes_per_second: the least that it brings on the average.
        """
        self._receive, self._patience, self._slowest, self._clock = receive, patience, bytes_per_second, clock
        self._began: float | None = None
        self._received = 0
        self._ended = False

    async def __call__(self) -> Mapping[str, Any]:
        """The next message.

        Raises:
            TooSlowError: it did not come in time.
        """
        if self._ended:
            # Not of the body any more: the application waits for the caller to go away.
            return await self._receive()
        if self._began is None:
            self._began = self._clock()
        left = self._began + self._patience + self._received / self._slowest - self._clock()
        try:
            if left <= 0:
                raise TimeoutError
            async with asyncio.timeout(min(self._patience, left)):
                message = await self._receive()
        except TimeoutError:
            raise TooSlowError(
                f"The body came too slowly: at least {self._slowest / 1024:g} KiB a second are needed."
            ) from None
        self._received += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message
