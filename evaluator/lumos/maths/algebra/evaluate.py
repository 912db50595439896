"""The value of an expression: a number, or with variables a quotient of polynomials.

Numbers are computed without sympy, which is imported on the first variable.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Union

from evaluator.lumos.maths.algebra.arithmetic import FUNCTIONS, Exactness, Rational, divided, exact_text, modulo, sized
from evaluator.lumos.maths.algebra.arithmetic import power as number_power
from evaluator.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.lumos.maths.algebra.parser import (
    Apply,
    Call,
    Literal,
    Minus,
    Name,
    Node,
    Power,
    Ref,
    Series,
    parse_expression,
)

if TYPE_CHECKING:
    from evaluator.lumos.maths.algebra.symbolic import Quotient

Value = Union[Rational, "Quotient"]
_NAME = re.compile(r"[A-Za-z\u0370-\u03ff][A-Za-z0-9_\u0370-\u03ff]*(?![A-Za-z0-9_\u0370-\u03ff]|\()")


class Evaluator(Exactness):
    """Evaluates trees, and tracks whether the results are exact."""

    __slots__ = ("_apply", "_bindings", "_reference")

    def __init__(
        self,
        *,
        reference: Callable[[str, int], Value] | None = None,
        apply: Callable[[str, Sequence[Node], int], Value] | None = None,
        bindings: Mapping[str, Value] | None = None,
    ) -> None:
        """Args:
        reference: returns the value of a reference, given its name and position; default: no references.
        apply: returns the value of a reference with arguments.
        bindings: values of variables.
        """
        super().__init__()
        self._reference = reference
        self._apply = apply
        self._bindings = bindings or {}

    def value(self, node: Node) -> Value:
        """The value of a tree.

        Raises:
            MathsError: there is no value, or it is too large; with the position of the operation.
        """
        try:
            return self._value(node)
        except MathsError as error:
            if error.offset is None:
                error.offset = node.at
            raise

    def _value(self, node: Node) -> Value:
        match node:
            case Literal():
                return node.value
            case Series():
                return self._series(node)
            case Power():
                return self._power(self.value(node.base), self.value(node.exponent))
            case Minus():
                return self.operation("*", -1, self.value(node.operand))
            case Name():
                bound = self._bindings.get(node.name)
                return _atom(node.name) if bound is None else bound
            case Call():
                return self._function(node)
            case Apply() if self._apply is not None:
                return self._apply(node.reference, node.arguments, node.at)
            case Ref() if self._reference is not None:
                return self._reference(node.name, node.at)
        raise MathsError(Failure.REFERENCE, "a value does not refer to other results", offset=node.at)

    def _series(self, node: Series) -> Value:
        total = self.value(node.operands[0])
        for operator, operand, place in zip(node.operators, node.operands[1:], node.places, strict=True):
            right = self.value(operand)
            try:
                total = self.operation(operator, total, right)
            except MathsError as error:
                error.offset = place if error.offset is None else error.offset
                raise
        return total

    def operation(self, operator: str, left: Value, right: Value) -> Value:
        """`+`, `-`, `*`, `/` or `mod` of two values.

        Raises:
            MathsError: a division by zero, or the result is too large.
        """
        if not isinstance(left, Rational) or not isinstance(right, Rational):
            if operator == "mod":
                return self.call("mod", [left, right])
            from evaluator.lumos.maths.algebra import symbolic

            return symbolic.operation(operator, left, right)
        if operator == "+":
            return sized(left + right)
        if operator == "-":
            return sized(left - right)
        if operator == "*":
            return sized(left * right)
        return divided(left, right) if operator == "/" else modulo(left, right)

    def _function(self, node: Call) -> Value:
        return self.call(node.function, [self.value(argument) for argument in node.arguments])

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        """A function's value; a function of variables is an atom, which is not simplified."""
        numbers = [argument for argument in arguments if isinstance(argument, Rational)]
        if len(numbers) == len(arguments):
            return FUNCTIONS[name].value(numbers, self)
        return _atom(f"{name}({', '.join(map(text_of, arguments))})")

    def _power(self, base: Value, exponent: Value) -> Value:
        if isinstance(base, Rational) and isinstance(exponent, Rational):
            return number_power(base, exponent, state=self)
        if isinstance(base, Rational) or not isinstance(exponent, int):
            return self.call("sqrt", [base]) if exponent == Fraction(1, 2) else self.call("pow", [base, exponent])
        if not exponent:
            return 1
        from evaluator.lumos.maths.algebra import symbolic

        return symbolic.power(base, exponent)


def text_of(value: Value) -> str:
    """The value in the parser's syntax."""
    return exact_text(value) if isinstance(value, Rational) else value.text


def variables_in(value: Value) -> tuple[str, ...]:
    """The variables of a value, including those inside functions, in alphabetical order."""
    return () if isinstance(value, Rational) else names_in(" ".join(value.atoms))


def names_in(text: str) -> tuple[str, ...]:
    """The variables of a canonical text, in alphabetical order."""
    return tuple(sorted(set(_NAME.findall(text))))


def evaluated(text: str, *, bindings: Mapping[str, Value], state: Evaluator) -> Value:
    """The value of a canonical text for these values of its variables.

    Raises:
        MathsError: there is no value; without a position.
    """
    inner = Evaluator(bindings=bindings)
    try:
        return inner.value(parse_expression(text))
    except MathsError as error:
        raise MathsError(error.kind, error.message) from None
    finally:
        state.exact = state.exact and inner.exact


def _atom(text: str) -> "Quotient":
    from evaluator.lumos.maths.algebra import symbolic

    return symbolic.variable(text)
