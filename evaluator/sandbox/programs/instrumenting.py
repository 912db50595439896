"""Rewrites a checked program: loops and calls count steps, operators and methods become bounded functions.

The names of these functions begin with `@`, which no source can contain. Standard library only.
"""

import ast
from collections.abc import Iterable
from typing import Any, TypeVar

from evaluator.sandbox.programs.language import FUNCTIONS

_REPLACED = (
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitOr, ast.BitAnd,
    ast.BitXor,
)  # fmt: skip
_REPLACED_UNARY = (ast.USub, ast.Invert)
_OWN_STEPS = (
    ast.For,
    ast.While,
    ast.FunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_NODES_PER_STEP = 8
_MEANT_AS_TYPES = frozenset({"isinstance", "int", "float", "bool", "str"})
"""Built-in functions that helpers call unbounded: their results are small."""
ANSWER = "@answer"
"""The variable for the value of the program's last expression."""

_Node = TypeVar("_Node", bound=ast.AST)


def instrument(tree: ast.Module, *, trusted: bool = False) -> ast.Module:
    """Rewrite a tree in place, and return it.

    Args:
        tree: a program after `check`, or helpers.
        trusted: helpers, which may use all of Python; their calls of built-in functions are bounded too.
    """
    changed = _Instrumenter(trusted=trusted).visit(tree)
    assert isinstance(changed, ast.Module)
    return changed


def keep_answer(tree: ast.Module) -> bool:
    """Assign the last statement to `ANSWER` if it is an expression; return whether it is."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return False
    tree.body[-1] = _at(ast.Assign([_at(ast.Name(ANSWER, ast.Store()), last)], last.value), last)
    return True


def without_annotations(tree: ast.Module) -> ast.Module:
    """Remove type annotations in place: they are not evaluated, and may use any name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = _at(ast.Constant(None), node)
    return tree


class _Instrumenter(ast.NodeTransformer):
    def __init__(self, *, trusted: bool) -> None:
        self._trusted = trusted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._counted(node.body)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body = self._counted(node.body)
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.body = self._counted(node.body, beside=[node.test])
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        step = _step([node.body], at=node.body)
        self.generic_visit(node)
        node.body = _at(ast.BoolOp(ast.And(), [step, node.body]), node.body)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: Any, made: list[ast.expr]) -> ast.AST:
        step = _step([*made, *node.generators], at=node)
        self.generic_visit(node)
        for generator in node.generators:
            generator.ifs.insert(0, step)
        return node  # type: ignore[no-any-return]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, _REPLACED):
            return node
        return _call(type(node.op).__name__, [node.left, node.right], at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, _REPLACED_UNARY) or isinstance(node.operand, ast.Constant):
            return node
        return _call(type(node.op).__name__, [node.operand], at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node.ops:
            case [ast.In()]:
                return _call("contains", [node.left, node.comparators[0]], at=node)
            case [ast.NotIn()]:
                return _at(ast.UnaryOp(ast.Not(), _call("contains", [node.left, node.comparators[0]], at=node)), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = type(node.op).__name__
        replaced = isinstance(node.op, _REPLACED)
        match node.target:
            case ast.Name(id=variable) if replaced:
                value = _call(f"in-place {name}", [_at(ast.Name(variable, ast.Load()), node), node.value], at=node)
                return _at(ast.Assign([node.target], value), node)
            case ast.Subscript(value=container, slice=index) if replaced and not isinstance(index, ast.Slice):
                return self._changed_item(node, container=container, index=index, operator=f"@in-place {name}")
        return node

    def _changed_item(self, node: ast.AugAssign, *, container: ast.expr, index: ast.expr, operator: str) -> ast.AST:
        """`container[index] += value`; as in Python, the item is read before the value is computed."""
        stored, place = (
            _at(ast.NamedExpr(_at(ast.Name(name, ast.Store()), node), value), node)
            for name, value in (("@container", container), ("@index", index))
        )
        item = _at(
            ast.Subscript(
                _at(ast.Name("@container", ast.Load()), node), _at(ast.Name("@index", ast.Load()), node), ast.Load()
            ),
            node,
        )
        function = _at(ast.Name(operator, ast.Load()), node)
        return _at(ast.Expr(_call("change", [function, stored, place, item, node.value], at=node)), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        match node.targets:
            case [ast.Subscript(value=values, slice=ast.Slice() as part)]:
                return _at(ast.Expr(_call("put", [node.value, values, *_bounds(part)], at=node)), node)
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            node.value = _call("spread", [node.value], at=node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if self._trusted:
            return self.generic_visit(node)
        if node.value is None:
            return _at(ast.Pass(), node)
        return self.visit(_at(ast.Assign([node.target], node.value), node))  # type: ignore[no-any-return]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
            return _call("take", [node.value, *_bounds(node.slice)], at=node)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call("spread", [node.value], at=node.value)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        if node.arg is None:
            node.value = _call("spread mapping", [node.value], at=node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        for place, key in enumerate(node.keys):
            if key is None:
                node.values[place] = _call("spread mapping", [node.values[place]], at=node.values[place])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):
            target, name = node.func.value, _at(ast.Constant(node.func.attr), node.func)
            call = _at(
                ast.Call(_at(ast.Name("@call", ast.Load()), node), [target, name, *node.args], node.keywords), node
            )
            return self.generic_visit(call)
        self.generic_visit(node)
        if self._trusted and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS - _MEANT_AS_TYPES:
            node.func = _call("bounded", [node.func], at=node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _call("attribute", [node.value, _at(ast.Constant(node.attr), node)], at=node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        return node if self._trusted else _call("joined", [node], at=node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        if self._trusted:
            return self.generic_visit(node)
        # The format is a constant and is not rewritten.
        node.value = self.visit(node.value)
        name = "formatted" if node.format_spec is not None else "text" if node.conversion == -1 else "measured"
        node.value = _call(name, [node.value], at=node.value)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def _counted(self, body: list[ast.stmt], *, beside: Iterable[ast.AST] = ()) -> list[ast.stmt]:
        return [_at(ast.Expr(_step([*body, *beside], at=body[0])), body[0]), *body]


def _step(nodes: Iterable[ast.AST], *, at: ast.AST) -> ast.expr:
    """A call that counts the cost of these nodes, without nodes that count their own."""
    total, waiting = 0, list(nodes)
    while waiting:
        node = waiting.pop()
        total += 1
        if not isinstance(node, _OWN_STEPS):
            waiting.extend(ast.iter_child_nodes(node))
    return _call("step", [_at(ast.Constant(1 + total // _NODES_PER_STEP), at)], at=at)


def _bounds(part: ast.Slice) -> list[ast.expr]:
    return [_at(ast.Constant(None), part) if bound is None else bound for bound in (part.lower, part.upper, part.step)]


def _call(name: str, arguments: list[ast.expr], *, at: ast.AST) -> ast.Call:
    return _at(ast.Call(_at(ast.Name(f"@{name}", ast.Load()), at), arguments, []), at)


def _at(node: _Node, place: ast.AST) -> _Node:
    """Copies the location, which the compiler requires. Faster than `ast.copy_location`."""
    node.lineno, node.col_offset = place.lineno, place.col_offset  # type: ignore[attr-defined]
    node.end_lineno, node.end_col_offset = place.end_lineno, place.end_col_offset  # type: ignore[attr-defined]
    return node
