"""Expressions and relations as trees, each node with the offset of what it was read from."""

from dataclasses import dataclass

from evaluator.lumos.maths.algebra.arithmetic import Rational


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
