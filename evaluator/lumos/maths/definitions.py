"""Definitions of functions, `f(x) = x^2 + 1`."""

from evaluator.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.lumos.maths.algebra.syntax import Chain, Name, Node, Series


def without_head(chain: Chain) -> Node | None:
    """The expression that an item defines; None where it is an equation or inequality.

    `f(x) = x + 1` defines `x + 1`: variables are replaced in alphabetical order. The head is read as a product of its
    letters, since a name before a bracket is a factor.

    Raises:
        MathsError: a function is defined of anything but one variable.
    """
    if chain.expression is not None:
        return chain.expression
    head = chain.sides[0]
    if not isinstance(head, Series) or head.operators != ("*",) or chain.operators != ("=",):
        return None
    function, variable = head.operands
    if not isinstance(function, Name) or function.name not in "fghFGH":
        return None
    if not isinstance(variable, Name):
        raise MathsError(Failure.SYNTAX, "expected one variable, as in f(x) = x + 1", offset=head.at)
    return chain.sides[1]
