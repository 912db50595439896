"""Compares an answer with its reference: numerically, and as text like LUMOS.

Numerically: the answer is a number in the form of a value or in common notation: an integer, decimal number, fraction,
mixed fraction (`1 1/2`) or power of ten (`7.2 x 10^1`), optionally followed by an approximation in brackets, or
preceded by `about` or by a name and `=`. Its envelope (`evaluator.replies.envelope`), currencies, `%`, thousands
separators and the marks of `evaluator.core.answers` are ignored. An exact number is right if it
equals the reference; one with `about` if it differs by at most 1e-9, relative to the reference if that exceeds 1. So
`72.0`, `$72`, `72.`, `**72**` and `x = 72` are 72, and `15%` is 15. Everything else is wrong: an expression, several
alternatives, a decimal comma, or no answer.

As text: the answer equals the reference, except for surrounding white space. The reference is an integer without
separators, as in `evaluator.lumos.maths.tasks`.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from evaluator.core.answers import without_typography
from evaluator.lumos.maths.algebra.arithmetic import absolute, exact_text, number_of
from evaluator.lumos.maths.algebra.errors import MAX_TEXT, MathsError
from evaluator.lumos.maths.algebra.values import Number
from evaluator.replies.envelope import answer_of

VERSION = "maths/2"
"""Version of these rules."""
_ANSWER = re.compile(
    r"(?P<about>about\s+)?(?:(?:[A-Za-z]\w{0,40}\s{0,9})?=\s{0,9})?(?P<sign>[-+])?\s{0,9}(?:US)?[$€£¥]?\s{0,9}(?P<sign2>[-+])?"
    r"(?:(?P<whole>[0-9]{1,18})\s{1,9}(?=[0-9]{1,18}/))?"
    r"(?P<top>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?P<power>e[-+]?[0-9]{1,4}|\s{0,9}(?:x|\*|\\times|\\cdot)\s{0,9}10\^\{?[-+]?[0-9]{1,4}\}?)?"
    r"(?:/(?P<bottom>[0-9]+))?\s{0,9}[%$€£¥]?\.?(?:\s\(about [-+.0-9e]{1,40}\))?",
    re.ASCII,
)
_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Result of comparing an answer with its reference."""

    is_equal: bool
    """Numerically."""
    is_same_text: bool
    """As text."""


def score_answer(*, answer: str, reference: Fraction) -> AnswerScore:
    """Compare an answer with its reference; see the module's docstring.

    Args:
        answer: any text, such as the canonical text of the last result.
        reference: the right number.
    """
    number = number_in(answer)
    if number is None or number.exact:
        is_equal = number is not None and number.value == reference
    else:
        is_equal = absolute(number.value - reference) <= _TOLERANCE * max(Fraction(1), abs(reference))
    return AnswerScore(is_equal=is_equal, is_same_text=answer.strip() == exact_text(reference))


def number_in(answer: str) -> Number | None:
    """The number in an answer; None for other answers."""
    match = _ANSWER.fullmatch(without_typography(answer_of(answer))) if len(answer) <= MAX_TEXT else None
    if match is None or (match["sign"] and match["sign2"]):
        return None
    try:
        power = "e" + match["power"].strip("{}").lstrip("e").rpartition("^")[2].strip("{") if match["power"] else ""
        value = Fraction(number_of(match["top"].rstrip(".") + power))
        bottom = number_of(match["bottom"] or "1")
    except MathsError:
        return None
    if not bottom:
        return None
    negative = "-" in (match["sign"], match["sign2"])
    value = value / bottom + int(match["whole"] or 0)
    return Number(-value if negative else value, exact=not match["about"])
