"""One value has many spellings, and different values stay different."""

import pytest

from evaluator.core.answers import LONGEST, without_typography
from evaluator.lumos.maths.scoring import number_in
from evaluator.lumos.pictures.environment import letter_of
from evaluator.lumos.retrieval.answers import exact_match


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("\u221272", -72), ("\\boxed{72}", 72), ("$\\boxed{72}$", 72), ("+72", 72), ("9\u00a0500", 9500),
        ("9\u202f500", 9500), ("**72**", 72), ("**72.**", 72), ("\uff17\uff12", 72), ("$72$", 72), ("\\(72\\)", 72),
        ("\\frac{1}{2}", 0.5), ("\u00bd", 0.5), ("Answer: 72", 72), ("The answer is **72**.", 72), ("#### 72", 72),
        ("`72`", 72), ("1\u00bd", 1.5), ("3\\frac{1}{2}", 3.5), ("-3 1/2", -3.5), ("\\frac12", 0.5),
        ("72\u20ac", 72), ("= 72", 72),
        ("7.2 \u00d7 10^1", 72), ("5 x 10^{-1}", 0.5), ("<answer>72</answer>", 72),
        ("<|begin_of_box|>72<|end_of_box|>", 72),
        ("\u0667\u0662", 72), ("\u20ac5", 5), ("US$72", 72), ("x = \\boxed{72}", 72), ("1\\,234", 1234),
        ("\u200b72", 72),
    ],
)  # fmt: skip
def test_the_marks_around_a_number_do_not_change_it(answer, number):
    read = number_in(answer)
    assert read is not None
    assert float(read.value) == number


@pytest.mark.parametrize(
    "answer",
    [
        "1,5",
        "72 or 73",
        "72 apples",
        "9 500",
        "2*3",
        "--5",
        "1/0",
        "",
        "10\u00b2",
        "\\boxed{7}\\boxed{2}",
        "(72)",
        "1 1",
        "3 x 2",
        "**",
    ],
)
def test_what_is_not_one_number_is_none(answer):
    assert number_in(answer) is None


@pytest.mark.parametrize(
    ("answer", "reference", "is_equal"),
    [
        ("O\u2019Brien", "O'Brien", True), ("", "A", False), ("", "", False), ("A", "A", True), ("the", "", False),
        ("C++", "C", False), ("C#", "C", False), ("C++", "c++", True), ("3.5", "35", False), ("3.5", "3.5", True),
        ("-5", "5", False), (".5", "5", False), ("<answer>Paris</answer>", "Paris", True),
        ("\u22125", "-5", True), ("1,000", "1000", True), ("2010\u20132012", "2010-2012", True),
        ("\u201cYes\u201d", "yes", True), ("**Paris**", "Paris", True), ("Paris\u200b.", "paris", True),
        ("\uff21\uff22", "AB", True), ("AT&T", "AT&T", True), ("U.S.", "US", True), ("caf\u00e9", "cafe", False),
    ],
)  # fmt: skip
def test_words_are_equal_if_only_typography_differs(answer, reference, is_equal):
    assert exact_match(answer=answer, reference=reference) is is_equal
    assert exact_match(answer=reference, reference=answer) is is_equal


def test_a_choice_may_be_marked():
    assert [
        letter_of(answer, choices=["a dog", "a cat"]) for answer in ("**B**", "\\boxed{B}", "\uff22", "a cat.")
    ] == ["B"] * 4


def test_a_long_answer_is_not_searched():
    assert without_typography("*" * (LONGEST + 1)) == "*" * (LONGEST + 1)
