"""Puts the calls that count steps into the syntax tree of a chat template."""

from collections.abc import Sequence
from typing import Any

from jinja2 import nodes


def _asked(name: str, *arguments: Any) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None)


def rewrite(node: nodes.Node) -> int:
    """Put the calls that count into a tree, in place; returns the number of its nodes before."""
    size = 1
    for field, value in node.iter_fields():
        if isinstance(value, nodes.Node):
            size += rewrite(value)
            setattr(node, field, _replaced_by(value))
        elif isinstance(value, list):
            size += sum(rewrite(one) for one in value if isinstance(one, nodes.Node))
            setattr(node, field, [_replaced_by(one) if isinstance(one, nodes.Node) else one for one in value])
    _count(node, size=size)
    return size


def _count(node: nodes.Node, *, size: int) -> None:
    if isinstance(node, nodes.Output):
        node.nodes = [_printed(one) for one in node.nodes]
    elif isinstance(node, nodes.For):
        node.iter = _asked("counted", node.iter, nodes.Const(size))
    elif isinstance(node, nodes.Macro | nodes.CallBlock):
        node.body = [nodes.ExprStmt(_asked("charged", nodes.Const(size))), *node.body]
    elif isinstance(node, nodes.Compare):
        node.expr = _asked("weighed", node.expr)
        for operand in node.ops:
            operand.expr = _asked("weighed", operand.expr)


def _printed(one: nodes.Expr) -> nodes.Expr:
    return _asked("output", nodes.Const(one.data) if isinstance(one, nodes.TemplateData) else one)


def _replaced_by(node: Any) -> Any:
    if isinstance(node, nodes.Concat):
        return _asked("joined", *node.nodes)
    if isinstance(node, nodes.List | nodes.Dict) or (isinstance(node, nodes.Tuple) and node.ctx == "load"):
        return _asked("weighed", node)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        bounds: Sequence[Any] = (node.arg.start, node.arg.stop, node.arg.step)
        return _asked("sliced", node.node, *(nodes.Const(None) if one is None else one for one in bounds))
    return node
