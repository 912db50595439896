"""Values of actions: immutable, with a canonical text that `read_value` parses.

Text of a value::

    value       = alternative { " or " alternative }
    alternative = [ "about " ] ( expression | relation { ", " relation } )

- A number is a decimal number if that is exact with at most 12 places, otherwise a fraction and its approximation:
  `12`, `-0.5`, `1/3 (about 0.333333333333333)`. Irrational numbers have 15 significant digits: `about 1.4142135623731`.
- An expression has variables: `n^2 - 4*n + 4`.
- Relations are an equation, an inequality, a conjunction of these, or a solution: `x = 3, y = 4`, `x > 2`.
- Alternatives are the solutions of one equation: `-2 or 2`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from evaluator.lumos.maths.algebra import arithmetic
from evaluator.lumos.maths.algebra.arithmetic import Rational
from evaluator.lumos.maths.algebra.errors import MAX_TEXT, Failure, MathsError
from evaluator.lumos.maths.algebra.evaluate import Evaluator, Value, names_in, text_of
from evaluator.lumos.maths.algebra.parser import parse_items, relations_of

_ABOUT = "about "
_OR = " or "
_APPROXIMATION = re.compile(r" \(about [-+.0-9e]{1,40}\)$")
MAX_ALTERNATIVES = 100


@dataclass(frozen=True, slots=True)
class Number:
    """A rational number, exact or approximate."""

    value: Rational
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        if not self.exact:
            return _ABOUT + arithmetic.approximate(self.value)
        fraction = f"{self.value.numerator}/{self.value.denominator}"
        return arithmetic.exact_decimal(self.value) or f"{fraction} (about {arithmetic.approximate(self.value)})"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with variables."""

    body: str
    """Canonical text, without `about`."""
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        return self.body if self.exact else _ABOUT + self.body

    @property
    def variables(self) -> tuple[str, ...]:
        """Sorted alphabetically."""
        return names_in(self.body)


@dataclass(frozen=True, slots=True)
class Relation:
    """Two canonical expressions and the operator between them."""

    left: str
    operator: str
    right: str

    @property
    def text(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class Relations:
    """A conjunction of equations and inequalities."""

    relations: tuple[Relation, ...]
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        body = ", ".join(relation.text for relation in self.relations)
        return body if self.exact else _ABOUT + body

    @property
    def variables(self) -> tuple[str, ...]:
        """Sorted alphabetically."""
        return names_in(self.text.removeprefix(_ABOUT))

    @property
    def assignments(self) -> Mapping[str, str] | None:
        """The right sides by the variable on the left; None if the relations are not all assignments."""
        equations = (relation for relation in self.relations if relation.operator == "=")
        sides = {each.left: each.right for each in equations if names_in(each.left) == (each.left,)}
        return sides if len(sides) == len(self.relations) else None


@dataclass(frozen=True, slots=True)
class Alternatives:
    """At least two solutions; numbers in increasing order."""

    items: "tuple[Number | Expression | Relations, ...]"

    @property
    def text(self) -> str:
        """The canonical text."""
        return _OR.join(item.text for item in self.items)


Result = Number | Expression | Relations | Alternatives


def result_of(value: Value, *, exact: bool) -> Number | Expression:
    """The value of an action, from the value of an expression."""
    if isinstance(value, Rational):
        return Number(value if exact else arithmetic.rounded(value), exact)
    return Expression(bounded(text_of(value if exact else value.mapped(arithmetic.rounded))), exact)


def bounded(text: str) -> str:
    """Check the length of a value's text."""
    if len(text) > MAX_TEXT:
        raise MathsError(Failure.LIMIT, f"the result has more than {MAX_TEXT} characters")
    return text


@lru_cache(maxsize=256)
def read_value(text: str) -> Result:
    """Parse a value, in its canonical text or another spelling.

    Raises:
        MathsError: the text is not a value; with the position.
    """
    bounded(text)
    items = tuple(_alternative(part) for part in text.split(_OR, MAX_ALTERNATIVES))
    return items[0] if len(items) == 1 else Alternatives(items)


def relation_of(left: Value, operator: str, right: Value) -> Relation:
    """A relation of two values."""
    return Relation(bounded(text_of(left)), operator, bounded(text_of(right)))


def _alternative(text: str) -> Number | Expression | Relations:
    body = text.removeprefix(_ABOUT)
    about = len(body) < len(text)
    if not about:
        body = _APPROXIMATION.sub("", body)
    chains = parse_items(body)
    state = Evaluator()
    if len(chains) == 1 and chains[0].expression is not None:
        value = state.value(chains[0].expression)
        return result_of(value, exact=state.exact and not about)
    relations = []
    for chain in chains:
        if not chain.operators:
            raise MathsError(Failure.SYNTAX, "expected an equation or inequality", offset=chain.at)
        for left, operator, right in relations_of(chain):
            relations.append(relation_of(state.value(left), operator, state.value(right)))
    return Relations(tuple(relations), state.exact and not about)
