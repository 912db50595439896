"""Counts the steps of a call and bounds the sizes of its values. Standard library only."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evaluator.sandbox.programs.language import MOST_CHARACTERS, MOST_ITEMS
from evaluator.sandbox.programs.wire import Failure, MeterError, ProgramError

_BETWEEN_LOOKS = 1 << 16
"""Steps between two checks of the memory."""
_BYTES_OF_BLOCK = 200
"""Upper estimate for a block of Python's allocator; larger objects count as steps when created."""
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_SIZED = frozenset({list, tuple, str, dict, set, frozenset, range, *_VIEWS})
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, *_VIEWS})


class Meter:
    """The step counter of a call."""

    step: Callable[[int], bool]
    """Count steps. Always True, so that it can be a condition.

    Raises:
        MeterError: no steps are left, or the program uses too much memory.
    """
    start: Callable[[], None]
    """Start a call."""
    used: Callable[[], int]
    """Steps since the start."""

    def __init__(self, *, steps: int, memory_bytes: int) -> None:
        # Closures take half the time of methods, and each iteration of a loop calls `step`.
        left, floor, blocks = steps, 0, 0

        def step(count: int) -> bool:
            nonlocal left
            left -= count
            if left < floor:
                look()
            return True

        def look() -> None:
            nonlocal floor
            if left < 0:
                raise MeterError(Failure.STEPS, f"The call used up its {steps:,} steps.")
            if (sys.getallocatedblocks() - blocks) * _BYTES_OF_BLOCK > memory_bytes:
                raise MeterError(Failure.MEMORY, f"The call used more than {memory_bytes >> 20} MiB of memory.")
            floor = max(0, left - _BETWEEN_LOOKS)

        def start() -> None:
            nonlocal left, floor, blocks
            left, floor, blocks = steps, max(0, steps - _BETWEEN_LOOKS), sys.getallocatedblocks()

        self.step, self.start = step, start
        self.used = lambda: steps - max(0, left)

    def items(self, count: int) -> None:
        """Count the items of a container that is created or searched.

        Raises:
            MeterError: too many.
        """
        if count > MOST_ITEMS:
            raise MeterError(
                Failure.SIZE, f"A container of {_in_words(count)} items; at most {MOST_ITEMS:,} are allowed."
            )
        self.step(count >> 3)

    def characters(self, count: int) -> None:
        """Count the characters of a text that is created or searched.

        Raises:
            MeterError: too many.
        """
        if count > MOST_CHARACTERS:
            raise MeterError(
                Failure.SIZE, f"A text of {_in_words(count)} characters; at most {MOST_CHARACTERS:,} are allowed."
            )
        self.step(count >> 5)

    def taken(self, values: Iterable[Any]) -> Iterable[Any]:
        """An iterable that the caller reads to its end, counted."""
        if type(values) in _SIZED:
            self.items(len(values))  # type: ignore[arg-type]
            return values
        return self._counted(values)

    def at_hand(self, values: Iterable[Any]) -> Any:
        """The values, counted: unchanged if they have a length, else as a list."""
        taken = self.taken(values)
        return values if taken is values else list(taken)

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for number, value in enumerate(values):
            if number & 63 == 0:
                self.items(number)
            self.step(1)
            yield value

    def measure(self, value: Any) -> int:
        """Estimated length of a value as text. Values contained twice count twice.

        Raises:
            MeterError: too long.
            ProgramError: it contains a value without a text, such as a function.
        """
        total, waiting = 0, [value]
        while waiting:
            item = waiting.pop()
            kind: type = type(item)
            self.step(1)
            if kind is str:
                total += len(item)
            elif kind is int:
                total += item.bit_length() // 3 + 1
            elif kind in _CONTAINERS:
                self.items(len(item) + len(waiting))
                waiting.extend(item)
                if kind is dict:
                    waiting.extend(item.values())
            elif kind not in {float, bool, type(None), range}:
                raise ProgramError(Failure.ERROR, f"A value of type {kind.__name__} has no text.")
            total += 4
            if total > MOST_CHARACTERS:
                self.characters(total)
        self.characters(total)
        return total


def _in_words(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "far too many"
