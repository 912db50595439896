"""Closed answers: short texts, such as a label, of which one is right. Right or wrong, by comparing words. Pure.

Before the comparison a text is normalised as SQuAD's evaluation does it (Rajpurkar et al., SQuAD, EMNLP 2016, section
6.1), in both languages: case is folded, punctuation is removed, articles (English a, an, the; German der, die, das,
den, dem, des, ein and its forms) are left out, and runs of white space become one space.
"""

import re
import unicodedata

_ARTICLES = frozenset(
    ("a", "an", "the", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines")
)


def is_right(*, answer: str, reference: str) -> bool:
    """Whether an answer equals its reference once both are normalised."""
    return normalised(answer) == normalised(reference)


def normalised(text: str) -> str:
    """The words of a text without articles, case folded and without punctuation, with one space between them.

    A text of nothing but articles keeps them.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = re.sub(r"[^\w\s]|_", "", folded).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)
