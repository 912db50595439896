"""The value of an expression: a number where it has no variables, else a quotient of polynomials."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from evaluator.lumos.maths.algebra import polynomials
from evaluator.lumos.maths.algebra.arithmetic import Exactness, Rational, divided, modulo, power, sized
from evaluator.lumos.maths.algebra.errors import MAX_POWER, Failure, MathsError, Work
from evaluator.lumos.maths.algebra.functions import FUNCTIONS
from evaluator.lumos.maths.algebra.parser import parse_expression
from evaluator.lumos.maths.algebra.polynomials import ONE, Quotient, constant, constant_of
from evaluator.lumos.maths.algebra.syntax import Apply, Call, Literal, Minus, Name, Node, Power, Ref, Series

Value = Rational | Quotient
_HALF = "1/2"
_NAME = re.compile(r"[A-Za-z\u0370-\u03ff][A-Za-z0-9_\u0370-\u03ff]*(?![A-Za-z0-9_\u0370-\u03ff]|\()")


class Evaluator(Exactness):
    """Evaluates trees, within its work, and remembers whether everything was exact."""

    __slots__ = ("_apply", "_bindings", "_reference", "work")

    def __init__(
        self,
        *,
        reference: Callable[[str, int], Value] | None = None,
        apply: Callable[[str, Sequence[Node], int], Value] | None = None,
        bindings: Mapping[str, Value] | None = None,
        work: Work | None = None,
    ) -> None:
        """Prepare an evaluation.

        Args:
            reference: the value of a reference, and how it is used in `reference(arguments)`; by default there are
                none.
            apply: the value of a reference with arguments.
            bindings: values of variables.
            work: what may still be done.
        """
        super().__init__()
        self._reference = reference
        self._apply = apply
        self._bindings = bindings or {}
        self.work = work or Work()

    def value(self, node: Node) -> Value:
        """The value of a tree.

        Raises:
            MathsError: it has none, or is too large; with the position of the operation.
        """
        try:
            return self._value(node)
        except MathsError as error:
            if error.offset is None:
                error.offset = node.at
            raise

    def _value(self, node: Node) -> Value:
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Series):
            return self._series(node)
        if isinstance(node, Power):
            return self._power(self.value(node.base), self.value(node.exponent))
        if isinstance(node, Minus):
            return self.negative(self.value(node.operand))
        if isinstance(node, Name):
            found = self._bindings.get(node.name)
            return Quotient(polynomials.variable(node.name), ONE) if found is None else found
        if isinstance(node, Call):
            return self._function(node)
        if isinstance(node, Apply) and self._apply is not None:
            return self._apply(node.reference, node.arguments, node.at)
        if isinstance(node, Ref) and self._reference is not None:
            return self._reference(node.name, node.at)
        raise MathsError(Failure.REFERENCE, "a value does not refer to other results", offset=node.at)

    def _series(self, node: Series) -> Value:
        self.work.spend(2 * len(node.operands))
        found = self.value(node.operands[0])
        for index, operator in enumerate(node.operators):
            operand = self.value(node.operands[index + 1])
            try:
                found = self.operation(operator, found, operand)
            except MathsError as error:
                error.offset = node.places[index] if error.offset is None else error.offset
                raise
            if isinstance(found, Fraction):
                self.work.spend(found.denominator.bit_length() // 32)
        return found

    def operation(self, operator: str, left: Value, right: Value) -> Value:
        """`+`, `-`, `*`, `/` or `mod` of two values.

        Raises:
            MathsError: a division by zero, or the result is too large.
        """
        if isinstance(left, Quotient) or isinstance(right, Quotient):
            return self._of_variables(operator, left, right)
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
        """A function's value; one of variables is an atom, which is kept as it is."""
        numbers = [argument for argument in arguments if not isinstance(argument, Quotient)]
        self.work.spend(FUNCTIONS[name].cost + 2 * len(arguments))
        if len(numbers) == len(arguments):
            return FUNCTIONS[name].value(numbers, self)
        text = f"{name}({', '.join(map(text_of, arguments))})"
        self.work.spend(len(text))
        return Quotient(polynomials.variable(text), ONE)

    def negative(self, value: Value) -> Value:
        """The value times -1."""
        return self._of_variables("*", -1, value) if isinstance(value, Quotient) else -value

    def _of_variables(self, operator: str, left: Value, right: Value) -> Value:
        work = self.work
        if operator == "mod":
            return self.call("mod", [left, right])
        a, b = as_quotient(left), as_quotient(right)
        if operator == "*":
            top = polynomials.multiply(a.numerator, b.numerator, work=work)
            bottom = polynomials.multiply(a.denominator, b.denominator, work=work)
        elif operator == "/":
            top = polynomials.multiply(a.numerator, b.denominator, work=work)
            bottom = polynomials.multiply(a.denominator, b.numerator, work=work)
        else:
            first, second = a.numerator, b.numerator
            bottom = a.denominator
            if a.denominator != b.denominator:
                first = polynomials.multiply(first, b.denominator, work=work)
                second = polynomials.multiply(second, a.denominator, work=work)
                bottom = polynomials.multiply(bottom, b.denominator, work=work)
            top = polynomials.add(first, second, work=work, factor=1 if operator == "+" else -1)
        return self._reduced(top, bottom)

    def _power(self, base: Value, exponent: Value) -> Value:
        if not isinstance(base, Quotient) and not isinstance(exponent, Quotient):
            self.work.spend(5 if isinstance(exponent, int) else FUNCTIONS["pow"].cost)
            return power(base, exponent, state=self)
        if not isinstance(base, Quotient) or not isinstance(exponent, int):
            root = not isinstance(exponent, Quotient) and str(exponent) == _HALF
            return self.call("sqrt", [base]) if root else self.call("pow", [base, exponent])
        if not exponent:
            return 1
        top, bottom = base.numerator, base.denominator
        if exponent < 0:
            top, bottom = bottom, top
        if abs(exponent) > MAX_POWER:
            raise MathsError(Failure.LIMIT, f"an expression has at most degree {MAX_POWER}")
        return self._reduced(*(polynomials.to_power(part, abs(exponent), work=self.work) for part in (top, bottom)))

    def _reduced(self, top: polynomials.Poly, bottom: polynomials.Poly) -> Value:
        return simplified(polynomials.quotient(top, bottom, work=self.work))


def simplified(value: Quotient) -> Value:
    """The value as a number where it has no variables."""
    number = constant_of(value.numerator) if value.is_polynomial else None
    return value if number is None else number


def as_quotient(value: Value) -> Quotient:
    """The value as a quotient of polynomials."""
    return value if isinstance(value, Quotient) else Quotient(constant(value), ONE)


def text_of(value: Value) -> str:
    """The value as the parser reads it."""
    return polynomials.quotient_text(as_quotient(value))


def variables_in(value: Value) -> tuple[str, ...]:
    """The variables of a value, in alphabetical order; those inside functions too."""
    if not isinstance(value, Quotient):
        return ()
    return names_in(" ".join(polynomials.atoms_of(value.numerator, value.denominator)))


def names_in(text: str) -> tuple[str, ...]:
    """The variables of a canonical text, in alphabetical order."""
    return tuple(sorted(set(_NAME.findall(text))))


def evaluated(text: str, *, bindings: Mapping[str, Value], state: Evaluator) -> Value:
    """The value of a canonical text with values in place of variables.

    Raises:
        MathsError: it has none for these values, without a position.
    """
    state.work.spend(5 * len(text))
    inner = Evaluator(bindings=bindings, work=state.work)
    try:
        return inner.value(parse_expression(text))
    except MathsError as error:
        raise MathsError(error.kind, error.message) from None
    finally:
        state.exact = state.exact and inner.exact
