"""SolveEquation, SolveInequality and the other tools."""

import pytest

from evaluator.lumos.maths.algebra.errors import Failure
from tests.evaluator.lumos.maths.sessions import failure_of, text_of, texts_of

EQUATIONS = [
    ("2x + 3 = 7", "2"),
    ("x = 1,200", "1200"),
    ("x^2 = 4", "-2 or 2"),
    ("x^2 = 2", "about -1.4142135623731 or about 1.4142135623731"),
    ("x^2 - 2x + 1 = 0", "1"),
    ("x^3 - 6x^2 + 11x = 6", "1 or 2 or 3"),
    ("x^5 = x + 1", "about 1.16730397826142"),
    ("x/(x - 1) = 2", "2"),
    ("(x^2 - 1)/(x - 1) = 2y, y = 1", "x = 1, y = 1"),
    ("2^x = 8", "3"),
    ("sqrt(x + 1) = 3", "8"),
    ("sqrt(sqrt(x)) = 2", "16"),
    ("abs(x - 1) = 3", "-2 or 4"),
    ("exp(2x) = 1", "0"),
    ("log(x, 3) = 4", "81"),
    ("x^(1/2) = 5", "25"),
    ("x + y = 5, y", "-x + 5"),
    ("a*x = b, x", "(b)/(a)"),
    ("x + y = 10, x - y = 4", "x = 7, y = 3"),
    ("x + y + z = 6; x - y = 1 and z = 2x", "x = 1.75, y = 0.75, z = 3.5"),
    ("x + y = 7, xy = 12", "x = 3, y = 4 or x = 4, y = 3"),
    ("x^2 + y^2 = 25, x^2 - y^2 = 7", "x = -4, y = -3 or x = -4, y = 3 or x = 4, y = -3 or x = 4, y = 3"),
    ("(x - 1)*(y - 2) = 0, x + y = 5", "x = 1, y = 4 or x = 3, y = 2"),
    ("price + tax = 11, tax = 10% * price", "price = 10, tax = 1"),
    ("50 + 60", "110"),
    ("R1", "3"),
    ("R2 = R3", "1000"),
]


def test_equations(subtests):
    for arguments, result in EQUATIONS:
        with subtests.test(case=arguments):
            recorded = {"R1": "2*x = 6", "R2": "0.4*p", "R3": "0.25*p + 150"}
            assert text_of("SolveEquation", arguments, **recorded) == result


def test_outputs_are_unknowns_or_solutions():
    assert texts_of("R1, R2 = SolveEquation(x + y = 10, x - y = 4)") == {"R1": "7", "R2": "3"}
    assert texts_of("R1, R2 = SolveEquation(x + y = 10, x - y = 4, y, x)") == {"R1": "3", "R2": "7"}
    assert texts_of("R1, R2 = SolveEquation(x^2 = 9)") == {"R1": "-3", "R2": "3"}
    assert texts_of("R1, R2 = SolveEquation(x + y = 7, xy = 12)") == {"R1": "3 or 4", "R2": "3 or 4"}


def test_the_first_example_of_the_paper_is_solved():
    found = texts_of(
        "R1 = Calculator((x-y) - (x+y)); R2 = Calculator((x+y) + 2*R1); R3 = Calculator((x+y) + 3*R1); "
        "R4 = Calculator((x+y) + 4*R1); R5, R6 = SolveEquation(R2=xy, R3=x/y); Output = Calculator(R4(R5, R6))"
    )
    assert list(found.values()) == ["-2*y", "x - 3*y", "x - 5*y", "x - 7*y", "-1.125", "-0.6", "3.075"]


WITHOUT_RESULT = [
    ("x^2 + 1 = 0", 1, Failure.UNSOLVED, "no real number solves this"),
    ("1/x = 0", 1, Failure.UNSOLVED, "no real number solves this"),
    ("x + y = 5", 1, Failure.UNSOLVED, "name the one to solve for last, as in SolveEquation(x + y = 5, x)"),
    ("x + y = 5, 2x + 2y = 10", 2, Failure.UNSOLVED, "infinitely many solutions: any value of y"),
    ("x = x", 1, Failure.UNSOLVED, "has no unknown"),
    ("x + y = 5, x - y = 1", 3, Failure.OUTPUTS, "need 1 or 2 outputs, not 3"),
    ("x = 1", 2, Failure.OUTPUTS, "has 1 results here, but the action has 2 outputs"),
    ("x + 1", 1, Failure.SYNTAX, "expected an equation"),
    ("x > 1", 1, Failure.KIND, "inequalities are for SolveInequality"),
    ("x + sqrt(x) = 6", 1, Failure.UNSOLVED, "solved only where it occurs in just one"),
    ("sin(x) = 1", 1, Failure.UNSOLVED, "an equation with x in sin is not solved"),
    ("x^20 = 2", 1, Failure.LIMIT, "an equation of degree 20"),
    ("R1 = 2", 1, Failure.KIND, "R1 is x > 2"),
]


def test_equations_without_a_result(subtests):
    for arguments, outputs, kind, words in WITHOUT_RESULT:
        with subtests.test(case=arguments):
            failure = failure_of("SolveEquation", arguments, outputs=outputs, R1="x > 2")
            assert failure.kind == kind
            assert words in failure.sentence


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ("2x + 3 < 7", "x < 2"),
        ("x^2 > 4", "x < -2 or x > 2"),
        ("1 < x <= 5", "x > 1, x <= 5"),
        ("x >= 2, x < 10, x != 5", "x >= 2, x < 5 or x > 5, x < 10"),
        ("1/x > 2", "x > 0, x < 0.5"),
        ("(x - 1)^2 <= 0", "x = 1"),
        ("x^3 > 2", "about x > 1.25992104989487"),
        ("x(x - 1)^2 > 0", "x > 0, x < 1 or x > 1"),
        ("R1", "x > 2"),
    ],
)
def test_inequalities(arguments, result):
    assert text_of("SolveInequality", arguments, R1="2*x > 4") == result


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("x^2 < 0", "no real x satisfies this"),
        ("x^2 >= 0", "every real x satisfies this"),
        ("x + y > 2", "expected one unknown, found x, y"),
        ("sqrt(x) > 2", "without functions"),
    ],
)
def test_inequalities_without_a_result(arguments, words):
    failure = failure_of("SolveInequality", arguments)
    assert failure.kind == Failure.UNSOLVED
    assert words in failure.sentence


OTHER_TOOLS = [
    ("SetEquation", "2x + 3 = R1", "2*x + 3 = y + 1"),
    ("SetEquation", "x + y = 3, x > 0", "x + y = 3, x > 0"),
    ("Define", "p", "p"),
    ("Define", "x = 5", "x = 5"),
    ("Define", "f(x) = x^2 + 1", "x^2 + 1"),
    ("Define", "x = 5, y = 6", "x = 5, y = 6"),
    ("Count", "2^0, 2^1, 2^2", "3"),
    ("Count", "[1,000, 2]", "3"),
    ("Count", "[]", "0"),
    ("Count", "R2", "2"),
    ("calculator", "R3 + 1", "6"),
]


def test_other_tools(subtests):
    for tool, arguments, result in OTHER_TOOLS:
        with subtests.test(case=tool):
            assert text_of(tool, arguments, R1="y + 1", R2="-2 or 2", R3="x = 5") == result
