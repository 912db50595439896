"""Inverting one function: from `sqrt(x + 1) = 3` to `x + 1 - 9 = 0`."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from evaluator.lumos.maths.algebra.arithmetic import Rational
from evaluator.lumos.maths.algebra.errors import Failure, MathsError, Work
from evaluator.lumos.maths.algebra.evaluate import Evaluator, Value, variables_in
from evaluator.lumos.maths.algebra.functions import FUNCTIONS
from evaluator.lumos.maths.algebra.parser import parse_expression
from evaluator.lumos.maths.algebra.polynomials import Quotient
from evaluator.lumos.maths.algebra.syntax import Call

Inverse = Callable[[Rational, Evaluator], list[Rational]]


@dataclass(frozen=True, slots=True)
class Preimage:
    """An equation that the unknown satisfies: its left side, the right side being zero."""

    equation: Value
    exact: bool


def preimages(*, atom: str, unknown: str, value: Rational, work: Work) -> tuple[Preimage, ...]:
    """The equations that say that a function of the unknown has a value.

    Raises:
        MathsError: the function is not inverted here.
    """
    node = parse_expression(atom)
    assert isinstance(node, Call)
    work.spend(5 * len(atom))
    state = Evaluator(work=work)
    arguments = [state.value(argument) for argument in node.arguments]
    places = [index for index, argument in enumerate(arguments) if unknown in variables_in(argument)]
    numbers = [argument for argument in arguments if not isinstance(argument, Quotient)]
    inverse = _inverse(node.function, place=places[0], numbers=numbers) if len(places) == 1 else None
    if inverse is None:
        raise MathsError(Failure.UNSOLVED, f"an equation with {unknown} in {node.function} is not solved")
    inner = arguments[places[0]]
    found = [state.operation("-", inner, wanted) for wanted in inverse(value, state)]
    return tuple(Preimage(equation, state.exact) for equation in found)


def _inverse(function: str, *, place: int, numbers: list[Rational]) -> Inverse | None:
    if function == "pow" and len(numbers) == 1:
        return _exponent(numbers[0]) if place == 1 else _base(numbers[0])
    if function == "log" and len(numbers) == 1 and place == 0:
        return lambda value, state: [FUNCTIONS["pow"].value([numbers[0], value], state)]
    return _INVERSES.get(function) if not numbers else None


def _exponent(base: Rational) -> Inverse:
    return lambda value, state: [FUNCTIONS["log"].value([value, base], state)] if value > 0 else []


def _base(exponent: Rational) -> Inverse:
    """Of a power with a fraction as its exponent, whose base is not negative if the denominator is even."""

    def inverse(value: Rational, state: Evaluator) -> list[Rational]:
        if not exponent or value < 0:
            return []
        found = FUNCTIONS["pow"].value([value, 1 / Fraction(exponent)], state)
        return [found, -found] if exponent.numerator % 2 == 0 and found else [found]

    return inverse


def _exponential(value: Rational, state: Evaluator) -> list[Rational]:
    return [FUNCTIONS["exp"].value([value], state)]


_INVERSES: dict[str, Inverse] = {
    "sqrt": lambda value, _: [value**2] if value >= 0 else [],
    "cbrt": lambda value, _: [value**3],
    "abs": lambda value, _: [value, -value] if value > 0 else [0] if not value else [],
    "exp": lambda value, state: [FUNCTIONS["log"].value([value], state)] if value > 0 else [],
    "log": _exponential,
    "log2": lambda value, state: [FUNCTIONS["pow"].value([2, value], state)],
    "log10": lambda value, state: [FUNCTIONS["pow"].value([10, value], state)],
}
