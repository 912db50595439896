"""A demonstration of a task's transformation."""

from dataclasses import dataclass

from evaluator.arc.grids import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A grid and what the transformation makes of it."""

    input: Grid
    output: Grid
