"""Random programs from a grammar, most of them valid Python, some hostile; a seed always gives the same program."""

import random
from collections.abc import Callable

_PREAMBLE = """a = 3
b = [1, 2, 3]
c = 'abc'
d = {'k': [1], 'l': []}
grid = [['.', 'a'], ['b', '.']]
def f(x, *y):
    return [x, *y]
g = lambda x, *y: len(y)
"""
_HOSTILE_NAMES = ("open", "eval", "exec", "__builtins__", "__import__", "getattr", "type", "globals", "os", "vars")
_HOSTILE_ATTRIBUTES = ("__class__", "__globals__", "gi_frame", "f_back", "format", "__dict__", "real", "mro")
_HOSTILE_STATEMENTS = ("import os", "raise x", "from os import *", "a = yield", "class A: pass", "with a: pass",
                       "try: a\n{0}except: b", "a.b = 1", "del a.b", "return")  # fmt: skip
_NUMBERS = ("0", "1", "2", "3", "7", "(-1)", "10", "100", "10**3", "10**9", "0.5", "1e9", "True", "SIZE")
_TEXTS = ("''", "'a'", "'abc'", "'{0.__class__}'", "'a b c'", "'%d'")

_Makers = tuple[Callable[[], str], ...]


class _Generator:
    """Programs of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._hostile = self._random.random() < 0.25
        self._loose = self._random.choice([0.0, 0.02, 0.2])
        """How often a value has another type than what uses it expects."""

    def program(self) -> str:
        """A program without arguments, whose last expression is its answer."""
        count = self._random.randrange(1, 8)
        body = "".join(self._statement(depth=0) for _ in range(count))
        return f"{_PREAMBLE}{body}{self._any(3)}\n"

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _of(self, makers: _Makers) -> str:
        return self._random.choice(makers)()

    def _block(self, depth: int) -> str:
        return "".join(self._statement(depth=depth + 1) for _ in range(self._random.randrange(1, 4)))

    def _statement(self, *, depth: int) -> str:
        indent = "    " * depth
        if self._hostile and self._random.random() < 0.1:
            return f"{indent}{self._one(*_HOSTILE_STATEMENTS).format(indent)}\n"
        simple = (
            lambda: f"{self._one('a', 'd[c]', 'b[0]')} = {self._number(3)}",
            lambda: f"{self._one('b', 'a, *b', 'b[1:2]', 'd[0]')} = {self._list(3)}",
            lambda: f"c = {self._text(2)}",
            lambda: f"a {self._one('+', '-', '*', '//', '<<', '**', '|')}= {self._number(2)}",
            lambda: f"b {self._one('+', '*')}= {self._of((lambda: self._list(2), lambda: self._number(1)))}",
            lambda: f"b.{self._one('append', 'extend', 'remove', 'insert')}({self._any(2)})",
            lambda: f"c += {self._text(2)}",
            lambda: f"d[{self._text(1)}] = {self._any(2)}",
            lambda: f"assert {self._number(2)} != {self._number(1)}, {self._any(1)}",
            lambda: self._one("pass", "del b[0]", "a: int = 3", "b.append(b)", "b.sort()", "b.reverse()"),
        )
        compound = (
            lambda: f"if {self._number(2)}:\n{self._block(depth)}{indent}else:\n{self._block(depth)}",
            lambda: f"for {self._one('a', 'x', 'b[0]')} in {self._list(2)}:\n{self._block(depth)}",
            lambda: f"for a, x in enumerate({self._list(2)}):\n{self._block(depth)}",
            lambda: f"while {self._number(1)}:\n{self._block(depth)}{indent}    {self._one('break', 'a -= 1')}\n",
            lambda: f"def h(a, b=[1], *x):\n{indent}    c = d = b\n{self._block(depth)}{indent}    return a\n",
        )
        if depth < 3 and self._random.random() < 0.35:
            return indent + self._of(compound)
        return f"{indent}{self._of(simple)}\n"

    def _any(self, depth: int) -> str:
        return self._of((lambda: self._number(depth), lambda: self._list(depth), lambda: self._text(depth)))

    def _loosely(self, depth: int, makers: _Makers) -> str:
        if self._hostile and self._random.random() < 0.02:
            return self._one(f"a.{self._one(*_HOSTILE_ATTRIBUTES)}", f"{self._one(*_HOSTILE_NAMES)}('a')")
        return self._any(depth - 1) if depth > 0 and self._random.random() < self._loose else self._of(makers)

    def _number(self, depth: int) -> str:
        if depth <= 0:
            return self._one("a", "len(b)", *_NUMBERS)
        less = depth - 1
        operator = self._one("+", "-", "*", "//", "%", "**", "<<", ">>", "|", "&", "^", "/", "and", "or", "<", "==")
        return self._loosely(depth, (
            lambda: f"({self._number(less)} {operator} {self._number(less)})",
            lambda: f"{self._one('len', 'sum', 'max', 'min', 'any', 'all')}({self._list(less)})",
            lambda: f"{self._one('abs', 'round', 'int', 'float', 'bool')}({self._number(less)})",
            lambda: f"{self._one('pow', 'round', 'max')}({self._number(less)}, {self._number(less)})",
            lambda: f"({self._any(less)} {self._one('in', 'not in')} {self._list(less)})",
            lambda: f"({self._list(less)} == {self._list(less)})",
            lambda: f"{self._text(less)}.{self._one('count', 'find', 'index')}({self._text(less)})",
            lambda: f"{self._list(less)}[{self._number(0)}]",
            lambda: f"({self._number(less)} if {self._number(1)} else {self._number(less)})",
            lambda: f"g({self._any(less)}, *{self._list(less)})",
            lambda: f"(lambda a: {self._number(less)})({self._number(less)})",
            lambda: f"-{self._number(less)}",
        ))  # fmt: skip

    def _list(self, depth: int) -> str:
        if depth <= 0:
            return self._one("b", "[]", "grid", "list(d)", "range(a)", "[0, 1]", "range(10**9)")
        less = depth - 1
        return self._loosely(depth, (
            lambda: f"[{self._any(less)}, {self._any(less)}]",
            lambda: f"[{self._any(less)}, *{self._list(less)}]",
            lambda: f"range({self._number(less)})",
            lambda: f"list({self._one('zip', 'enumerate', 'reversed')}({self._list(less)}))",
            lambda: f"list(map({self._one('str', 'g', 'f', 'lambda x: x')}, {self._list(less)}))",
            lambda: f"sorted({self._list(less)}, key=lambda x: {self._number(less)})",
            lambda: f"[{self._any(less)} for x in {self._list(less)} if {self._number(0)}]",
            lambda: f"({self._list(less)} {self._one('+', '*')} {self._of((lambda: '[a]', lambda: self._number(0)))})",
            lambda: f"{self._list(less)}[{self._number(0)}:{self._number(0)}]",
            lambda: f"{self._one('copy.deepcopy', 'list', 'tuple', 'sorted', 'set')}({self._list(less)})",
            lambda: f"f({self._any(less)}, *{self._list(less)})",
            lambda: f"{self._text(less)}.split({self._text(0)})",
            lambda: f"helper({self._number(0)}, {self._number(0)})",
            lambda: f"{self._one('d.keys', 'd.values', 'd.items', 'b.copy')}()",
            lambda: f"d.get({self._text(less)}, {self._list(less)})",
        ))  # fmt: skip

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self._one("c", *_TEXTS)
        less = depth - 1
        return self._loosely(depth, (
            lambda: f"({self._text(less)} + {self._text(less)})",
            lambda: f"({self._text(less)} * {self._number(0)})",
            lambda: f"str({self._any(less)})",
            lambda: f"{self._text(less)}.join(map(str, {self._list(less)}))",
            lambda: f"{self._text(less)}.replace({self._text(0)}, {self._text(less)})",
            lambda: f"{self._text(less)}.{self._one('lower', 'upper', 'strip')}()",
            lambda: f"{self._text(less)}[{self._number(0)}:]",
            lambda: f"f\"{{{self._one('a', 'b', 'c', 'd')}{self._one('', '', '!r', ':5', ':.2f')}}}\"",
        ))  # fmt: skip


def generated(seed: int) -> str:
    """The program of a seed."""
    return _Generator(seed).program()
