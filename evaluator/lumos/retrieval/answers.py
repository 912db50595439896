"""Comparing short answers as HotpotQA's evaluation does (Yang et al., 2018): exact match and F1 of words.

Texts are compared in lower case, without punctuation, without the words a, an and the, and with single blanks.
"""

import re
import string
from collections import Counter

VERSION = "answers/1"
"""Of these rules."""
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def plain(text: str) -> str:
    """A text as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(*, answer: str, reference: str) -> bool:
    """Whether two answers are the same."""
    return plain(answer) == plain(reference)


def f1(*, answer: str, reference: str) -> float:
    """Harmonic mean of the shares of words that the answers have in common, in [0, 1].

    Answers of yes, no or "noanswer" are right as a whole or not at all, as in HotpotQA's script.
    """
    found, right = plain(answer), plain(reference)
    if {found, right} & {"yes", "no", "noanswer"} and found != right:
        return 0.0
    words, wanted = found.split(), right.split()
    common = sum((Counter(words) & Counter(wanted)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(wanted)
    return 2 * precision * recall / (precision + recall)
