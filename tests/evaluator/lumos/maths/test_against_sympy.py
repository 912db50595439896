"""Solutions of drawn equations are those of sympy."""

import random
from fractions import Fraction

import pytest
import sympy

from evaluator.lumos.maths.algebra.values import Alternatives, Number, read_value
from tests.evaluator.lumos.maths.sessions import failure_of, text_of, texts_of

pytestmark = pytest.mark.full


@pytest.mark.parametrize("seed", range(25))
def test_linear_systems_are_solved_as_by_sympy(seed):
    rng = random.Random(seed)
    names = ["a", "b", "c", "d"][: rng.randint(2, 4)]
    rows = [[Fraction(rng.randint(-9, 9), rng.randint(1, 5)) for _ in range(len(names) + 1)] for _ in names]
    matrix = sympy.Matrix([[sympy.Rational(value.numerator, value.denominator) for value in row] for row in rows])
    system = ", ".join(
        " + ".join(f"({value})*{name}" for value, name in zip(row[:-1], names, strict=True)) + f" = {row[-1]}"
        for row in rows
    )
    assert matrix[:, :-1].det(), "a singular system; choose another seed"
    wanted = matrix[:, :-1].LUsolve(matrix[:, -1])
    outputs = ", ".join(f"R{index}" for index in range(1, len(names) + 1))
    found = texts_of(f"{outputs} = SolveEquation({system})")
    assert [read_value(text) for text in found.values()] == [
        Number(int(value) if value.is_integer else Fraction(int(value.p), int(value.q))) for value in wanted
    ]


@pytest.mark.parametrize("seed", range(40))
def test_real_roots_are_those_of_sympy(seed):
    rng = random.Random(seed)
    x = sympy.Symbol("x")
    poly = sympy.Poly([rng.choice([1, 2, 3, -5]), *(rng.randint(-9, 9) for _ in range(rng.randint(1, 5)))], x)
    for _ in range(rng.randint(0, 2)):
        poly *= sympy.Poly([rng.randint(1, 5), rng.randint(-7, 7)], x) ** rng.randint(1, 2)
    wanted = sorted(set(poly.real_roots()))
    text = str(poly.as_expr()).replace("**", "^")
    if not wanted:
        assert "no real number" in failure_of("SolveEquation", f"{text} = 0").sentence
        return
    value = read_value(text_of("SolveEquation", f"{text} = 0"))
    found = value.items if isinstance(value, Alternatives) else (value,)
    assert len(found) == len(wanted)
    for one, root in zip(found, wanted, strict=True):
        assert one.exact == bool(root.is_rational)
        assert abs(float(one.value) - float(root)) <= 1e-12 * max(1, abs(float(root)))
