"""Exact match and F1 of short answers, as in HotpotQA's evaluation (Yang et al., 2018).

Texts are normalised: envelope (`evaluator.replies.envelope`), typography (`evaluator.core.answers`), lower case,
without punctuation and the words a, an and the, and with single blanks. Unlike HotpotQA's script, the point of a
decimal number, the sign of a number, and `+` and `#` after a letter stay, so that 3.5 is not 35, -5 is not 5, and C++
is not C. An answer of which nothing is left equals only the same text.
"""

import re
import string
from collections import Counter

from evaluator.core.answers import without_typography
from evaluator.replies.envelope import answer_of

VERSION = "answers/2"
"""Version of these rules."""
_PUNCTUATION = re.compile(
    r"(?<=[0-9])\.(?=[0-9])|(?<![^\s($+-])\.(?=[0-9])|(?<![^\s(])-(?=\.?[0-9])|(?<=[a-z])(?:\+\+|[+#])(?![\w])"
    rf"|([{re.escape(string.punctuation)}])"
)
"""Marks with a meaning, which stay, or any other mark."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def plain(text: str) -> str:
    """A normalised text."""
    bare = _PUNCTUATION.sub(lambda mark: "" if mark[1] else mark[0], without_typography(answer_of(text)).lower())
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(*, answer: str, reference: str) -> bool:
    """Whether two answers are equal after normalisation."""
    given, right = plain(answer), plain(reference)
    if not given or not right:
        return bool(answer.strip()) and answer.strip().lower() == reference.strip().lower()
    return given == right


def f1(*, answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of words, in [0, 1].

    The answers yes, no and "noanswer" must match exactly, as in HotpotQA's script.
    """
    given, right = plain(answer), plain(reference)
    if {given, right} & {"yes", "no", "noanswer"} and given != right:
        return 0.0
    words, right_words = given.split(), right.split()
    common = sum((Counter(words) & Counter(right_words)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(right_words)
    return 2 * precision * recall / (precision + recall)
