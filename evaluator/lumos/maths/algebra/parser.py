"""Parser of expressions, equations and inequalities.

Grammar::

    items    = chain { ("," | ";" | "and") chain }
    chain    = sum { relation sum }
    sum      = product { ("+" | "-") product }
    product  = unary { ("*" | "/" | "%" | "mod" | "of" | nothing) unary }
    unary    = { "-" | "+" } power
    power    = postfix [ ("^" | "**") unary ]
    postfix  = atom { "%" | "!" | "²" | "³" }
    atom     = number | name | reference | "(" sum ")" | function "(" [ sum { "," sum } ] ")"
             | reference "(" sum { "," sum } ")"

- Brackets are `()`, `[]` or `{}`.
- `%` is the remainder if an operand other than `of` follows, and percent otherwise.
- Adjacent operands are multiplied if the second is a name, a reference or a bracket: `2x`, `2(x + 1)`.
- `x` between two operands is multiplication if the second is a number: `3/5 x 100`.
- Two adjacent names of several letters are an error: `number of apples`.
- A name of several letters, each of which also occurs on its own, is their product: `xy` beside `x + y`.
- `pi` is a number; `e` is a variable, because problems use it as a name.
- A comma inside a number separates thousands (`80,000`) where commas do not separate arguments.
- `$` before a number is ignored.
- Names consist of Latin or Greek letters, digits and underscores.
- Unicode signs for times, divided by, minus, at most, at least, not equal, squared and cubed are operators.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from evaluator.lumos.maths.algebra.arithmetic import ALIASES, FUNCTIONS, Rational, number_of
from evaluator.lumos.maths.algebra.errors import MAX_DEPTH, MAX_TEXT, Failure, MathsError

NUMBER, REFERENCE, NAME, RELATION, SYMBOL, END = "number", "reference", "name", "relation", "symbol", "end"
_BLANK = "blank"
_PLAIN = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4}(?![\w.]))?"
_PART = r"[A-Za-z0-9_\u0370-\u03ff]"
_REST = (
    rf"|(?P<reference>R[0-9]{{1,9}}(?!{_PART}|\.[0-9]))"
    rf"|(?P<name>(?!R[0-9]+(?!{_PART}))[A-Za-z\u0370-\u03ff]{_PART}*)"
    r"|(?P<relation><=|>=|==|!=|[=<>≤≥≠])"
    r"|(?P<symbol>\*\*|[-+*/%^!()\[\]{},;\u00d7\u00b7\u00f7\u2212\u2013\u00b2\u00b3])"
    r"|(?P<blank>[\s\u00a0]+|\$(?=\s{0,9}[.0-9(R]))"
)
_TOKEN = re.compile(f"(?P<number>{_PLAIN})" + _REST)
_THOUSANDS = re.compile(rf"(?P<number>[0-9]{{1,3}}(?:,[0-9]{{3}})+(?![0-9])(?:\.[0-9]+)?|{_PLAIN})" + _REST)
_CANONICAL = {
    "\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-", "^": "**", "==": "=", "≤": "<=",
    "≥": ">=", "≠": "!=",
}  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_WORDS = frozenset({"of", "mod", "and", "or", "about"})
_RAISED = {"²": 2, "³": 3}
_FACTORS = {"*": "*", "/": "/", "%": "mod", "mod": "mod"}
_PERCENT = Fraction(1, 100)
_OPERAND = frozenset({NUMBER, NAME, REFERENCE})
_MOST_NAME = 40


@dataclass(frozen=True, slots=True)
class Literal:
    """A number."""

    value: Rational
    at: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of an earlier action."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Minus:
    """The negative of an operand."""

    operand: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Series:
    """Operands separated by `+` and `-`, or by `*`, `/` and `mod`, evaluated from left to right.

    A single node, so that the depth of a tree is bounded by its brackets.
    """

    operands: tuple["Node", ...]
    operators: tuple[str, ...]
    """One less than the operands."""
    places: tuple[int, ...]
    """Offsets of the operators."""

    @property
    def at(self) -> int:
        return self.places[0]


@dataclass(frozen=True, slots=True)
class Power:
    """A base and its exponent."""

    base: "Node"
    exponent: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function in `FUNCTIONS`."""

    function: str
    arguments: tuple["Node", ...]
    at: int


@dataclass(frozen=True, slots=True)
class Apply:
    """An earlier expression applied to arguments, such as `R4(R5, R6)`; a product if `R4` is a number."""

    reference: str
    arguments: tuple["Node", ...]
    at: int


Node = Literal | Name | Ref | Minus | Series | Power | Call | Apply


@dataclass(frozen=True, slots=True)
class Chain:
    """An expression, or a chain of relations such as `1 < x <= 5`."""

    sides: tuple[Node, ...]
    operators: tuple[str, ...]
    """`=`, `!=`, `<`, `<=`, `>` or `>=`; one less than the sides."""
    at: int

    @property
    def expression(self) -> Node | None:
        """The expression; None for relations."""
        return None if self.operators else self.sides[0]


class Token(NamedTuple):
    """A token, with its offset in the text."""

    kind: str
    text: str
    at: int


def tokens_of(text: str, *, thousands: bool) -> list[Token]:
    """The tokens of a text, followed by an end token.

    Args:
        text: an expression, or several with separators.
        thousands: whether a comma outside brackets may be part of a number.

    Raises:
        MathsError: the text is too long, or has an unknown character.
    """
    if len(text) > MAX_TEXT:
        raise MathsError(Failure.LIMIT, f"the expression has {len(text)} characters; at most {MAX_TEXT} are read")
    tokens: list[Token] = []
    # Whether commas separate arguments, for each open bracket.
    lists = [not thousands]
    at = 0
    while at < len(text):
        match = (_TOKEN if lists[-1] else _THOUSANDS).match(text, at)
        if match is None:
            raise MathsError(Failure.SYNTAX, f"the character {text[at]!r} has no meaning in an expression", offset=at)
        kind, symbol = match.lastgroup or "", match[0]
        if kind == SYMBOL:
            if symbol in _CLOSING:
                lists.append(bool(tokens) and tokens[-1].kind in (NAME, REFERENCE))
            elif symbol in _CLOSING.values() and len(lists) > 1:
                lists.pop()
        if kind != _BLANK:
            tokens.append(Token(kind, _CANONICAL.get(symbol, symbol), at))
        at = match.end()
    tokens.append(Token(END, "", at))
    return tokens


def parse_items(text: str, *, letters: Collection[str] | None = None, thousands: bool = True) -> tuple[Chain, ...]:
    """Parse the items of a text with separators.

    Args:
        text: expressions, equations or inequalities.
        letters: variables of one letter in the values of references; None if a name of several letters is never a
            product.
        thousands: whether a comma outside brackets may be part of a number.

    Raises:
        MathsError: with the position.
    """
    tokens = tokens_of(text, thousands=thousands)
    known: set[str] = set()
    if letters is not None:
        known = {*letters, *(token.text for token in tokens if token.kind == NAME and len(token.text) == 1)}
    parser = _Parser(tokens=tokens, letters=frozenset(known))
    items = [parser.chain()]
    while parser.take_separator():
        items.append(parser.chain())
    parser.expect_end()
    return tuple(items)


def parse_expression(text: str) -> Node:
    """Parse a canonical text of a single expression.

    Raises:
        MathsError: with the position.
    """
    (chain, *others) = parse_items(text)
    if chain.expression is None or others:
        at = others[0].at if others else chain.at
        raise MathsError(Failure.SYNTAX, "expected one expression, without '=' or other relations", offset=at)
    return chain.expression


class _Parser:
    """The state of one pass over tokens."""

    def __init__(self, *, tokens: list[Token], letters: frozenset[str]) -> None:
        self._tokens = tokens
        self._letters = letters
        self._index = 0
        self._token = tokens[0]
        self._depth = 0

    def chain(self) -> Chain:
        start = self._token.at
        sides, operators = [self._sum()], []
        while self._token.kind == RELATION:
            operators.append(self._step().text)
            sides.append(self._sum())
        return Chain(tuple(sides), tuple(operators), start)

    def take_separator(self) -> bool:
        if self._token.text in (",", ";", "and") and self._token.kind in (SYMBOL, NAME):
            self._step()
            return True
        return False

    def expect_end(self) -> None:
        if self._token.kind != END:
            raise self._fail(f"expected an operator or the end, found {self._current()}")

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise MathsError(Failure.LIMIT, f"nested more than {MAX_DEPTH} deep", offset=self._token.at)
        series = _SeriesBuilder(self._product())
        while self._token.text in ("+", "-"):
            token = self._step()
            series.add(token.text, self._product(), token.at)
        self._depth -= 1
        return series.node()

    def _product(self) -> Node:
        series = _SeriesBuilder(self._unary())
        while True:
            token = self._token
            if token.text in _FACTORS:
                self._step()
                series.add(_FACTORS[token.text], self._unary(), token.at)
            elif self._is_times(token, after=series.last):
                self._step()
                series.add("*", self._unary(), token.at)
            elif token.text not in _WORDS if token.kind == NAME else token.kind == REFERENCE or token.text in _CLOSING:
                last = series.last
                # Two adjacent names are words rather than a product.
                if token.kind == NAME and (_is_word(last) or (isinstance(last, Name) and len(token.text) > 1)):
                    raise self._fail(f"expected an operator before {token.text!r}; words do not follow each other")
                series.add("*", self._power(), token.at)
            else:
                return series.node()

    def _is_times(self, token: Token, *, after: Node) -> bool:
        """Whether a word is an operator: `25% of 80`, `3 x 4`."""
        if token.text == "of":
            return not _is_word(after)
        return token.text in ("x", "X") and self._next().kind == NUMBER

    def _unary(self) -> Node:
        signs = []
        while self._token.text in ("-", "+"):
            signs.append(self._step())
        node = self._power()
        for token in reversed(signs):
            if token.text == "-":
                node = Minus(node, token.at) if not isinstance(node, Minus) else node.operand
        return node

    def _power(self) -> Node:
        node = self._postfix()
        if self._token.text not in ("^", "**"):
            return node
        token = self._step()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise MathsError(Failure.LIMIT, f"nested more than {MAX_DEPTH} deep", offset=token.at)
        exponent = self._unary()
        self._depth -= 1
        return Power(node, exponent, token.at)

    def _postfix(self) -> Node:
        node = self._atom()
        for count in range(MAX_DEPTH + 1):
            token = self._token
            if count == MAX_DEPTH:
                raise MathsError(Failure.LIMIT, f"more than {MAX_DEPTH} operators in a row", offset=token.at)
            after = self._next()
            is_operand = after.text not in _WORDS if after.kind in _OPERAND else after.text in _CLOSING
            if token.text == "%" and not is_operand:
                node = Series((node, Literal(_PERCENT, token.at)), ("*",), (token.at,))
            elif token.text == "!":
                node = Call("factorial", (node,), token.at)
            elif token.text in _RAISED:
                node = Power(node, Literal(_RAISED[token.text], token.at), token.at)
            else:
                break
            self._step()
        return node

    def _atom(self) -> Node:
        token = self._token
        if token.kind == NUMBER:
            self._step()
            return Literal(number_of(token.text, at=token.at), token.at)
        if token.kind == REFERENCE:
            self._step()
            if self._token.text == "(":
                return Apply(token.text, self._arguments(of=token.text), token.at)
            return Ref(token.text, token.at)
        # `mod` before a bracket is a function.
        if token.kind == NAME and (token.text not in _WORDS or (token.text == "mod" and self._next().text == "(")):
            self._step()
            return self._named(token)
        if token.text in _CLOSING:
            self._step()
            node = self._sum()
            self._close(token)
            return node
        raise self._fail(f"expected a number, a name or a bracket, found {self._current()}")

    def _named(self, token: Token) -> Node:
        name = token.text
        if self._token.text == "(":
            function = ALIASES.get(name.lower(), name.lower())
            if function in FUNCTIONS:
                return self._call(token, function=function)
            if len(name) > 1 and not self._is_product(name):
                known = ", ".join(FUNCTIONS)
                raise MathsError(Failure.SYNTAX, f"there is no function {name!r}; there are: {known}", offset=token.at)
        if len(name) > _MOST_NAME:
            raise MathsError(Failure.LIMIT, f"a name has at most {_MOST_NAME} characters", offset=token.at)
        if name.lower() in ("pi", "π"):
            return Call("pi", (), token.at)
        if self._is_product(name):
            times = len(name) - 1
            return Series(tuple(Name(letter, token.at) for letter in name), ("*",) * times, (token.at,) * times)
        return Name(name, token.at)

    def _is_product(self, name: str) -> bool:
        return 1 < len(name) <= 5 and name.isalpha() and self._letters.issuperset(name)

    def _call(self, token: Token, *, function: str) -> Node:
        arguments = self._arguments(of=token.text)
        least, most = FUNCTIONS[function].least, FUNCTIONS[function].most
        if not least <= len(arguments) <= most:
            range_ = str(least) if least == most else f"at least {least}" if most > 10 else f"{least} to {most}"
            message = f"{token.text} takes {range_} arguments, not {len(arguments)}"
            raise MathsError(Failure.SYNTAX, message, offset=token.at)
        return Call(function, arguments, token.at)

    def _arguments(self, *, of: str) -> tuple[Node, ...]:
        opened = self._step()
        if self._token.text == ")":
            raise self._fail(f"{of} needs arguments")
        arguments = [self._sum()]
        while self._token.text == ",":
            self._step()
            arguments.append(self._sum())
        self._close(opened)
        return tuple(arguments)

    def _close(self, opened: Token) -> None:
        closing = _CLOSING[opened.text]
        if self._token.text != closing:
            what = f"{closing!r} for the {opened.text!r} at character {opened.at + 1}"
            raise self._fail(f"expected an operator or {what}, found {self._current()}")
        self._step()

    def _step(self) -> Token:
        token = self._token
        self._index += 1
        self._token = self._tokens[self._index]
        return token

    def _next(self) -> Token:
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def _current(self) -> str:
        return "the end" if self._token.kind == END else repr(self._token.text[:20])

    def _fail(self, message: str) -> MathsError:
        return MathsError(Failure.SYNTAX, message, offset=self._token.at)


class _SeriesBuilder:
    """Collects the operands of a series."""

    def __init__(self, first: Node) -> None:
        self._operands = [first]
        self._operators: list[str] = []
        self._places: list[int] = []

    @property
    def last(self) -> Node:
        return self._operands[-1]

    def add(self, operator: str, operand: Node, at: int) -> None:
        self._operands.append(operand)
        self._operators.append(operator)
        self._places.append(at)

    def node(self) -> Node:
        if not self._operators:
            return self._operands[0]
        return Series(tuple(self._operands), tuple(self._operators), tuple(self._places))


def _is_word(node: Node) -> bool:
    return isinstance(node, Name) and len(node.name) > 1


def relations_of(chain: Chain) -> tuple[tuple[Node, str, Node], ...]:
    """The relations between neighbours of a chain."""
    return tuple(
        (left, operator, right) for (left, right), operator in zip(pairwise(chain.sides), chain.operators, strict=True)
    )
