"""Scores of short texts of which one is right: labels, numbers, writings. Pure.

Closed answers are normalised as SQuAD's evaluation does it (Rajpurkar et al., SQuAD, EMNLP 2016, section 6.1), in both
languages: case is folded, punctuation is removed, articles (English a, an, the; German der, die, das, den, dem, des,
ein and its forms) are left out, and runs of white space become one space.
"""

import re
import unicodedata
from collections.abc import Mapping

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


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


_DIGITS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_NUMBERS)}


_NUMBER = re.compile(r"\d+")


def answer_score(answer: str, reference: str) -> float:
    """1 if an answer says the same, else 0.

    Words are compared as `is_right` does; numbers in words and digits are equal. A right number may be in a sentence,
    if that has no other.
    """
    own, right = _in_digits(answer), _in_digits(reference)
    if is_right(answer=own, reference=right):
        return 1.0
    return float(_NUMBER.fullmatch(right.strip()) is not None and set(_NUMBER.findall(own)) == {right.strip()})


def _in_digits(text: str) -> str:
    return re.sub(r"[A-Za-z]+", lambda word: _DIGITS.get(word[0].casefold(), word[0]), text)


def reading_score(text: str, reference: str) -> float:
    """The share of a writing that was read: 1 - edit distance / length of the longer text, in [0, 1].

    Small and capital letters are the same, and so is any white space between words. 1 if both are empty.
    """
    own, right = (" ".join(writing.casefold().split()) for writing in (text, reference))
    longest = max(len(own), len(right))
    return 1.0 - edit_distance(own, right) / longest if longest else 1.0


def edit_distance(first: str, second: str) -> int:
    """Fewest characters to insert, delete or replace that make one text the other (Levenshtein, 1966)."""
    row = list(range(len(second) + 1))
    for count, character in enumerate(first, start=1):
        before, row = row, [count]
        for place, other in enumerate(second):
            row.append(min(before[place + 1] + 1, row[place] + 1, before[place] + (character != other)))
    return row[-1]
