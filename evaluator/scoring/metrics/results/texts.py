"""Scores of short texts of which one is right: labels, numbers, writings. Pure.

Closed answers are normalised as SQuAD's evaluation does it (Rajpurkar et al., SQuAD, EMNLP 2016, section 6.1), in both
languages: case is folded, punctuation is removed, articles (English a, an, the; German der, die, das, den, dem, des,
ein and its forms) are left out, and runs of white space become one space.
"""

import re
import unicodedata


def reading_score(text: str, reference: str) -> float:
    """How much of a writing was read: 1 - edit distance / length of the longer text, in [0, 1].

    Small and capital letters are the same, and so is any white space between words. 1 if both are empty.
    """
    said, right = (" ".join(one.casefold().split()) for one in (text, reference))
    longest = max(len(said), len(right))
    return 1.0 - edit_distance(said, right) / longest if longest else 1.0


def edit_distance(first: str, second: str) -> int:
    """Fewest characters to insert, delete or replace that make one text the other (Levenshtein, 1966)."""
    row = list(range(len(second) + 1))
    for count, character in enumerate(first, start=1):
        before, row = row, [count]
        for place, other in enumerate(second):
            row.append(min(before[place + 1] + 1, row[place] + 1, before[place] + (character != other)))
    return row[-1]


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
