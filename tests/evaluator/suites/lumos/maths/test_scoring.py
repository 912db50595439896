"""Whether an answer is right, numerically and as LUMOS compares texts."""

from fractions import Fraction

import pytest

from evaluator.suites.lumos.maths.scoring import score_answer


@pytest.mark.parametrize("answer", ["72", " 72 "])
def test_equal_texts_are_equal_numbers(answer):
    score = score_answer(answer=answer, reference=Fraction(72))
    assert (score.is_equal, score.is_same_text) == (True, True)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("72.0", 72),
        ("72.", 72),
        ("$72", 72),
        ("$ 1,072.00", 1072),
        ("15%", 15),
        ("-3.0", -3),
        ("-$3", -3),
        ("$-3", -3),
        (".5", Fraction(1, 2)),
        ("144/2", 72),
        ("about 72", 72),
        ("about 72.00000001", 72),
        ("x = 72", 72),
        ("1/3 (about 0.333333333333333)", Fraction(1, 3)),
        ("7.2e1", 72),
    ],
)
def test_numbers_written_otherwise_are_equal_but_not_the_same_text(answer, reference):
    score = score_answer(answer=answer, reference=Fraction(reference))
    assert (score.is_equal, score.is_same_text) == (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "73",
        "72.0001",
        "about 72.001",
        "72 or 73",
        "x",
        "x + 72",
        "x = 72, y = 1",
        "seventy-two",
        "7,2",
        "72 74",
        "R1",
    ],
)
def test_everything_else_is_wrong(answer):
    score = score_answer(answer=answer, reference=Fraction(72))
    assert (score.is_equal, score.is_same_text) == (False, False)


def test_hostile_answers_are_wrong():
    for answer in ("9" * 10**6, "(" * 9000, "9^9^9^9", "\x00", "about " * 100, "1/0"):
        assert not score_answer(answer=answer, reference=Fraction(72)).is_equal
