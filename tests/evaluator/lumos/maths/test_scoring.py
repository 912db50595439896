"""Whether an answer is right, numerically and as LUMOS compares texts."""

from fractions import Fraction

from evaluator.lumos.maths.scoring import score_answer

RIGHT = [
    ("72.0", 72), ("72.", 72), ("$72", 72), ("$ 1,072.00", 1072), ("15%", 15), ("-3.0", -3), ("-$3", -3), ("$-3", -3),
    (".5", Fraction(1, 2)), ("144/2", 72), ("about 72", 72), ("about 72.00000001", 72), ("x = 72", 72),
    ("1/3 (about 0.333333333333333)", Fraction(1, 3)), ("7.2e1", 72),
]  # fmt: skip
WRONG = (
    "", "73", "72.0001", "about 72.001", "72 or 73", "x", "x + 72", "x = 72, y = 1", "seventy-two", "7,2", "72 74",
    "R1",
)  # fmt: skip


def verdict(answer, reference):
    """Whether the number is right, and whether the text is."""
    score = score_answer(answer=answer, reference=Fraction(reference))
    return score.is_equal, score.is_same_text


def test_equal_texts_are_equal_numbers_and_numbers_written_otherwise_are_not_the_same_text():
    assert [verdict(answer, 72) for answer in ("72", " 72 ")] == [(True, True)] * 2
    assert {case: verdict(*case) for case in RIGHT} == dict.fromkeys(RIGHT, (True, False))


def test_everything_else_is_wrong():
    assert {answer: verdict(answer, 72) for answer in WRONG} == dict.fromkeys(WRONG, (False, False))


def test_hostile_answers_are_wrong():
    for answer in ("9" * 10**6, "(" * 9000, "9^9^9^9", "\x00", "about " * 100, "1/0"):
        assert not score_answer(answer=answer, reference=Fraction(72)).is_equal
