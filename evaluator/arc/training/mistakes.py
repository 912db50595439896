"""Wrong programs for tasks: another rule's, or the gold program with one value changed."""

import random
import re
from collections.abc import Sequence

from evaluator.arc.mini.draws import Drawn

_VALUE = re.compile(r"(?<=')[a-i](?=')|\b\d+\b")
_COLOURS = "abcdefghi"
_CHANGED, _OF_FAMILY = 0.5, 0.85
"""Chances, added up: one value is changed, the program is of the same family; else it is of any family."""


def wrong_program(*, drawn: Drawn, others: Sequence[Drawn], rng: random.Random) -> str | None:
    """A program that is not the gold program of a task; None where this draw gives none.

    Args:
        drawn: the task.
        others: tasks to take programs from, of its family and of others.
        rng: random numbers.
    """
    gold = drawn.rule.program()
    chance = rng.random()
    if chance < _CHANGED:
        wrong = changed(gold, rng=rng)
    else:
        families = {drawn.family} if chance < _OF_FAMILY else {other.family for other in others}
        wrong = rng.choice([other for other in others if other.family in families]).rule.program()
    return wrong if wrong != gold else None


def changed(program: str, *, rng: random.Random) -> str:
    """A program with one of its colours or numbers changed; the same where it has neither."""
    values = list(_VALUE.finditer(program))
    if not values:
        return program
    one = rng.choice(values)
    new = rng.choice(_COLOURS) if one[0] in _COLOURS else str(max(0, int(one[0]) + rng.choice((-1, 1))))
    if one[0] in {"90", "180", "270"}:
        new = rng.choice(("90", "180", "270"))
    return program[: one.start()] + new + program[one.end() :]
