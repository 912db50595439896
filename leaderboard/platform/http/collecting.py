"""Thresholds of Python's cyclic garbage collector, for processes that cache boards.

With the default thresholds, a full collection runs after some hundred thousand allocations, which a board of thousands
of rows reaches: with the boards of 5,000 evaluations in memory, one collection took 0.6 s in the middle of a request.
Reference counting frees almost everything before that.
"""

import gc


def collect_seldom() -> None:
    """Collect rarely, and exclude existing objects: modules, classes, templates. Call it when everything is loaded."""
    gc.enable()
    gc.collect()
    gc.freeze()
    look_seldom()


def look_later() -> None:
    """Postpone collections while modules load, which creates many objects and little garbage: with Python's defaults,
    collections take a sixth of the start-up time."""
    gc.set_threshold(1_000_000)


def look_seldom() -> None:
    """Collect rarely. Call it when all modules are loaded."""
    gc.set_threshold(10_000, 20, 50)
