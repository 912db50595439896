"""Whether reading takes time that grows with the length of a text, and not faster."""

import gc
import time
from collections.abc import Callable
from contextlib import suppress

import pytest


def assert_linear(
    read: Callable[[object], object], short: object, long: object, *, error: type[Exception], times: int = 8
) -> None:
    """What is `times` as long may take half as much again as that many times as long. A noisy measurement is made
    again: of a reader that takes quadratic time, none comes out so."""
    for _ in range(3):
        base, grown = _seconds(read, short, error), _seconds(read, long, error)
        if grown < 1.5 * times * max(base, 0.002):
            return
    pytest.fail(f"{base:.4f} s for {str(short)[:50]!r}..., then {grown:.4f} s")


def _seconds(read: Callable[[object], object], text: object, error: type[Exception]) -> float:
    """Processor time of one reading, the best of five: neither other work on the machine nor the garbage of other tests
    counts."""
    found: list[float] = []
    gc.disable()
    try:
        while len(found) < 5 and (not found or found[-1] >= 0.001):
            start = time.process_time()
            with suppress(error):
                read(text)
            found.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(found)
