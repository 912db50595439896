"""Steps as a program: each calls one helper with the input grid, literals, and results of earlier steps.

Results are immutable: a helper that modifies its argument works on a copy.
"""

import ast
import re
from collections.abc import Mapping, Sequence

from evaluator.core.process import parse_expression
from evaluator.replies.turns.model import Action

INPUT = "INPUT"
"""The name of the grid that a transformation is applied to."""
ENTRY = "transform_grid"
_MOST_STEPS = 200
_MOST_DEPTH = 60
"""Maximum depth of an expression's syntax tree. A grid literal has four levels."""
_MOST_BITS = 64
_RESULT = re.compile(r"v([1-9][0-9]{0,3})")
_ALLOWED = (
    ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.Subscript, ast.Name, ast.Load, ast.keyword, ast.Call,
)  # fmt: skip


class StepError(ValueError):
    """An invalid step; the message is a clause, not a sentence."""


def expression_of(*, tool: str, arguments: str, names: Mapping[str, int]) -> str:
    """A step as a Python expression, in which `v1` is the result of the first step.

    Args:
        tool: the helper.
        arguments: as in a call, such as `R1[0], (0, 1), value='a'`.
        names: available results with the numbers, from 1, of their steps.

    Raises:
        StepError: invalid arguments.
    """
    parsed = _parsed(f"{tool}({arguments})".strip(), otherwise=f"{tool} takes arguments as in Python")
    if not isinstance(parsed, ast.Call) or not isinstance(parsed.func, ast.Name) or parsed.func.id != tool:
        raise StepError(f"{tool} takes arguments as in Python, not {_cut(arguments)}")
    for node in (node for part in (*parsed.args, *(key.value for key in parsed.keywords)) for node in ast.walk(part)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > _MOST_BITS:
            raise StepError(f"an argument of {tool} may have integers of at most {_MOST_BITS} bits")
        if isinstance(node, ast.Call) or not isinstance(node, _ALLOWED):
            allowed = "the input, results, numbers, texts, lists and tuples"
            raise StepError(f"an argument of {tool} may have {allowed}, not {_cut(ast.unparse(node))}")
    return ast.unparse(_Named(names).visit(parsed))


def _parsed(text: str, *, otherwise: str) -> ast.expr:
    """Parse an expression and bound its depth, so that it can be walked recursively.

    Raises:
        StepError: not an expression, or nested too deeply.
    """
    try:
        parsed = parse_expression(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise StepError(f"{otherwise}, not {_cut(text)}") from None
    level: list[ast.AST] = [parsed]
    for _ in range(_MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return parsed
    raise StepError(f"{otherwise}, nested at most {_MOST_DEPTH} levels deep")


class _Named(ast.NodeTransformer):
    """Replaces names by copies of the values."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Visits the arguments, but not the name of the helper."""
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in {INPUT, "grid"}:
            return _copy("grid")
        if node.id in self._names:
            return _copy(f"v{self._names[node.id]}")
        there = ", ".join([INPUT, *self._names])
        raise StepError(f"there is no value {_cut(node.id)}; there are: {there}; texts stand in quotes: 'a'")


def _copy(name: str) -> ast.expr:
    function = ast.Attribute(ast.Name("copy", ast.Load()), "deepcopy", ast.Load())
    return ast.Call(function, [ast.Name(name, ast.Load())], [])


def joined(parts: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Several lists of expressions merged without duplicates, and the number of each list's last expression.

    Raises:
        StepError: too many expressions, or invalid ones; planners may write their own.
    """
    lines: list[str] = []
    ends = []
    for part in parts:
        places: dict[int, int] = {}
        for number, line in enumerate(part, start=1):
            tree = _parsed(line, otherwise="a step is an expression in Python")
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and (match := _RESULT.fullmatch(node.id)):
                    place = places.get(int(match[1]))
                    if place is None:
                        raise StepError(f"there is no value {node.id!r} before the step {_cut(line)}")
                    node.id = f"v{place}"
            renumbered = ast.unparse(tree)
            if renumbered not in lines:
                lines.append(renumbered)
            places[number] = lines.index(renumbered) + 1
        ends.append(places.get(len(part), 0))
    if len(lines) >= _MOST_STEPS:
        raise StepError(f"a candidate has at most {_MOST_STEPS} steps")
    return tuple(lines), tuple(ends)


def expressions_of(actions: Sequence[Action]) -> tuple[str, ...]:
    """Actions in LUMOS's grammar as expressions, the last one the output.

    Raises:
        StepError: an action cannot be a step.
    """
    if len(actions) > _MOST_STEPS:
        raise StepError(f"a candidate has at most {_MOST_STEPS} steps")
    places: dict[str, int] = {}
    lines = []
    for number, action in enumerate(actions, start=1):
        if len(action.outputs) != 1:
            raise StepError(f"{action.tool} has one result, and step {number} names {len(action.outputs)}")
        lines.append(expression_of(tool=action.tool or "", arguments=action.raw, names=places))
        places[action.outputs[0]] = number
    return tuple(lines)


def program_of(expressions: Sequence[str]) -> str:
    """The program that performs the steps."""
    lines = [f"    v{number} = {expression}" for number, expression in enumerate(expressions, start=1)]
    return "\n".join([f"def {ENTRY}(grid):", *lines, f"    return v{len(expressions)}"])


def _cut(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}...")
