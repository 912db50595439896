"""Hooks by which a room calls into rooms above it, which it does not import.

`leaderboard/wiring/callbacks.py` registers all of them.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

Event = TypeVar("Event")


class Hook(Generic[Event]):
    """Functions that are called with each event, in order of registration and within the caller's transaction. Their
    exceptions propagate to the caller."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Event], None]] = []

    def register(self, callback: Callable[[Event], None]) -> None:
        """Call a function with each future event."""
        self._callbacks.append(callback)

    def call(self, event: Event) -> None:
        """Call every registered function."""
        for callback in self._callbacks:
            callback(event)
