"""Parser for program text: a small part of Python's grammar, which is never run, compiled or evaluated.

Grammar::

    program    = function | { statement line-break }
    function   = "def" name "(" [ parameter { "," parameter } [","] ] ")" [ "->" annotation ] ":" line-break
                 { statement line-break }                         each with the same indentation, deeper than "def"
    parameter  = name [ ":" annotation ]
    annotation = name { "." name }
    statement  = name { "," name } "=" expression | call | "return" expression { "," expression } | "pass" | string
    expression = call | name | string | number | "True" | "False" | "None" | list
    call       = name "(" [ argument { "," argument } [","] ] ")"
    argument   = [ name "=" ] expression
    list       = "[" [ expression { "," expression } [","] ] "]"

Strings and numbers are Python's, without prefixes, in single or triple quotes. Line breaks inside brackets, empty
lines and comments (`# ...`) are ignored. Nothing may follow a `return`. Everything else, such as imports, loops,
conditions, operators, attributes, subscripts and f-strings, is an error with line and column.
"""

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.core.plans.literals import short
from evaluator.core.plans.model import PlanSyntaxError

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 20
MAX_STATEMENTS = 500
_PART = "a program has assignments NAME = TOOL(...), calls and return, and nothing else"
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\f]+|\#[^\n]*|\\\n)
      | (?P<line>\r?\n)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
      | (?P<string>\"\"\"(?:[^\\"]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^\\']|\\.|'(?!''))*'''
          |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<symbol>->|[()\[\],=:.])""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(keyword.kwlist) - {"True", "False", "None"}
_CONSTANTS: dict[str, object] = {"True": True, "False": False, "None": None}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_MAX_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Token:
    """A lexical token."""

    kind: str
    """`name`, `number`, `string`, `symbol`, `line` or `end`."""
    text: str
    index: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A text, number, truth value or None."""

    value: object
    index: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: "tuple[Expression, ...]"
    index: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    function: str
    positional: "tuple[Expression, ...]"
    named: "tuple[tuple[str, Expression], ...]"
    index: int


Expression = Name | Constant | Items | Call


@dataclass(frozen=True, slots=True)
class Statement:
    """An assignment, or a call without targets."""

    targets: tuple[str, ...]
    value: Expression
    index: int


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed program."""

    parameters: tuple[Name, ...] | None
    """Of the function; None for a program of lines."""
    statements: tuple[Statement, ...]
    returned: tuple[Expression, ...] | None
    """None if it has no `return`."""


class Positions:
    """Line and column of an index in a text, both from 1."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getitem__(self, index: int) -> str:
        line = self._text.count("\n", 0, index)
        return f"line {line + 1}, column {index - self._text.rfind(chr(10), 0, index)}"


def read_program(text: str, *, start: int = 0, end: int | None = None) -> Program:
    """Parse a program, or the part of a text between `start` and `end`; positions are those of the text.

    Raises:
        PlanSyntaxError: it does not follow this grammar; `where` is line and column.
    """
    if len(text) > MAX_CHARACTERS:
        raise PlanSyntaxError(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    return _Reader(text, start=start, end=len(text) if end is None else end).program()


class _Reader:
    """A recursive-descent parser."""

    def __init__(self, text: str, *, start: int, end: int) -> None:
        self._text = text
        self._positions = Positions(text)
        self._tokens = list(self._tokenize(start, end))
        self._next = 0

    def program(self) -> Program:
        self._skip_lines()
        if self._at("name", "def"):
            return self._function()
        statements, returned = self._statements(indentation=self._indentation(), inside=None)
        return Program(parameters=None, statements=statements, returned=returned)

    def _function(self) -> Program:
        outer = self._indentation()
        self._take()
        self._identifier("the function's name")
        self._expect("(")
        parameters: list[Name] = []
        while not self._at("symbol", ")"):
            token = self._identifier("a parameter")
            parameters.append(Name(token.text, token.index))
            if self._skip(":"):
                self._annotation()
            if not self._skip(","):
                break
        self._expect(")")
        if self._skip("->"):
            self._annotation()
        self._expect(":")
        if self._token.kind != "line":
            raise self._fail(f"expected a line break after ':', found {self._found()}")
        self._skip_lines()
        statements, returned = self._statements(indentation=self._indentation(), inside=outer)
        return Program(parameters=tuple(parameters), statements=statements, returned=returned)

    def _statements(
        self, *, indentation: str, inside: str | None
    ) -> tuple[tuple[Statement, ...], tuple[Expression, ...] | None]:
        statements: list[Statement] = []
        returned: tuple[Expression, ...] | None = None
        count = 0
        if inside is not None and (len(indentation) <= len(inside) or self._token.kind == "end"):
            raise self._fail("the function has no body: its lines stand further in than 'def'")
        while self._token.kind != "end":
            if self._indentation() != indentation:
                raise self._fail("this line stands further in or out than the first one")
            if returned is not None:
                raise self._fail("nothing may follow a return")
            count += 1
            if count > MAX_STATEMENTS:
                raise self._fail(f"a program has at most {MAX_STATEMENTS} statements")
            if self._at("name", "return"):
                self._take()
                returned = self._expressions()
            elif self._at("name", "pass") or self._token.kind == "string":
                self._take()
            else:
                statements.append(self._statement())
            if self._token.kind not in ("line", "end"):
                raise self._fail(f"expected the end of the line, found {self._found()}; {_PART}")
            self._skip_lines()
        if not statements and returned is None:
            raise self._fail("there is no program: neither an assignment nor a call nor a return")
        return tuple(statements), returned

    def _statement(self) -> Statement:
        first = self._identifier("a statement")
        if self._at("symbol", "("):
            return Statement(targets=(), value=self._call(first, depth=0), index=first.index)
        targets = [first.text]
        while self._skip(","):
            targets.append(self._identifier("a name to assign to").text)
        if not self._skip("="):
            raise self._fail(f"expected '=' or '(' after {short(targets[-1])}, found {self._found()}; {_PART}")
        return Statement(targets=tuple(targets), value=self._expression(depth=0), index=first.index)

    def _expressions(self) -> tuple[Expression, ...]:
        expressions = [self._expression(depth=0)]
        while self._skip(","):
            expressions.append(self._expression(depth=0))
        return tuple(expressions)

    def _expression(self, *, depth: int) -> Expression:
        token = self._token
        if depth > MAX_DEPTH:
            raise self._fail(f"nested more than {MAX_DEPTH} deep")
        if token.kind == "string":
            self._take()
            if self._token.kind == "string":
                raise self._fail("two texts beside each other; write them as one")
            width = 3 if token.text[:3] in ('"""', "'''") and len(token.text) > 5 else 1
            return Constant(_ESCAPE.sub(_escape, token.text[width:-width]), token.index)
        if token.kind == "number":
            self._take()
            if len(token.text) > _MAX_DIGITS:
                raise self._fail("a number with too many digits", index=token.index)
            return Constant(int(token.text) if token.text.lstrip("-").isdigit() else float(token.text), token.index)
        if self._skip("["):
            items: list[Expression] = []
            while not self._at("symbol", "]"):
                items.append(self._expression(depth=depth + 1))
                if not self._skip(","):
                    break
            self._expect("]")
            return Items(items=tuple(items), index=token.index)
        if token.kind == "name" and token.text in _CONSTANTS:
            self._take()
            return Constant(_CONSTANTS[token.text], token.index)
        name = self._identifier("a value")
        if self._token.kind == "string":
            raise self._fail(f"texts have no prefix; {short(name.text)} stands before one", index=name.index)
        return self._call(name, depth=depth) if self._at("symbol", "(") else Name(name.text, name.index)

    def _call(self, function: Token, *, depth: int) -> Call:
        self._expect("(")
        positional: list[Expression] = []
        named: dict[str, Expression] = {}
        while not self._at("symbol", ")"):
            name = self._keyword()
            if name is None:
                if named:
                    raise self._fail("an argument without a name stands behind one with a name")
                positional.append(self._expression(depth=depth + 1))
            elif name.text in named:
                raise self._fail(f"the argument {short(name.text)} stands twice", index=name.index)
            else:
                named[name.text] = self._expression(depth=depth + 1)
            if not self._skip(","):
                break
        self._expect(")")
        return Call(
            function=function.text, positional=tuple(positional), named=tuple(named.items()), index=function.index
        )

    def _keyword(self) -> Token | None:
        """The name before `=`, if an argument begins with one."""
        token, after = self._token, self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        if token.kind != "name" or (after.kind, after.text) != ("symbol", "="):
            return None
        self._take()
        self._take()
        return token

    def _annotation(self) -> None:
        self._identifier("a type")
        while self._skip("."):
            self._identifier("a type")

    def _identifier(self, what: str) -> Token:
        token = self._token
        if token.kind != "name":
            raise self._fail(f"expected {what}, found {self._found()}; {_PART}")
        if token.text in _KEYWORDS or token.text in _CONSTANTS:
            raise self._fail(f"{token.text!r} cannot stand here; {_PART}")
        return self._take()

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _at(self, kind: str, text: str) -> bool:
        return (self._token.kind, self._token.text) == (kind, text)

    def _skip(self, symbol: str) -> bool:
        if not self._at("symbol", symbol):
            return False
        self._take()
        return True

    def _expect(self, symbol: str) -> None:
        if not self._skip(symbol):
            raise self._fail(f"expected {symbol!r}, found {self._found()}; {_PART}")

    def _skip_lines(self) -> None:
        while self._token.kind == "line":
            self._take()

    def _indentation(self) -> str:
        begin = self._text.rfind("\n", 0, self._token.index) + 1
        before = self._text[begin : self._token.index]
        return before if before.isspace() else ""

    def _found(self) -> str:
        token = self._token
        return {"end": "the end", "line": "the end of the line"}.get(token.kind) or short(token.text)

    def _fail(self, message: str, *, index: int | None = None) -> PlanSyntaxError:
        return PlanSyntaxError(message, where=self._positions[self._token.index if index is None else index])

    def _tokenize(self, start: int, end: int) -> Iterator[Token]:
        index, depth = start, 0
        while index < end:
            match = _TOKEN.match(self._text, index, end)
            if match is None:
                symbol = self._text[index]
                problem = "this quote is never closed" if symbol in "'\"" else f"{symbol!r} cannot stand here; {_PART}"
                raise PlanSyntaxError(problem, where=self._positions[index])
            kind = str(match.lastgroup)
            if kind == "symbol":
                depth += (match[0] in "([") - (match[0] in ")]")
            if kind != "blank" and not (kind == "line" and depth > 0):
                yield Token(kind=kind, text=match[0], index=index)
            index = match.end()
        yield Token(kind="end", text="", index=end)


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, match[0])
