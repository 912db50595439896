"""Masking one word of a text, only such as the rest of the text determines."""

import re
from collections.abc import Sequence

import numpy as np

MASK = "[MASK]"


def mask_word(*, text: str, recoverable: Sequence[str], rng: np.random.Generator) -> str:
    """Put the mask in the place of one of the recoverable words, at its first occurrence as a whole word.

    Raises:
        ValueError: none of them is in the text.
    """
    present = [word for word in recoverable if _pattern(word).search(text)]
    if not present:
        raise ValueError(f"none of the recoverable words {', '.join(recoverable)} is in {text!r}")
    word = present[rng.integers(len(present))]
    return _pattern(word).sub(MASK, text, count=1)


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}\b")
