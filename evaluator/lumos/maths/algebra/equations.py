"""Solving equations for real unknowns.

1. An unknown that is linear in some equation, with a constant coefficient, is eliminated by substitution. This solves
   linear systems, also with parameters.
2. A single remaining unknown is a root of the greatest common divisor of the remaining polynomials. If it occurs only
   inside one function, such as `sqrt(x + 1)`, the function's value is solved for first, and then inverted.
3. Two remaining unknowns are solved by the resultant of two equations.

Solutions for which a denominator is zero are discarded. Other systems raise MathsError.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from sympy import QQ, Poly, Symbol

from evaluator.lumos.maths.algebra.arithmetic import FUNCTIONS, Rational, absolute, decimal, from_decimal, plain
from evaluator.lumos.maths.algebra.errors import (
    MAX_SOLVED_DEGREE,
    MAX_SOLVED_DIGITS,
    MAX_UNKNOWNS,
    Failure,
    MathsError,
)
from evaluator.lumos.maths.algebra.evaluate import Evaluator, names_in, variables_in
from evaluator.lumos.maths.algebra.parser import Call, parse_expression
from evaluator.lumos.maths.algebra.symbolic import (
    Quotient,
    Value,
    atoms_of,
    coefficient,
    coefficients,
    fraction,
    places_in,
    quotient,
    rational,
    substitute,
    total_degree,
)

MAX_DEPTH = 4
"""Maximum nesting of functions."""
_SMALL = Fraction(1, 10**9)
_COEFFICIENT_SCALE = 10**25
_PRECISION = 10**40
"""Relative precision of approximate roots."""
_X, _Y = Symbol("x"), Symbol("y")
_Inverse = Callable[[Rational, Evaluator], list[Rational]]


@dataclass(frozen=True, slots=True)
class Root:
    """A root, or a number near it."""

    value: Rational
    exact: bool


@dataclass(frozen=True, slots=True)
class Solution:
    """Values of the unknowns."""

    values: Mapping[str, Value]
    exact: bool = True


def solve(*, equations: Sequence[Value], unknowns: Sequence[str]) -> tuple[Solution, ...]:
    """The solutions of a system of equations.

    Args:
        equations: expressions that must equal zero.
        unknowns: the variables to solve for; other variables are parameters.

    Returns:
        Distinct solutions, sorted by their values if these are numbers; empty if there is none.

    Raises:
        MathsError: there are infinitely many solutions, or the system is not supported.
    """
    if len(unknowns) > MAX_UNKNOWNS or len(equations) > 2 * MAX_UNKNOWNS:
        raise MathsError(Failure.LIMIT, f"at most {MAX_UNKNOWNS} unknowns and {2 * MAX_UNKNOWNS} equations are solved")
    atoms = tuple(sorted({*unknowns, *(atom for equation in equations for atom in atoms_of(equation))}))
    fractions = [fraction(equation, atoms=atoms) for equation in equations]
    solver = _Solver(atoms)
    solutions: dict[tuple[str, ...], Solution] = {}
    for solution in solver.solve([top for top, _ in fractions], tuple(unknowns), depth=0):
        if not any(solver.vanishes(bottom, solution) for _, bottom in fractions):
            solutions.setdefault(tuple(str(solution.values[name]) for name in unknowns), solution)

    def rank(value: Value) -> tuple[bool, Rational]:
        return (True, 0) if isinstance(value, Quotient) else (False, value)

    return tuple(sorted(solutions.values(), key=lambda solution: [rank(solution.values[name]) for name in unknowns]))


def real_roots(poly: Any) -> tuple[Root, ...]:
    """The distinct real roots of a polynomial in one variable, in increasing order. Rational roots are exact.

    Args:
        poly: a nonzero `Poly` of sympy with rational coefficients.

    Raises:
        MathsError: the degree or the coefficients are too large.
    """
    degree = poly.degree()
    if degree > MAX_SOLVED_DEGREE:
        raise MathsError(
            Failure.LIMIT, f"an equation of degree {degree}; those of degree {MAX_SOLVED_DEGREE} and less are solved"
        )
    _, integers = poly.clear_denoms(convert=True)
    if degree > 2 and integers.max_norm() >= 10**MAX_SOLVED_DIGITS:
        raise MathsError(
            Failure.LIMIT,
            f"an equation of degree {degree} has coefficients of at most {MAX_SOLVED_DIGITS} digits, as integers",
        )
    roots = []
    for factor, _ in integers.factor_list()[1]:
        if factor.degree() == 1:
            lead, rest = map(int, factor.all_coeffs())
            roots.append(Root(plain(Fraction(-rest, lead)), exact=True))
        else:
            # The absolute value of a nonzero root is at least half the inverse of the largest coefficient.
            width = QQ(1, 2 * _PRECISION * int(factor.max_norm()))
            for (low, high), _ in factor.intervals(eps=width, fast=True):
                middle = Fraction(rational(low) + rational(high)) / 2
                roots.append(Root(from_decimal(decimal(middle)), exact=False))
    return tuple(sorted(roots, key=lambda root: root.value))


def univariate(poly: Any, place: int) -> Any:
    """A polynomial in one generator as a `Poly` of sympy."""
    return Poly({(powers[place],): value for powers, value in poly.items()} or {(0,): 0}, _X, domain=QQ)


class _Solver:
    """Solves systems of polynomials in a ring of atoms."""

    def __init__(self, atoms: tuple[str, ...]) -> None:
        self._atoms = atoms

    def solve(self, polys: Sequence[Any], unknowns: tuple[str, ...], *, depth: int) -> list[Solution]:
        """The values of all unknowns for which all polynomials are zero."""
        polys = [poly for poly in polys if poly]
        if any(poly.is_ground for poly in polys):
            return []
        if not unknowns:
            if polys:
                names = ", ".join(self._variables(polys))
                raise _unsolved(f"the equations hold only for some values of {names}; solve for these too")
            return [Solution({})]
        for poly in polys:
            for unknown in unknowns:
                if self._is_linear(poly, unknown):
                    return self._eliminated(polys, unknowns, unknown=unknown, by=poly, depth=depth)
        free = [name for name in unknowns if name not in self._variables(polys)]
        if free:
            raise _unsolved(f"infinitely many solutions: any value of {', '.join(free)} will do")
        if len(unknowns) == 1:
            return self._one_unknown(polys, unknowns[0], depth=depth)
        if len(unknowns) == 2 and len(polys) >= 2:
            return self._two_unknowns(polys, unknowns, depth=depth)
        raise _unsolved(f"{len(polys)} equations that are not linear in {', '.join(unknowns)} are not solved")

    def _is_linear(self, poly: Any, unknown: str) -> bool:
        """Whether the unknown occurs in a single linear term with a constant coefficient, and in no function."""
        if any(unknown in names_in(atom) for atom in self._atoms_in([poly]) if atom != unknown):
            return False
        place = self._atoms.index(unknown)
        return [sum(powers) for powers in poly if powers[place]] == [1]

    def _eliminated(
        self, polys: Sequence[Any], unknowns: tuple[str, ...], *, unknown: str, by: Any, depth: int
    ) -> list[Solution]:
        place = self._atoms.index(unknown)
        rest, factor = coefficients(by, place)
        value = rest.quo_ground(-factor.LC)
        others = [substitute(poly, place, value) for poly in polys if poly is not by]
        remaining = tuple(name for name in unknowns if name != unknown)
        return [
            Solution({**solution.values, unknown: self._substituted(value, solution)}, solution.exact)
            for solution in self.solve(others, remaining, depth=depth)
        ]

    def _one_unknown(self, polys: Sequence[Any], unknown: str, *, depth: int) -> list[Solution]:
        atoms = [atom for atom in self._atoms_in(polys) if unknown in names_in(atom)]
        if atoms != [unknown]:
            return self._inside_function(polys, unknown, atoms=atoms, depth=depth)
        if all(self._atoms_in([poly]) == [unknown] for poly in polys):
            return [Solution({unknown: root.value}, root.exact) for root in self._roots(polys, unknown)]
        parts = coefficients(polys[0], self._atoms.index(unknown))
        if len(polys) == 1 and len(parts) == 2:
            return [Solution({unknown: quotient(-parts[0], parts[1], atoms=self._atoms)})]
        names = ", ".join(name for name in self._variables(polys) if name != unknown)
        raise _unsolved(f"an equation with {names} besides {unknown} is solved only where it is linear in {unknown}")

    def _roots(self, polys: Sequence[Any], atom: str) -> tuple[Root, ...]:
        place = self._atoms.index(atom)
        common = reduce(Poly.gcd, [univariate(poly, place) for poly in polys])
        return real_roots(common) if common.degree() > 0 else ()

    def _inside_function(
        self, polys: Sequence[Any], unknown: str, *, atoms: Sequence[str], depth: int
    ) -> list[Solution]:
        if len(atoms) > 1 or len(polys) > 1 or depth == MAX_DEPTH:
            raise _unsolved(f"an equation with {unknown} in functions is solved only where it occurs in just one")
        if self._atoms_in(polys) != [atoms[0]]:
            raise _unsolved(f"an equation with functions of {unknown} is solved only without other variables")
        solutions = []
        for root in self._roots(polys, atoms[0]):
            for equation, exact in _preimages(atom=atoms[0], unknown=unknown, value=root.value):
                inner = tuple(sorted({unknown, *atoms_of(equation)}))
                top, _ = fraction(equation, atoms=inner)
                for solution in _Solver(inner).solve([top], (unknown,), depth=depth + 1):
                    solutions.append(Solution(solution.values, solution.exact and root.exact and exact))
        return solutions

    def _two_unknowns(self, polys: Sequence[Any], unknowns: tuple[str, ...], *, depth: int) -> list[Solution]:
        if set(self._atoms_in(polys)) - set(unknowns):
            raise _unsolved("equations that are not linear are solved only without parameters and functions")
        first, second = unknowns
        alone = [poly for poly in polys if self._atoms_in([poly]) == [first]]
        candidates = univariate(alone[0], self._atoms.index(first)) if alone else self._resultant(polys, unknowns)
        if candidates.is_zero:
            raise _unsolved("infinitely many solutions: two of the equations have a common factor")
        return [
            Solution({first: root.value, **solution.values}, solution.exact and root.exact)
            for root in (real_roots(candidates) if candidates.degree() else ())
            for solution in self._second(polys, second, first=first, root=root, depth=depth)
        ]

    def _resultant(self, polys: Sequence[Any], unknowns: tuple[str, ...]) -> Any:
        """A polynomial in the first unknown that is zero wherever two polynomials share a root in the second."""
        total = total_degree(polys[0]) * total_degree(polys[1])
        if total > MAX_SOLVED_DEGREE:
            message = f"the product of the degrees of two equations is at most {MAX_SOLVED_DEGREE}"
            raise MathsError(Failure.LIMIT, message)
        first, second = map(self._atoms.index, unknowns)
        a, b = (
            Poly({(powers[second], powers[first]): value for powers, value in poly.items()}, _Y, _X, domain=QQ)
            for poly in polys[:2]
        )
        for poly, other in ((a, polys[0]), (b, polys[1])):
            if not poly.degree(_Y):
                return univariate(other, first)
        return a.resultant(b)

    def _second(self, polys: Sequence[Any], unknown: str, *, first: str, root: Root, depth: int) -> list[Solution]:
        place = self._atoms.index(first)
        reduced = [substitute(poly, place, poly.ring.ground_new(coefficient(root.value))) for poly in polys]
        if root.exact:
            return self.solve(reduced, (unknown,), depth=depth)
        generator = self._atoms.index(unknown)
        usable = [poly for poly in map(_chopped, reduced) if poly.degree(poly.ring.gens[generator]) > 0]
        if not usable:
            raise _unsolved("these equations have no solution that could be found with certainty")
        solutions = [
            Solution({first: root.value, unknown: other.value}, exact=False)
            for other in self._roots(usable[:1], unknown)
        ]
        return [solution for solution in solutions if all(self.vanishes(poly, solution) for poly in polys)]

    def vanishes(self, poly: Any, solution: Solution) -> bool:
        """Whether a polynomial is zero for a solution, within a tolerance if the solution is approximate."""
        if poly.is_ground:
            return False
        value = self._substituted(poly, solution)
        if isinstance(value, Quotient):
            return False
        if solution.exact:
            return not value
        scale = sum(absolute(rational(number)) for number in poly.values())
        numbers = [number for number in solution.values.values() if isinstance(number, Rational)]
        size: Rational = max([1, *map(absolute, numbers)])
        return absolute(value) <= _SMALL * scale * Fraction(size) ** total_degree(poly)

    def _substituted(self, poly: Any, solution: Solution) -> Value:
        """A polynomial's value for a solution."""
        for name, value in solution.values.items():
            place = self._atoms.index(name)
            if place in places_in(poly):
                top, bottom = fraction(value, atoms=self._atoms)
                if not bottom.is_ground:
                    raise _unsolved("this system has parameters in denominators; solve its equations one by one")
                poly = substitute(poly, place, top)
        return quotient(poly, poly.ring.one, atoms=self._atoms)

    def _atoms_in(self, polys: Sequence[Any]) -> list[str]:
        return [self._atoms[place] for place in sorted({place for poly in polys for place in places_in(poly)})]

    def _variables(self, polys: Sequence[Any]) -> tuple[str, ...]:
        return names_in(" ".join(self._atoms_in(polys)))


def _preimages(*, atom: str, unknown: str, value: Rational) -> list[tuple[Value, bool]]:
    """Expressions that are zero where a function of the unknown has a value, and whether they are exact.

    Raises:
        MathsError: there is no inverse for the function.
    """
    node = parse_expression(atom)
    assert isinstance(node, Call)
    state = Evaluator()
    arguments = [state.value(argument) for argument in node.arguments]
    places = [index for index, argument in enumerate(arguments) if unknown in variables_in(argument)]
    numbers = [argument for argument in arguments if isinstance(argument, Rational)]
    inverse = _inverse(node.function, place=places[0], numbers=numbers) if len(places) == 1 else None
    if inverse is None:
        raise _unsolved(f"an equation with {unknown} in {node.function} is not solved")
    equations = [state.operation("-", arguments[places[0]], target) for target in inverse(value, state)]
    return [(equation, state.exact) for equation in equations]


def _inverse(function: str, *, place: int, numbers: list[Rational]) -> _Inverse | None:
    """The inverse of a function in the argument at a place; the other arguments are numbers."""
    if len(numbers) == 1 and function == "pow" and place == 1:
        return lambda value, state: [FUNCTIONS["log"].value([value, numbers[0]], state)] if value > 0 else []
    if len(numbers) == 1 and function == "pow":
        return lambda value, state: _bases(value, exponent=numbers[0], state=state)
    if len(numbers) == 1 and function == "log" and place == 0:
        return lambda value, state: [FUNCTIONS["pow"].value([numbers[0], value], state)]
    return None if numbers else _INVERSES.get(function)


def _bases(value: Rational, *, exponent: Rational, state: Evaluator) -> list[Rational]:
    """Bases of a power; the result is not negative if the exponent's denominator is even."""
    if not exponent or value < 0:
        return []
    base = FUNCTIONS["pow"].value([value, 1 / Fraction(exponent)], state)
    return [base, -base] if exponent.numerator % 2 == 0 and base else [base]


_INVERSES: dict[str, _Inverse] = {
    "sqrt": lambda value, _: [value**2] if value >= 0 else [],
    "cbrt": lambda value, _: [value**3],
    "abs": lambda value, _: [value, -value] if value > 0 else [0] if not value else [],
    "exp": lambda value, state: [FUNCTIONS["log"].value([value], state)] if value > 0 else [],
    "log": lambda value, state: [FUNCTIONS["exp"].value([value], state)],
    "log2": lambda value, state: [FUNCTIONS["pow"].value([2, value], state)],
    "log10": lambda value, state: [FUNCTIONS["pow"].value([10, value], state)],
}


def _chopped(poly: Any) -> Any:
    """The polynomial with coefficients of 25 digits, which drops those that are nonzero only by rounding."""
    scale = _COEFFICIENT_SCALE / max((abs(Fraction(rational(value))) for value in poly.values()), default=Fraction(1))
    rounded = {powers: round(rational(value) * scale) for powers, value in poly.items()}
    return poly.ring.from_dict({powers: QQ(value) for powers, value in rounded.items() if value})


def _unsolved(message: str) -> MathsError:
    return MathsError(Failure.UNSOLVED, message)
