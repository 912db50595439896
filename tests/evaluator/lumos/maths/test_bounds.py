"""Whatever the arguments: a value or a sentence, and not without an end."""

import random

from evaluator.lumos.maths.algebra.values import read_value
from evaluator.lumos.maths.tools import TOOLS, Outcome, run


def _sum(count, term):
    return "+".join(map(term, range(count)))


def _product(count, term):
    return "*".join(map(term, range(count)))


DENSE = _sum(60, lambda i: f"{i * 7919 % 99991}/{i * 104729 % 99989 + 1}*x^{i % 5}*y^{i % 4}*z^{i % 3}")
VALUES = {
    "R1": read_value(DENSE),
    "R2": read_value("x^12+" + _sum(12, lambda i: f"{10**59 - i * i}*x^{i}")),
    "R20": read_value("-2 or 2"),
    "R21": read_value(" or ".join(map(str, range(100)))),
    "R30": read_value(f"{10**999 + 7}/{7**1180}"),
}
LINEAR = ", ".join(
    _sum(8, lambda j, i=i: f"{i * j * 7919 % 99991 + 1}/{(i + j) * 97 + 1}*v{j}") + f"={i}" for i in range(8)
)
HOSTILE = [
    ("Calculator", "(x+y+z+1)^8"),
    ("Calculator", _product(900, lambda _: "(x+y+z+w)")),
    ("Calculator", "(" * 9999),
    ("Calculator", "-" * 9999 + "1"),
    ("Calculator", "2^" * 4000 + "2"),
    ("Calculator", "3" + "!" * 9000),
    ("Calculator", "3" + "%" * 9000),
    ("Calculator", "1" + "+1" * 4999),
    ("Calculator", "x" + "+x" * 4999),
    ("Calculator", "10^10000"),
    ("Calculator", "1e9999"),
    ("Calculator", "0.5^100000000"),
    ("Calculator", "1^(10^900) + (-1)^(10^900)"),
    ("Calculator", _sum(700, lambda _: "sqrt(3)*log(7)")),
    ("Calculator", _sum(700, lambda _: "log2(3^600)")),
    ("Calculator", _sum(450, lambda _: "(10^900+1)^(1/901)")),
    ("Calculator", _sum(900, lambda _: "exp(900)")),
    ("Calculator", _sum(900, lambda i: f"1/{10007 + 2 * i}")),
    ("Calculator", "factorial(factorial(factorial(9)))"),
    ("Calculator", "comb(1000000, 2000)"),
    ("Calculator", "lcm(" + ",".join(map(str, range(1, 1500))) + ")"),
    ("Calculator", "mod(10^900, 7) + round(1/3, 1000)"),
    ("Calculator", _sum(900, lambda _: "R1(1,2,3)")),
    ("Calculator", "R1(R1(1,2,x),R1(1,y,2),3)"),
    ("Calculator", "R1*R1 + 1/R1"),
    ("Calculator", _sum(1500, lambda _: "R2(2)")),
    ("Calculator", "R2(" * 40 + "x" + ")" * 40),
    ("Calculator", "R21(" * 40 + "x" + ")" * 40),
    ("Calculator", _sum(300, lambda _: "R21*R2(R21)")),
    ("Calculator", _sum(24, lambda i: f"1/(x+{i})")),
    ("Calculator", _sum(190, lambda i: f"sqrt(x+{i})")),
    ("Calculator", "sqrt(" * 49 + "x" + ")" * 49),
    ("Calculator", _sum(1400, lambda _: "exp(R21)")),
    ("Calculator", _sum(1400, lambda _: "R21")),
    ("Calculator", "R21" + "+R30-R30" * 900),
    ("Calculator", _sum(900, lambda _: "R21^0.3")),
    ("Calculator", "R21*" + _sum(2000, lambda i: f"{i}")),
    ("Calculator", _sum(900, lambda _: "comb(900,450)*R21")),
    ("SolveEquation", "R21*x^3 = x + R30"),
    ("SolveEquation", "x^5 - R21*x - 1 = 0"),
    ("SolveInequality", "x^5 - R21*x > 1"),
    ("SolveEquation", "R2 = 0"),
    ("SolveEquation", "R2 = R2(x + 1)"),
    ("SolveEquation", "x^12 - 2*(10^20*x - 1)^2 = 0"),
    ("SolveEquation", "x^4 - 2*(10^29*x - 1)^2 = 0"),
    ("SolveEquation", _product(12, lambda i: f"(x-{i})") + "=1"),
    ("SolveEquation", _product(12, lambda i: f"({10**4 + i}x-{i})") + "=0"),
    ("SolveEquation", "x^3+y^3+x*y=7, x^4-y^2*x+y=3"),
    ("SolveEquation", "987654321987654321x^6/7+y^6*123456789/11-x^3*y^3/13=3, x^2/17+y^2/19-x*y=4"),
    ("SolveEquation", "x^6+y^5=3, x^2+y^2-x*y=4"),
    ("SolveEquation", "R1=3, R1(x,y,1)=2, x"),
    ("SolveEquation", LINEAR),
    ("SolveEquation", ", ".join(f"v{j}*v{j + 1}=v{j + 2}" for j in range(6))),
    ("SolveEquation", "sqrt(sqrt(sqrt(sqrt(sqrt(x^6+1)))))=2"),
    ("SolveEquation", "x^2 = R21"),
    ("SolveEquation", "x = y, " * 1500 + "x = 1"),
    ("SolveInequality", _product(12, lambda i: f"(x-{i})") + ">1"),
    ("SolveInequality", ", ".join(_product(12, lambda i, k=k: f"(x-{i * k}/7)") + ">1" for k in range(1, 9))),
    ("SolveInequality", "x" + "<x" * 4000),
    ("SolveInequality", "R2 > 0"),
    ("Define", "x, " * 3000 + "x"),
    ("SetEquation", "x = 1, " * 1400 + "x = 1"),
    ("Count", "x, " * 3000 + "x"),
    ("Count", "\u0663, \u2028"),
    ("Calculator", "\x00"),
    ("Calculator", "\U0001d7d9"),
]  # fmt: skip


PIECES = (
    "1", "2.5", "1,000", "x", "y", "xy", "apples", "R1", "R2", "R20", "R9", "(", ")", "[", "]", "+", "-", "*", "/",
    "^", "%", "!", "=", "<", ">=", "!=", ",", ";", " ", " and ", " of ", " or ", "sqrt(", "log(", "max(", "abs(",
    "2x", "x^2", "(x + 1)", "pi", "1/3", "about ", "$", ".", "e", "1e5", "\u00b2", "mod", "^(1/2)", "= 0", "R2(",
)  # fmt: skip
RIGHT = ("2x + 3 = 7", "x^2 + y = 3, y^2 + x = 5", "(x + 1)/(x - 2) > 3", "R1(1, 2, 3) * 4", "x + y, 3", "16 - 3/4")


def random_arguments(rng):
    """Anything, or right arguments with a few changes."""
    if rng.random() < 0.4:
        return "".join(rng.choices(PIECES, k=rng.randint(0, 15)))
    text = rng.choice(RIGHT)
    for _ in range(rng.randint(0, 3)):
        place = rng.randint(0, len(text))
        text = text[:place] + rng.choice(PIECES) + text[place + rng.randint(0, 2) :]
    return text


def fuzz(*, count, seed):
    """How many actions had values, each of which its text reads back."""
    rng, done = random.Random(seed), 0
    tools = tuple(TOOLS)
    for _ in range(count):
        tool, arguments, outputs = rng.choice(tools), random_arguments(rng), rng.choice((1, 1, 1, 2))
        outcome = run(tool=tool, arguments=arguments, values=VALUES, outputs=outputs)
        if isinstance(outcome, Outcome):
            done += 1
            assert len(outcome.values) == outputs
            for value in outcome.values:
                assert read_value(value.text) == value, (tool, arguments, value)
    return done


def test_random_arguments_have_a_value_or_a_sentence(full):
    count = 3000 if full else 600
    assert fuzz(count=count, seed=3) > count / 15
