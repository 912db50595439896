"""Calculator: the grammar of expressions, exact results, and how they are printed."""

import operator
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.lumos.maths.algebra.errors import Failure
from evaluator.lumos.maths.algebra.values import Number, read_value
from tests.evaluator.lumos.maths.sessions import failure_of, text_of, texts_of

NUMBERS = [
    ("16 - 3 - 4", "9"),
    ("80,000 * 1.5", "120000"),
    ("0.1 + 0.2", "0.3"),
    ("1/3", "1/3 (about 0.333333333333333)"),
    ("10/4", "2.5"),
    ("-2^2", "-4"),
    ("2^-1", "0.5"),
    ("2**3**2", "512"),
    ("$2.50 * 4", "10"),
    ("25% of 80", "20"),
    ("50 + 10%", "50.1"),
    ("10 % 3", "1"),
    ("17 mod 5", "2"),
    ("3/5 x 100", "60"),
    ("3 \u00d7 4 \u00f7 2 \u2212 1", "5"),
    ("2(3 + 1)", "8"),
    ("[(1 + 2) * {3}] 2", None),
    ("5!", "120"),
    ("--3", "3"),
    ("1.5e3", "1500"),
    ("1.5e-3", "0.0015"),
    ("round(2.5) + floor(-0.5) + ceil(0.2)", "3"),
    ("round(2.345, 2)", "2.35"),
    ("max(1,000, 2)", "2"),
    ("gcd(12, 18) + lcm(4, 6)", "18"),
    ("comb(5, 2) * perm(4, 2)", "120"),
    ("abs(-3) + min(4, 2) + average(1, 2, 3)", "7"),
    ("sqrt(16/9)", "4/3 (about 1.33333333333333)"),
    ("27^(1/3) + (-8)^(1/3)", "1"),
    ("log(8, 2) + log10(1000) + ln(1)", "6"),
    ("sqrt(2)", "about 1.4142135623731"),
    ("exp(1)", "about 2.71828182845905"),
    ("sin(0) + cos(0)", "about 1"),
    ("2 pi", "about 6.28318530717959"),
    ("10^20 + 1/4", "100000000000000000000.25"),
    ("1/7^40", f"1/{7**40} (about 1.57064631394884e-34)"),
]


def test_numbers(subtests):
    for expression, result in NUMBERS:
        with subtests.test(case=expression):
            if result is None:
                assert failure_of("Calculator", expression).kind == Failure.SYNTAX
            else:
                assert text_of("Calculator", expression) == result


WITH_VARIABLES = [
    ("(x - y) - (x + y)", "-2*y"),
    ("(n - 2)^2", "n^2 - 4*n + 4"),
    ("40% * p", "0.4*p"),
    ("2x y + 3y(x + 1)", "5*x*y + 3*y"),
    ("xy + x + y", "x*y + x + y"),
    ("apples + pears", "apples + pears"),
    ("(x^2 - y^2)/(x - y)", "x + y"),
    ("(x^2 - 1)/(x^2 + 2x + 1)", "(x - 1)/(x + 1)"),
    ("1/(x + 1) + 1/(x - 1)", "(2*x)/(x^2 - 1)"),
    ("sqrt(x + 1)^2 + 2^x", "sqrt(x + 1)^2 + pow(2, x)"),
    ("x/3", "1/3*x"),
    ("pi * r^2", "about 3.14159265358979*r^2"),
    ("x \u00b2 + x\u00b3".replace(" ", ""), "x^3 + x^2"),
]


def test_expressions_with_variables(subtests):
    for expression, result in WITH_VARIABLES:
        with subtests.test(case=expression):
            assert text_of("Calculator", expression) == result


ERRORS = [
    ("2 +", 3, "expected a number, a name or a bracket, found the end"),
    ("2 3", 2, "expected an operator or the end, found '3'"),
    ("(2", 2, "')' for the '(' at character 1"),
    ("2 # 3", 2, "the character '#' has no meaning"),
    ("foo(3)", 0, "there is no function 'foo'; there are: sqrt"),
    ("sqrt(1, 2)", 0, "sqrt takes 1 arguments, not 2"),
    ("the number of apples", 4, "words do not follow each other"),
    ("3 = 4", 0, "an equation is for SetEquation"),
    ("1, 2", 3, "takes one expression"),
    ("__import__('os')", 0, "has no meaning"),
    ("x.__class__", 1, "has no meaning"),
    ("2 + 1/0", 5, "division by zero"),
    ("1 / (3 - R1)", 2, "division by zero"),
    ("sqrt(-2)", 0, "the square root of -2 is not a real number"),
    ("R2 + 1", 0, "R2 is not the result of an earlier action; there are: R1"),
    ("2 * 10^10000", 6, "more than 1000 digits"),
    ("9^9^9^9", 3, "more than 1000 digits"),
    ("factorial(1000)", 0, "more than 1000 digits"),
    ("1" * 1001, 0, "more than 1000 digits"),
    ("(" * 60 + "1" + ")" * 60, 50, "nested more than 50 deep"),
    ("1" + "+1" * 5000, None, "at most 10000 are read"),
    ("(a + b + c + d)^20", 15, "at most 200 terms"),
    ("(a + b)^30", 7, "at most degree 24"),
    ("", None, "needs arguments"),
]


def test_errors_name_the_place(subtests):
    for arguments, offset, words in ERRORS:
        with subtests.test(case=arguments):
            failure = failure_of("Calculator", arguments, R1="3")
            assert failure.offset == offset
            assert words in failure.sentence


def test_references_are_values_and_not_texts():
    assert text_of("Calculator", "2R1 + R10", R1="x - 1", R10="5") == "2*x + 3"
    assert text_of("Calculator", "R1^2", R1="-3") == "9"


def test_an_expression_is_applied_to_arguments_in_alphabetical_order():
    assert text_of("Calculator", "R1(R2, 4)", R1="x - 7*y", R2="30") == "2"
    assert text_of("Calculator", "R1(y)", R1="sqrt(x + 1)/x") == "(sqrt(y + 1))/(y)"
    assert text_of("Calculator", "R1(R2)", R1="x - 7*y", R2="x = 30, y = 4") == "2"
    assert text_of("Calculator", "R1(2 + 3)", R1="4") == "20"
    assert "2 variables (x, y), but 1 values" in failure_of("Calculator", "R1(1)", R1="x + y").sentence


def test_a_number_of_several_values_is_calculated_for_each():
    assert text_of("Calculator", "R1 + 1", R1="-2 or 2") == "-1 or 3"
    assert text_of("Calculator", "R1^2", R1="-2 or 2") == "4"
    assert text_of("Calculator", "max(R1) - min(R1, -5)", R1="-2 or 2") == "7"
    assert "have several values each" in failure_of("Calculator", "R1 + R2", R1="1 or 2", R2="1 or 2").sentence


def test_approximate_values_stay_approximate():
    found = texts_of("R1 = Calculator(sqrt(2)); R2 = Calculator(R1 * x + 1); R3 = Calculator(R2(0))")
    assert (found["R2"], found["R3"]) == ("about 1.4142135623731*x + 1", "about 1")


_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@st.composite
def expressions(draw, depth=4):
    """An expression and its value, by Python's own fractions."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        number = draw(st.sampled_from(["0", "1", "7", "2.5", ".25", "1,200", "13%", "1e2"]))
        percent = number.endswith("%")
        value = Fraction(number.replace(",", "").rstrip("%")) / (100 if percent else 1)
        return f"({number})" if percent else number, value
    left, a = draw(expressions(depth=depth - 1))
    right, b = draw(expressions(depth=depth - 1))
    symbol = draw(st.sampled_from("+-*/"))
    if symbol == "/" and not b:
        symbol = "+"
    return f"({left} {symbol} {right})", _OPERATIONS[symbol](a, b)


@settings(max_examples=100)
@given(expressions())
def test_results_are_those_of_exact_fractions(case):
    text, value = case
    result = text_of("Calculator", text)
    assert read_value(result) == Number(value.numerator if value.denominator == 1 else value)
