"""How often Python looks for garbage in cycles, for processes that keep boards in memory.

The usual thresholds look through everything that the process holds whenever some hundred thousand objects have come,
and a board of thousands of rows is so many: with the boards of 5,000 evaluations in memory one such look took 0.6 s, in
the middle of a request. Almost everything is freed by reference counts before that.
"""

import gc

_THRESHOLDS = (10_000, 20, 50)
_OF_A_START = 1_000_000


def collect_seldom() -> None:
    """Look seldom, and never at what is there already: modules, classes, templates. Call it when all is loaded."""
    gc.enable()
    gc.collect()
    gc.freeze()
    look_seldom()


def look_later() -> None:
    """Hardly look while modules load, which make many objects and hardly any garbage: with Python's own thresholds
    looking takes a sixth of the start."""
    gc.set_threshold(_OF_A_START)


def look_seldom() -> None:
    """Look seldom: once all modules are loaded."""
    gc.set_threshold(*_THRESHOLDS)
