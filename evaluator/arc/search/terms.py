"""Compositions of functions: their text as programs in restricted Python, and their values on all inputs of a task.

The work is counted, so that a search ends at the same place everywhere.
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
    """A function applied to terms. Without a function it is the input grid."""

    function: str = ""
    inputs: tuple["Term", ...] = ()
    options: tuple[Any, ...] = ()
    """Literals behind the inputs."""

    @property
    def cost(self) -> int:
        """How many functions it has."""
        return (1 if self.function else 0) + sum(one.cost for one in self.inputs)


INPUT = Term()


def program_of(term: Term) -> str:
    """The program of a term: the functions that it needs, and one line for each application."""
    lines: dict[Term, str] = {}
    body = list(_lines(term, names=lines))
    wanted = dict.fromkeys(name for one in lines if one.function for name in _needed(one.function))
    source = _functions()
    parts = [source[name] for name in source if name in wanted]
    parts.append("\n".join([f"def {ENTRY}(grid):", *body, f"    return {lines.get(term, 'grid')}"]))
    return "\n\n".join(parts) + "\n"


def _lines(term: Term, *, names: dict[Term, str]) -> Iterator[str]:
    if term in names:
        return
    if not term.function:
        names[term] = "grid"
        return
    for one in term.inputs:
        yield from _lines(one, names=names)
    arguments = ", ".join([*(names[one] for one in term.inputs), *map(repr, term.options)])
    names[term] = f"v{sum(1 for one in names if one.function) + 1}"
    yield f"    {names[term]} = {term.function}({arguments})"


@cache
def _functions() -> Mapping[str, str]:
    """The text of each function, without annotations and docstring."""
    found: dict[str, str] = {}
    for node in parse_module(inspect.getsource(functions)).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = ast.unparse(_Bare().visit(node))
    return found


@cache
def _needed(function: str) -> frozenset[str]:
    """A function with all those that it calls, directly or not."""
    known = _functions()
    open_names, found = [function], {function}
    while open_names:
        for node in ast.walk(parse_module(known[open_names.pop()])):
            if isinstance(node, ast.Name) and node.id in known and node.id not in found:
                found.add(node.id)
                open_names.append(node.id)
    return frozenset(found)


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
        """The same, where all values must be grids of a possible size."""
        made = self.apply(function, inputs, *options, weight=weight)
        if made is None or not all(
            1 <= len(grid) <= _LARGEST and 1 <= len(grid[0]) <= _LARGEST for grid in made.values
        ):
            return None
        return made


def size(grid: Any) -> tuple[int, int]:
    """Numbers of rows and columns."""
    return len(grid), len(grid[0])
