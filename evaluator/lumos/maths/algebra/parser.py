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
- `%` is the remainder if an operand other than `of` follows it, and percent otherwise.
- Nothing between two operands is multiplication if the second is a name, a reference or a bracket: `2x`, `2(x + 1)`.
- `x` between two operands is multiplication if the second is a number: `3/5 x 100`.
- Names of several letters do not follow each other: `number of apples` is an error.
- A name of several letters, each of which also occurs alone, is their product: `xy` beside `x + y`.
- `pi` is a number; `e` is a variable, since problems call things so.
- A comma inside a number separates thousands (`80,000`) where commas do not separate arguments.
- `$` before a number means nothing.
- Names are Latin or Greek letters, digits and underscores.
- The signs of Unicode for times, divided by, minus, at most, at least, not equal, squared and cubed are operators.
"""

import re
from collections.abc import Collection, Sequence
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
_WRITTEN = {
    "\u00d7": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "\u2013": "-",
    "^": "**",
    "==": "=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
}
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
    """Operands with `+` and `-` between them, or `*`, `/` and `mod`, from left to right.

    One node however many there are, so that a tree is no deeper than its brackets.
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
    """A listed function of arguments."""

    function: str
    arguments: tuple["Node", ...]
    at: int


@dataclass(frozen=True, slots=True)
class Apply:
    """An earlier expression of arguments, such as `R4(R5, R6)`; a product where `R4` is a number."""

    reference: str
    arguments: tuple["Node", ...]
    at: int


Node = Literal | Name | Ref | Minus | Series | Power | Call | Apply


@dataclass(frozen=True, slots=True)
class Chain:
    """An expression, or several with relations between them such as `1 < x <= 5`."""

    sides: tuple[Node, ...]
    operators: tuple[str, ...]
    """`=`, `!=`, `<`, `<=`, `>` or `>=`; one less than the sides."""
    at: int

    @property
    def expression(self) -> Node | None:
        """The expression, or None where there is a relation."""
        return None if self.operators else self.sides[0]


class Token(NamedTuple):
    """A token, with its offset in the text."""

    kind: str
    text: str
    at: int


def tokens_of(text: str, *, thousands: bool) -> list[Token]:
    """The tokens of a text, and one for its end.

    Args:
        text: an expression, or several with separators.
        thousands: whether a comma outside brackets may be part of a number.

    Raises:
        MathsError: it is too long, or has a character without a meaning.
    """
    if len(text) > MAX_TEXT:
        raise MathsError(Failure.LIMIT, f"the expression has {len(text)} characters; at most {MAX_TEXT} are read")
    found: list[Token] = []
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
                lists.append(bool(found) and found[-1].kind in (NAME, REFERENCE))
            elif symbol in _CLOSING.values() and len(lists) > 1:
                lists.pop()
            symbol = _WRITTEN.get(symbol, symbol)
        elif kind == RELATION:
            symbol = _WRITTEN.get(symbol, symbol)
        if kind != _BLANK:
            found.append(Token(kind, symbol, at))
        at = match.end()
    found.append(Token(END, "", at))
    return found


def parse_items(text: str, *, letters: Collection[str] | None = None, thousands: bool = True) -> tuple[Chain, ...]:
    """The items of a text with separators.

    Args:
        text: expressions, equations or inequalities.
        letters: variables of one letter that occur in the values of references; None where a name of several letters
            is never a product.
        thousands: whether a comma outside brackets may be part of a number.

    Raises:
        MathsError: with the position.
    """
    tokens = tokens_of(text, thousands=thousands)
    known = frozenset() if letters is None else frozenset(letters) | _single_letters(tokens)
    parser = _Parser(tokens=tokens, letters=known)
    found = [parser.chain()]
    while parser.take_separator():
        found.append(parser.chain())
    parser.expect_end()
    return tuple(found)


def parse_expression(text: str) -> Node:
    """The one expression of a canonical text.

    Raises:
        MathsError: with the position.
    """
    (chain, *others) = parse_items(text)
    if chain.expression is None or others:
        at = others[0].at if others else chain.at
        raise MathsError(Failure.SYNTAX, "expected one expression, without '=' or other relations", offset=at)
    return chain.expression


def _single_letters(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.text for token in tokens if token.kind == NAME and len(token.text) == 1)


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
            raise self._fail(f"expected an operator or the end, found {self._found()}")

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
            elif self._begins_factor(token):
                if token.kind == NAME and self._is_text(token, after=series.last):
                    raise self._fail(f"expected an operator before {token.text!r}; words do not follow each other")
                series.add("*", self._power(), token.at)
            else:
                return series.node()

    def _is_times(self, token: Token, *, after: Node) -> bool:
        """Whether a word is an operator: `25% of 80`, `3 x 4`."""
        if token.text == "of":
            return not _is_word(after)
        return token.text in ("x", "X") and self._next().kind == NUMBER

    def _is_text(self, token: Token, *, after: Node) -> bool:
        """Whether two names side by side are words and not a product."""
        return _is_word(after) or (isinstance(after, Name) and len(token.text) > 1)

    def _begins_factor(self, token: Token) -> bool:
        if token.kind == NAME:
            return token.text not in _WORDS
        return token.kind == REFERENCE or token.text in _CLOSING

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
            if token.text == "%" and not self._operand_follows():
                node = Series((node, Literal(_PERCENT, token.at)), ("*",), (token.at,))
            elif token.text == "!":
                node = Call("factorial", (node,), token.at)
            elif token.text in _RAISED:
                node = Power(node, Literal(_RAISED[token.text], token.at), token.at)
            else:
                break
            self._step()
        return node

    def _operand_follows(self) -> bool:
        token = self._next()
        if token.kind in _OPERAND:
            return token.text not in _WORDS
        return token.text in _CLOSING

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
        if token.kind == NAME and (token.text not in _WORDS or self._is_call_of_mod()):
            self._step()
            return self._named(token)
        if token.text in _CLOSING:
            self._step()
            node = self._sum()
            self._close(token)
            return node
        raise self._fail(f"expected a number, a name or a bracket, found {self._found()}")

    def _is_call_of_mod(self) -> bool:
        """Whether `mod` is a function and no operator."""
        return self._token.text == "mod" and self._next().text == "("

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
            wanted = str(least) if least == most else f"at least {least}" if most > 10 else f"{least} to {most}"
            message = f"{token.text} takes {wanted} arguments, not {len(arguments)}"
            raise MathsError(Failure.SYNTAX, message, offset=token.at)
        return Call(function, arguments, token.at)

    def _arguments(self, *, of: str) -> tuple[Node, ...]:
        opened = self._step()
        if self._token.text == ")":
            raise self._fail(f"{of} needs arguments")
        found = [self._sum()]
        while self._token.text == ",":
            self._step()
            found.append(self._sum())
        self._close(opened)
        return tuple(found)

    def _close(self, opened: Token) -> None:
        wanted = _CLOSING[opened.text]
        if self._token.text != wanted:
            what = f"{wanted!r} for the {opened.text!r} at character {opened.at + 1}"
            raise self._fail(f"expected an operator or {what}, found {self._found()}")
        self._step()

    def _step(self) -> Token:
        token = self._token
        self._index += 1
        self._token = self._tokens[self._index]
        return token

    def _next(self) -> Token:
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def _found(self) -> str:
        return "the end" if self._token.kind == END else repr(self._token.text[:20])

    def _fail(self, message: str) -> MathsError:
        return MathsError(Failure.SYNTAX, message, offset=self._token.at)


class _SeriesBuilder:
    """A node of the operands so far."""

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
    """Whether a factor is a name of several letters."""
    return isinstance(node, Name) and len(node.name) > 1


def relations_of(chain: Chain) -> tuple[tuple[Node, str, Node], ...]:
    """The relations between neighbours of a chain."""
    return tuple(
        (left, operator, right) for (left, right), operator in zip(pairwise(chain.sides), chain.operators, strict=True)
    )
