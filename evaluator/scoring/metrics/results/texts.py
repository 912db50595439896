"""Scores of short texts with one right value: labels, numbers, writing. Pure.

Closed answers are normalised as in SQuAD's evaluation (Rajpurkar et al., SQuAD, EMNLP 2016, section 6.1), in English
and German: case is folded, punctuation and articles (a, an, the; der, die, das, den, dem, des, ein and its forms) are
removed, and runs of white space become one space.
"""

import re
import unicodedata
from collections.abc import Mapping

_ARTICLES = frozenset(
    ("a", "an", "the", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines")
)


def is_right(*, answer: str, reference: str) -> bool:
    """Whether an answer equals its reference after normalisation."""
    return normalised(answer) == normalised(reference)


def normalised(text: str) -> str:
    """A text with folded case, without punctuation and articles, with single spaces.

    A text that consists of articles keeps them.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = re.sub(r"[^\w\s]|_", "", folded).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_NUMBERS)}
_NUMBER = re.compile(r"\d+")


def answer_score(answer: str, reference: str) -> float:
    """1 if an answer equals its reference, else 0.

    Words are compared by `is_right`; numbers in words equal those in digits. A right number may be in a sentence
    without other numbers.
    """
    own, right = _in_digits(answer), _in_digits(reference)
    if is_right(answer=own, reference=right):
        return 1.0
    return float(_NUMBER.fullmatch(right.strip()) is not None and set(_NUMBER.findall(own)) == {right.strip()})


def _in_digits(text: str) -> str:
    return re.sub(r"[A-Za-z]+", lambda word: _DIGITS.get(word[0].casefold(), word[0]), text)


def reading_score(text: str, reference: str) -> float:
    """1 - edit distance / length of the longer text, in [0, 1]; 1 if both are empty.

    Case and the kind of white space do not matter.
    """
    own, right = (" ".join(writing.casefold().split()) for writing in (text, reference))
    longest = max(len(own), len(right))
    return 1.0 - edit_distance(own, right) / longest if longest else 1.0


def edit_distance(first: str, second: str) -> int:
    """The least number of insertions, deletions and replacements between two texts (Levenshtein, 1966)."""
    row = list(range(len(second) + 1))
    for count, character in enumerate(first, start=1):
        before, row = row, [count]
        for place, other in enumerate(second):
            row.append(min(before[place + 1] + 1, row[place] + 1, before[place] + (character != other)))
    return row[-1]
