"""Applies functions to all inputs of a task and counts the work, so that a search ends at the same place everywhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.arc.planners.search import grids, labels, objects
from evaluator.arc.planners.search.grids import Grid
from evaluator.arc.planners.search.terms import INPUT, Term

_LEAST = 60
"""Work of an application, whatever the size."""
_LARGEST = 30


class WorkIsDoneError(Exception):
    """The budget is spent."""


@dataclass(frozen=True, slots=True)
class Made:
    """A term with its value for each input: first those of the demonstrations, then those of the tests."""

    term: Term
    values: tuple[Any, ...]

    @property
    def cost(self) -> int:
        """Of the term."""
        return self.term.cost


class Bench:
    """The inputs of a task. `work` counts the cells of grids that functions are applied to, weighted."""

    def __init__(self, *, inputs: Sequence[Grid], budget: int) -> None:
        self.first = Made(INPUT, tuple(inputs))
        self.work = 0
        self._budget = budget
        self._cells = [len(grid) * len(grid[0]) for grid in inputs]

    def spend(self, work: int) -> None:
        """Count work.

        Raises:
            WorkIsDoneError: it is more than the budget.
        """
        self.work += work
        if self.work > self._budget:
            raise WorkIsDoneError

    def apply(self, function: str, inputs: Sequence[Made], *options: Any, weight: int = 1) -> Made | None:
        """A function's values, or None where it fails on some input.

        Raises:
            WorkIsDoneError: the budget is spent.
        """
        call = _FUNCTIONS[function]
        values = []
        for place, cells in enumerate(self._cells):
            self.spend(_LEAST + cells * weight)
            try:
                value = call(*(made.values[place] for made in inputs), *options)
            except (AssertionError, LookupError, ValueError, TypeError, ZeroDivisionError):
                return None
            values.append(value)
        return Made(Term(function, tuple(made.term for made in inputs), options), tuple(values))

    def grid(self, function: str, inputs: Sequence[Made], *options: Any, weight: int = 1) -> Made | None:
        """The same, where all values must be grids of a possible size."""
        made = self.apply(function, inputs, *options, weight=weight)
        return made if made is not None and all(map(_is_grid, made.values)) else None


def size(grid: Any) -> tuple[int, int]:
    """Numbers of rows and columns."""
    return len(grid), len(grid[0])


def _is_grid(value: Any) -> bool:
    return 1 <= len(value) <= _LARGEST and 1 <= len(value[0]) <= _LARGEST


def _functions() -> dict[str, Callable[..., Any]]:
    return {
        name: value
        for module in (labels, objects, grids)
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }


_FUNCTIONS = _functions()
