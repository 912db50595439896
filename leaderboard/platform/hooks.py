"""Points at which rooms above take part in what happens in a room below, which does not import them.

`leaderboard/wiring/callbacks.py` registers all of them.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

Event = TypeVar("Event")


class Hook(Generic[Event]):
    """Functions that are called with each event, in the order of their registration and in the caller's transaction.

    An exception of one of them is the caller's: it keeps the event from happening.
    """

    def __init__(self) -> None:
        self._called: list[Callable[[Event], None]] = []

    def register(self, called: Callable[[Event], None]) -> None:
        """Call a function with each further event."""
        self._called.append(called)

    def call(self, event: Event) -> None:
        """Call every registered function."""
        for called in self._called:
            called(event)
