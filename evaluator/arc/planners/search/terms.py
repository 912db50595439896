"""Compositions of functions, and their text as programs in restricted Python."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from evaluator.arc.planners.search import grids, labels, objects, tables_text
from evaluator.core.process import parse_module

ENTRY = "transform_grid"
_MODULES: tuple[ModuleType, ...] = (grids, objects, labels, tables_text)


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
    for module in _MODULES:
        for node in parse_module(inspect.getsource(module)).body:
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
