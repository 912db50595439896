"""How similar a line of free text is to each tool: the protocol, and the measure that needs no model."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from evaluator.planners.protocol import OfferedTool

_WORD = re.compile(r"[a-z]+")
_FUNCTION_WORDS = frozenset({
    "a", "an", "and", "apply", "are", "as", "at", "be", "by", "called", "can", "do", "each", "for", "from", "given",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "me", "model", "my", "now", "of", "on",
    "or", "our", "out", "please", "run", "step", "that", "the", "their", "them", "then", "there", "these", "this",
    "to", "tool", "up", "use", "using", "want", "was", "we", "what", "when", "where", "whether", "which", "will",
    "with", "you", "your",
})  # fmt: skip
_LEAST_SHARED = 4


class Similarity(Protocol):
    """Compares lines with tools."""

    @property
    def name(self) -> str:
        """What it is, as the result names it."""
        ...

    @property
    def threshold(self) -> float:
        """The least similarity with which a line is taken for a tool."""
        ...

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        """The similarity of each line with each tool, at most 1. That of one line does not depend on the others."""
        ...


class LexicalSimilarity:
    """Words that a line has in common with a tool's name and description. Deterministic, and without a model.

    Two words are the same if they share their beginning: at least four letters, and three quarters of the shorter one
    (`denoise` and `denoising`). A word weighs the more the fewer of the offered tools have it. For the name and for the
    description in turn, what is covered of it and what is covered of those words of the line that any tool has are
    combined by their harmonic mean; the better of the two counts. The range is 0 to 1.
    """

    name = "lexical"

    def __init__(self, *, threshold: float = 0.5) -> None:
        """Args:
        threshold: chosen on sentences of our own; see `docs/planners-openagi.md`.
        """
        self.threshold = threshold

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        """See `Similarity.compare`."""
        texts = [(_words(tool.name), _words(tool.description)) for tool in tools]
        weights = _weights([name + described for name, described in texts])
        return [[_similarity(_words(line), texts=text, weights=weights) for text in texts] for line in lines]


def _similarity(line: tuple[str, ...], *, texts: tuple[tuple[str, ...], ...], weights: dict[str, float]) -> float:
    return max(_harmonic(line, text, weights=weights) for text in texts)


def _harmonic(line: tuple[str, ...], text: tuple[str, ...], *, weights: dict[str, float]) -> float:
    known = {word: weight for word in line if (weight := _weight(word, weights)) > 0}
    covered = sum(weights[word] for word in set(text) if _is_in(word, line))
    explained = sum(weight for word, weight in known.items() if _is_in(word, text))
    if not covered or not explained:
        return 0.0
    recall = covered / sum(weights[word] for word in set(text))
    precision = explained / sum(known.values())
    return 2 * recall * precision / (recall + precision)


def _weights(texts: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Of each word of the tools: the logarithm of how rare it is among them."""
    vocabulary = {word for text in texts for word in text}
    return {word: math.log((1 + len(texts)) / sum(_is_in(word, text) for text in texts)) for word in vocabulary}


def _weight(word: str, weights: dict[str, float]) -> float:
    """The weight of a word of a line: that of the tools' word that it is the same as, 0 if there is none."""
    return max((weight for known, weight in weights.items() if _are_same(word, known)), default=0.0)


def _is_in(word: str, text: Sequence[str]) -> bool:
    return any(_are_same(word, other) for other in text)


@cache
def _are_same(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter = min(len(one), len(other))
    shared = next((index for index in range(shorter) if one[index] != other[index]), shorter)
    return shared >= max(_LEAST_SHARED, 0.75 * shorter)


def _words(text: str) -> tuple[str, ...]:
    spelled = text.casefold().replace("colour", "color").replace("grey", "gray")
    return tuple(word for word in _WORD.findall(spelled) if word not in _FUNCTION_WORDS)
