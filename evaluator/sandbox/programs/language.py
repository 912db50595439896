"""The allow list: nodes, names, attributes and formats that programs may use. Standard library only."""

import ast
import re
from collections.abc import Mapping
from typing import Final

MOST_SOURCE_BYTES: Final = 64 * 1024
MOST_DEPTH: Final = 200
"""Depth of the syntax tree; each `elif` adds a level."""
MOST_BITS: Final = 14_000
"""Size of an integer, so that its text has at most 4,300 digits, the limit of Python."""
MOST_ITEMS: Final = 200_000
"""Items of a container that an operation or a function returns."""
MOST_CHARACTERS: Final = 1_000_000
"""Characters of a text."""

NODES: Final[frozenset[type[ast.AST]]] = frozenset({
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Lambda, ast.Return, ast.Expr, ast.Pass, ast.Assert,
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.Delete, ast.Global, ast.Nonlocal,
    ast.For, ast.While, ast.If, ast.IfExp, ast.Break, ast.Continue,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.keyword, ast.Starred,
    ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict,
    ast.JoinedStr, ast.FormattedValue, ast.Load, ast.Store, ast.Del,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift,
    ast.BitOr, ast.BitAnd, ast.BitXor, ast.Invert, ast.Not, ast.UAdd, ast.USub, ast.And, ast.Or,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
})  # fmt: skip

REFUSED_IN_WORDS: Final[Mapping[type[ast.AST], str]] = {
    ast.Import: "import is not allowed; copy.deepcopy is available without it",
    ast.ImportFrom: "import is not allowed; copy.deepcopy is available without it",
    ast.ClassDef: "class is not allowed; use functions, lists and dicts",
    ast.Try: "try is not allowed; test the condition with if",
    ast.TryStar: "try is not allowed; test the condition with if",
    ast.Raise: "raise is not allowed; use assert",
    ast.With: "with is not allowed",
    ast.Match: "match is not allowed; use if and elif",
    ast.Yield: "yield is not allowed; collect values in a list",
    ast.YieldFrom: "yield is not allowed; collect values in a list",
    ast.AsyncFunctionDef: "async is not allowed; use def",
    ast.AsyncFor: "async is not allowed; use for",
    ast.AsyncWith: "async is not allowed",
    ast.Await: "await is not allowed",
    ast.MatMult: "the operator @ is not allowed",
}
FUNCTIONS: Final = frozenset({
    "len", "range", "enumerate", "max", "min", "sorted", "list", "tuple", "dict", "set", "frozenset", "zip", "sum",
    "abs", "all", "any", "round", "int", "float", "str", "bool", "map", "filter", "reversed", "isinstance", "divmod",
    "pow", "chr", "ord",
})  # fmt: skip
MODULE: Final = "copy"
"""The only module, available without import: `copy.copy` and `copy.deepcopy`."""
METHODS: Final[Mapping[type, frozenset[str]]] = {
    list: frozenset({
        "append", "extend", "insert", "pop", "remove", "index", "count", "sort", "reverse", "copy", "clear",
    }),
    tuple: frozenset({"index", "count"}),
    dict: frozenset({"items", "keys", "values", "get", "pop", "setdefault", "update", "copy", "clear"}),
    set: frozenset({
        "add", "discard", "remove", "pop", "update", "union", "intersection", "difference", "symmetric_difference",
        "issubset", "issuperset", "isdisjoint", "copy", "clear",
    }),
    frozenset: frozenset({
        "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "copy",
    }),
    str: frozenset({
        "index", "find", "count", "split", "join", "strip", "lstrip", "rstrip", "replace", "lower", "upper",
        "startswith", "endswith", "isdigit", "isalpha", "isupper", "islower",
    }),
}  # fmt: skip
ATTRIBUTES: Final = frozenset().union(*METHODS.values()) | {"deepcopy"}
FORMAT: Final = re.compile(r"[<>^]?[+ ]?0?[0-9]{0,2},?(?:\.[0-9]{1,2})?[dfegsxb%]?")
"""The text after the colon in an f-string."""
CONSTANTS: Final = (str, int, float, bool, type(None))
