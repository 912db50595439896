"""Exact match and F1 of short answers, as in HotpotQA's evaluation (Yang et al., 2018).

Texts are normalised: lower case, without punctuation and the words a, an and the, and with single blanks.
"""

import re
import string
from collections import Counter

VERSION = "answers/1"
"""Version of these rules."""
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def plain(text: str) -> str:
    """A normalised text."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(*, answer: str, reference: str) -> bool:
    """Whether two answers are equal after normalisation."""
    return plain(answer) == plain(reference)


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
