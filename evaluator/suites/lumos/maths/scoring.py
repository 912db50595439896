"""Whether an answer is right: numerically, and as LUMOS compares texts.

Numerically: `$`, `,`, `%` and white space are removed from the answer, which is then read as the value of an action:
a number, `1/3 (about 0.333333333333333)`, `about 2.5`, or an equation `x = 5`, which counts as its right side. An exact
number is right if it equals the reference; one with `about` if it differs by at most 1e-9 of the reference, or of 1
where that is less. So `72.0`, `$72` and `72.` are 72, and `15%` is 15. Everything else is wrong: an answer that is no
number, several alternatives, or none.

As LUMOS compares: the answer equals the reference character by character, after white space around it. The reference
is an integer without separators, as in `evaluator.suites.lumos.maths.tasks`.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from evaluator.suites.lumos.maths.algebra.arithmetic import absolute, exact_text
from evaluator.suites.lumos.maths.algebra.errors import MAX_TEXT, MathsError
from evaluator.suites.lumos.maths.algebra.values import Number, Relations, Result, read_value

VERSION = "maths/1"
_DROPPED = re.compile(r"[$%\s]|(?<=[0-9]),(?=[0-9]{3})")
_LAST_POINT = re.compile(r"(?<=[0-9])\.$")
_ABOUT = "about"
_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How an answer compares with its reference."""

    is_equal: bool
    """Numerically."""
    is_same_text: bool
    """As LUMOS compares."""


def score_answer(*, answer: str, reference: Fraction) -> AnswerScore:
    """Compare an answer with its reference; see the module.

    Args:
        answer: any text, such as the canonical text of the last result.
        reference: the right number.
    """
    value = number_in(answer)
    return AnswerScore(
        is_equal=value is not None and _equals(value, reference=reference),
        is_same_text=answer.strip() == exact_text(reference),
    )


def number_in(answer: str) -> Number | None:
    """The number that an answer is, or None."""
    if len(answer) > MAX_TEXT:
        return None
    text = answer.strip()
    about = text.startswith(_ABOUT)
    bare = _LAST_POINT.sub("", _DROPPED.sub("", text.removeprefix(_ABOUT).partition("(about")[0]))
    try:
        found = _number_of(read_value(f"{_ABOUT} {bare}" if about else bare))
    except MathsError:
        return None
    return found


def _number_of(value: Result) -> Number | None:
    if isinstance(value, Number):
        return value
    assignments = value.assignments if isinstance(value, Relations) else None
    if assignments is None or len(assignments) != 1:
        return None
    right = read_value(next(iter(assignments.values())))
    assert isinstance(value, Relations)
    return Number(right.value, right.exact and value.exact) if isinstance(right, Number) else None


def _equals(number: Number, *, reference: Fraction) -> bool:
    if number.exact:
        return number.value == reference
    return absolute(number.value - reference) <= _TOLERANCE * max(Fraction(1), abs(reference))
