"""Solving equations for real unknowns.

1. An unknown that some equation has only linearly, with a number as its coefficient, is eliminated by substitution.
   This alone solves linear systems, also with parameters.
2. One unknown that is left is a root of the greatest common divisor of the remaining polynomials; where it is in none
   but one function, such as `sqrt(x + 1)`, that function's value is found first and then inverted.
3. Two unknowns that are left are found from the resultant of two equations.

Solutions for which a denominator is zero are left out. Everything else is refused with a sentence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evaluator.lumos.maths.algebra import polynomials
from evaluator.lumos.maths.algebra.arithmetic import Rational, absolute
from evaluator.lumos.maths.algebra.errors import MAX_UNKNOWNS, Failure, MathsError, Work
from evaluator.lumos.maths.algebra.evaluate import Value, as_quotient, names_in, simplified
from evaluator.lumos.maths.algebra.inversion import preimages
from evaluator.lumos.maths.algebra.polynomials import Poly, Quotient, constant, constant_of
from evaluator.lumos.maths.algebra.resultants import resultant
from evaluator.lumos.maths.algebra.roots import Root, real_roots

MAX_DEPTH = 4
_SMALL = Fraction(1, 10**9)
_KEPT = 10**25


@dataclass(frozen=True, slots=True)
class Solution:
    """Values of the unknowns."""

    values: Mapping[str, Value]
    exact: bool = True


def solve(*, equations: Sequence[Value], unknowns: Sequence[str], work: Work) -> tuple[Solution, ...]:
    """The solutions of a system of equations.

    Args:
        equations: what must be zero.
        unknowns: the variables to solve for; there may be others.
        work: what may be done.

    Returns:
        Distinct solutions, in the order of their values where these are numbers; empty if there is none.

    Raises:
        MathsError: there are infinitely many, or this system is not solved here.
    """
    if len(unknowns) > MAX_UNKNOWNS or len(equations) > 2 * MAX_UNKNOWNS:
        raise MathsError(Failure.LIMIT, f"at most {MAX_UNKNOWNS} unknowns and {2 * MAX_UNKNOWNS} equations are solved")
    quotients = [as_quotient(equation) for equation in equations]
    solver = _Solver(work)
    found = solver.solve([quotient.numerator for quotient in quotients], tuple(unknowns), depth=0)
    valid = [one for one in found if not any(solver.vanishes(quotient.denominator, one) for quotient in quotients)]
    return tuple(sorted(_distinct(valid), key=lambda one: [_rank(one.values[name]) for name in unknowns]))


class _Solver:
    """Solves polynomials within its work."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def solve(self, polys: Sequence[Poly], unknowns: tuple[str, ...], *, depth: int) -> list[Solution]:
        """The values of all unknowns for which all polynomials are zero."""
        polys = [poly for poly in polys if poly]
        if any(constant_of(poly) is not None for poly in polys):
            return []
        if not unknowns:
            if polys:
                names = ", ".join(names_in(" ".join(polynomials.atoms_of(*polys))))
                raise _unsolved(f"the equations hold only for some values of {names}; solve for these too")
            return [Solution({})]
        for poly in polys:
            for unknown in unknowns:
                if _is_linear(poly, unknown):
                    return self._eliminated(polys, unknowns, unknown=unknown, by=poly, depth=depth)
        used = [name for name in unknowns if any(name in _variables(poly) for poly in polys)]
        if len(used) < len(unknowns):
            free = ", ".join(name for name in unknowns if name not in used)
            raise _unsolved(f"infinitely many solutions: any value of {free} will do")
        if len(unknowns) == 1:
            return self._one_unknown(polys, unknowns[0], depth=depth)
        if len(unknowns) == 2 and len(polys) >= 2:
            return self._two_unknowns(polys, unknowns, depth=depth)
        raise _unsolved(f"{len(polys)} equations that are not linear in {', '.join(unknowns)} are not solved")

    def _eliminated(
        self, polys: Sequence[Poly], unknowns: tuple[str, ...], *, unknown: str, by: Poly, depth: int
    ) -> list[Solution]:
        rest, factor = polynomials.coefficients(by, unknown)
        number = constant_of(factor)
        assert number is not None
        value = polynomials.quotient(rest, constant(-number), work=self._work).numerator
        others = [polynomials.substitute(poly, unknown, value, work=self._work) for poly in polys if poly is not by]
        left = tuple(name for name in unknowns if name != unknown)
        found = []
        for solution in self.solve(others, left, depth=depth):
            values = {**solution.values, unknown: self.substituted(value, solution)}
            found.append(Solution(values, solution.exact))
        return found

    def _one_unknown(self, polys: Sequence[Poly], unknown: str, *, depth: int) -> list[Solution]:
        atoms = [atom for atom in polynomials.atoms_of(*polys) if unknown in names_in(atom)]
        if atoms != [unknown]:
            return self._inside_function(polys, unknown, atoms=atoms, depth=depth)
        if any(set(polynomials.atoms_of(poly)) != {unknown} for poly in polys):
            return self._with_parameters(polys, unknown)
        return [Solution({unknown: root.value}, root.exact) for root in self._roots(polys, unknown)]

    def _roots(self, polys: Sequence[Poly], unknown: str) -> tuple[Root, ...]:
        common: list[Rational] = []
        for poly in polys:
            dense = dense_coefficients(poly, unknown)
            common = polynomials.univariate_gcd(common, dense, work=self._work) if common else dense
        return real_roots(common, work=self._work) if len(common) > 1 else ()

    def _with_parameters(self, polys: Sequence[Poly], unknown: str) -> list[Solution]:
        if len(polys) == 1 and polynomials.degree_in(polys[0], unknown) == 1:
            rest, factor = polynomials.coefficients(polys[0], unknown)
            if unknown not in names_in(" ".join(polynomials.atoms_of(rest, factor))):
                negative = {monomial: -value for monomial, value in rest.items()}
                return [Solution({unknown: simplified(polynomials.quotient(negative, factor, work=self._work))})]
        names = ", ".join(sorted(set().union(*map(_variables, polys)) - {unknown}))
        raise _unsolved(f"an equation with {names} besides {unknown} is solved only where it is linear in {unknown}")

    def _inside_function(
        self, polys: Sequence[Poly], unknown: str, *, atoms: Sequence[str], depth: int
    ) -> list[Solution]:
        if len(atoms) > 1 or len(polys) > 1 or depth == MAX_DEPTH:
            raise _unsolved(f"an equation with {unknown} in functions is solved only where it occurs in just one")
        if polynomials.atoms_of(polys[0]) != (atoms[0],):
            raise _unsolved(f"an equation with functions of {unknown} is solved only without other variables")
        found = []
        for root in self._roots(polys, atoms[0]):
            for preimage in preimages(atom=atoms[0], unknown=unknown, value=root.value, work=self._work):
                equation = as_quotient(preimage.equation)
                for solution in self.solve([equation.numerator], (unknown,), depth=depth + 1):
                    exact = solution.exact and root.exact and preimage.exact
                    found.append(Solution(solution.values, exact))
        return found

    def _two_unknowns(self, polys: Sequence[Poly], unknowns: tuple[str, ...], *, depth: int) -> list[Solution]:
        first, second = unknowns
        if any(set(polynomials.atoms_of(poly)) - set(unknowns) for poly in polys):
            raise _unsolved("equations that are not linear are solved only without parameters and functions")
        alone = [poly for poly in polys if polynomials.atoms_of(poly) == (first,)]
        found = []
        candidates = alone[0] if alone else resultant(polys[0], polys[1], unknown=second, keep=first, work=self._work)
        if not candidates:
            raise _unsolved("infinitely many solutions: two of the equations have a common factor")
        if constant_of(candidates) is not None:
            return []
        for root in self._roots([candidates], first):
            for solution in self._second(polys, second, values={first: root.value}, exact=root.exact, depth=depth):
                found.append(Solution({first: root.value, **solution.values}, solution.exact and root.exact))
        return found

    def _second(
        self, polys: Sequence[Poly], unknown: str, *, values: Mapping[str, Rational], exact: bool, depth: int
    ) -> list[Solution]:
        ((name, value),) = values.items()
        left = [polynomials.substitute(poly, name, constant(value), work=self._work) for poly in polys]
        if exact:
            return self.solve(left, (unknown,), depth=depth)
        usable = [poly for poly in map(_chopped, left) if polynomials.degree_in(poly, unknown)]
        if not usable:
            raise _unsolved("these equations have no solution that could be found with certainty")
        found = [Solution({**values, unknown: root.value}, exact=False) for root in self._roots(usable[:1], unknown)]
        return [one for one in found if all(self.vanishes(poly, one) for poly in polys)]

    def substituted(self, poly: Poly, solution: Solution) -> Value:
        """A polynomial's value for a solution."""
        found = Quotient(poly, polynomials.ONE)
        for name, value in solution.values.items():
            found = self._replaced(found, name, as_quotient(value))
        return simplified(found)

    def _replaced(self, quotient: Quotient, name: str, value: Quotient) -> Quotient:
        if not polynomials.degree_in(quotient.numerator, name):
            return quotient
        if not value.is_polynomial:
            raise _unsolved("this system has parameters in denominators; solve its equations one by one")
        top = polynomials.substitute(quotient.numerator, name, value.numerator, work=self._work)
        return polynomials.quotient(top, quotient.denominator, work=self._work)

    def vanishes(self, poly: Poly, solution: Solution) -> bool:
        """Whether a polynomial is zero for a solution, or nearly so where that is approximate."""
        if constant_of(poly) is not None:
            return False
        value = self.substituted(poly, solution)
        if isinstance(value, Quotient):
            return False
        scale = sum(absolute(coefficient) for coefficient in poly.values())
        numbers = [one for one in solution.values.values() if not isinstance(one, Quotient)]
        size: Rational = max([1, *map(absolute, numbers)])
        degree = max(sum(power for _, power in monomial) for monomial in poly)
        return not value if solution.exact else absolute(value) <= _SMALL * scale * Fraction(size) ** degree


def dense_coefficients(poly: Poly, atom: str) -> list[Rational]:
    """The numbers that a polynomial in one atom has as coefficients, from power 0."""
    return [constant_of(part) or 0 for part in polynomials.coefficients(poly, atom)]


def _is_linear(poly: Poly, unknown: str) -> bool:
    """Whether the unknown occurs once, linearly and with a number, and in no function."""
    inside = any(unknown in names_in(atom) for atom in polynomials.atoms_of(poly) if atom != unknown)
    if inside or polynomials.degree_in(poly, unknown) != 1:
        return False
    return constant_of(polynomials.coefficients(poly, unknown)[1]) is not None


def _chopped(poly: Poly) -> Poly:
    """With coefficients of 25 digits, so that those vanish that are zero but for an approximation."""
    scale = Fraction(_KEPT) / max(map(absolute, poly.values()), default=1)
    rounded = {monomial: round(value * scale) for monomial, value in poly.items()}
    return {monomial: value for monomial, value in rounded.items() if value}


def _variables(poly: Poly) -> set[str]:
    return set(names_in(" ".join(polynomials.atoms_of(poly))))


def _distinct(solutions: Sequence[Solution]) -> Iterator[Solution]:
    seen = set()
    for solution in solutions:
        key = tuple((name, str(value)) for name, value in sorted(solution.values.items()))
        if key not in seen:
            seen.add(key)
            yield solution


def _rank(value: Value) -> tuple[bool, Rational]:
    return (True, 0) if isinstance(value, Quotient) else (False, value)


def _unsolved(message: str) -> MathsError:
    return MathsError(Failure.UNSOLVED, message)
