"""Compositions of functions: their text as programs in restricted Python, and their values on all inputs of a task.

The work is counted, so that a search is deterministic on any machine.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evaluator.arc.search import functions
from evaluator.arc.search.functions import Grid
from evaluator.core.process import parse_module

ENTRY = "transform_grid"


@dataclass(frozen=True, slots=True)
class Term:
    """A function applied to terms; without a function, the input grid."""

    function: str = ""
    inputs: tuple["Term", ...] = ()
    options: tuple[Any, ...] = ()
    """Literals that follow the inputs."""

    @property
    def cost(self) -> int:
        """Number of functions."""
        return (1 if self.function else 0) + sum(term.cost for term in self.inputs)


INPUT = Term()


def program_of(term: Term) -> str:
    """The program of a term: the functions that it needs, and a line per application."""
    names: dict[Term, str] = {}
    body = list(_lines(term, names=names))
    needed = {name for part in names if part.function for name in _needed(part.function)}
    parts = [text for name, text in _functions().items() if name in needed]
    parts.append("\n".join([f"def {ENTRY}(grid):", *body, f"    return {names.get(term, 'grid')}"]))
    return "\n\n".join(parts) + "\n"


def _lines(term: Term, *, names: dict[Term, str]) -> Iterator[str]:
    if term in names:
        return
    if not term.function:
        names[term] = "grid"
        return
    for part in term.inputs:
        yield from _lines(part, names=names)
    arguments = ", ".join([*(names[part] for part in term.inputs), *map(repr, term.options)])
    names[term] = f"v{sum(1 for part in names if part.function) + 1}"
    yield f"    {names[term]} = {term.function}({arguments})"


@cache
def _functions() -> Mapping[str, str]:
    """The text of each function, without annotations and docstring."""
    nodes = parse_module(inspect.getsource(functions)).body
    return {node.name: ast.unparse(_Bare().visit(node)) for node in nodes if isinstance(node, ast.FunctionDef)}


@cache
def _needed(function: str) -> frozenset[str]:
    """A function with all its direct and indirect callees."""
    known = _functions()
    open_names, needed = [function], {function}
    while open_names:
        for node in ast.walk(parse_module(known[open_names.pop()])):
            if isinstance(node, ast.Name) and node.id in known and node.id not in needed:
                needed.add(node.id)
                open_names.append(node.id)
    return frozenset(needed)


class _Bare(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


_LEAST = 60
"""Minimum work of an application."""
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
        """Cost of the term."""
        return self.term.cost


class Bench:
    """Applies functions to the inputs of a task. `work` counts the weighted cells of grids that functions process."""

    def __init__(self, *, inputs: Sequence[Grid], budget: int) -> None:
        self.first = Made(INPUT, tuple(inputs))
        self.work = 0
        self._budget = budget
        self._cells = [len(grid) * len(grid[0]) for grid in inputs]

    def spend(self, work: int) -> None:
        """Count work.

        Raises:
            WorkIsDoneError: the budget is exceeded.
        """
        self.work += work
        if self.work > self._budget:
            raise WorkIsDoneError

    def apply(self, function: str, inputs: Sequence[Made], *options: Any, weight: int = 1) -> Made | None:
        """Apply a function to all inputs; None if it fails on any.

        Raises:
            WorkIsDoneError: the budget is spent.
        """
        call = getattr(functions, function)
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
        """Like `apply`, but None also if a value is not a grid of a valid size."""
        made = self.apply(function, inputs, *options, weight=weight)
        if made is None or not all(
            1 <= len(grid) <= _LARGEST and 1 <= len(grid[0]) <= _LARGEST for grid in made.values
        ):
            return None
        return made


def size(grid: Any) -> tuple[int, int]:
    """Numbers of rows and columns."""
    return len(grid), len(grid[0])
