"""Values of actions: immutable, and each with a canonical text that `read_value` reads back.

Text of a value::

    value       = alternative { " or " alternative }
    alternative = [ "about " ] ( expression | relation { ", " relation } )

- A number is a decimal number if that is exact with at most 12 places, otherwise a fraction and its approximation:
  `12`, `-0.5`, `1/3 (about 0.333333333333333)`. One that is not rational has 15 significant digits:
  `about 1.4142135623731`.
- An expression has variables: `n^2 - 4*n + 4`.
- Relations are an equation, an inequality, several that hold together, or a solution: `x = 3, y = 4`, `x > 2`.
- Alternatives are the several solutions of one equation: `-2 or 2`.
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
    """A rational number, or one that stands for a number near it."""

    value: Rational
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        if not self.exact:
            return _ABOUT + arithmetic.approximate(self.value)
        found = arithmetic.exact_decimal(self.value)
        if found is not None:
            return found
        fraction = f"{self.value.numerator}/{self.value.denominator}"
        return f"{fraction} (about {arithmetic.approximate(self.value)})"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with variables."""

    body: str
    """Canonical, without `about`."""
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        return self.body if self.exact else _ABOUT + self.body

    @property
    def variables(self) -> tuple[str, ...]:
        """In alphabetical order."""
        return names_in(self.body)


@dataclass(frozen=True, slots=True)
class Relation:
    """Two canonical expressions and what is between them."""

    left: str
    operator: str
    right: str

    @property
    def text(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class Relations:
    """Equations and inequalities that hold together."""

    relations: tuple[Relation, ...]
    exact: bool = True

    @property
    def text(self) -> str:
        """The canonical text."""
        body = ", ".join(relation.text for relation in self.relations)
        return body if self.exact else _ABOUT + body

    @property
    def variables(self) -> tuple[str, ...]:
        """In alphabetical order."""
        return names_in(self.text.removeprefix(_ABOUT))

    @property
    def assignments(self) -> Mapping[str, str] | None:
        """The right sides by the variable on the left, or None if the relations are something else."""
        equations = (one for one in self.relations if one.operator == "=")
        found = {one.left: one.right for one in equations if names_in(one.left) == (one.left,)}
        return found if len(found) == len(self.relations) else None


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Several solutions, at least two; numbers in increasing order."""

    items: "tuple[Number | Expression | Relations, ...]"

    @property
    def text(self) -> str:
        """The canonical text."""
        return _OR.join(item.text for item in self.items)


Result = Number | Expression | Relations | Alternatives


def result_of(value: Value, *, exact: bool) -> Number | Expression:
    """The value of an action, from what an expression was evaluated to."""
    if isinstance(value, Rational):
        return Number(value if exact else arithmetic.rounded(value), exact)
    return Expression(bounded(text_of(value if exact else value.mapped(arithmetic.rounded))), exact)


def bounded(text: str) -> str:
    """A text that must not be too long for a value."""
    if len(text) > MAX_TEXT:
        raise MathsError(Failure.LIMIT, f"the result has more than {MAX_TEXT} characters")
    return text


@lru_cache(maxsize=256)
def read_value(text: str) -> Result:
    """The value with this canonical text; other spellings of it are read too.

    Raises:
        MathsError: it is no value, with the position.
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
