"""How similar a line of free text is to each tool: the protocol, and the measure that needs no model."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from evaluator.core.planner import OfferedTool

_WORD = re.compile(r"[a-z]+")
_FUNCTION_WORDS = frozenset({
    "a", "an", "and", "apply", "are", "as", "at", "be", "by", "called", "can", "do", "each", "for", "from", "given",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "me", "model", "my", "now", "of", "on",
    "or", "our", "out", "please", "run", "step", "that", "the", "their", "them", "then", "there", "these", "this",
    "to", "tool", "up", "use", "using", "want", "was", "we", "what", "when", "where", "whether", "which", "will",
    "with", "you", "your",
})  # fmt: skip
_LEAST_SHARED = 4
Words = tuple[str, ...]


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

    def __init__(self, *, threshold: float = 0.52) -> None:
        """Args:
        threshold: the least similarity with which a line is taken for a tool. The default is the one that is best on
            sentences of our own (`calibration`).
        """
        self.threshold = threshold

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        """See `Similarity.compare`."""
        texts = tuple((_words(tool.name), _words(tool.description)) for tool in tools)
        weights = _weights(texts)
        return [_similarities(_words(line), texts=texts, weights=weights) for line in lines]


def _similarities(line: Words, *, texts: Sequence[tuple[Words, ...]], weights: Mapping[str, float]) -> list[float]:
    # A word of a line that no tool has says nothing for or against any of them.
    known = {
        word: max(weights[other] for other in same)
        for word in line
        if (same := [other for other in weights if _are_same(word, other)])
    }
    return [max(_harmonic(known, words, weights=weights) for words in pair) for pair in texts]


def _harmonic(known: Mapping[str, float], words: Words, *, weights: Mapping[str, float]) -> float:
    covered = sum(weights[word] for word in words if _is_in(word, known))
    explained = sum(weight for word, weight in known.items() if _is_in(word, words))
    if not covered or not explained:
        return 0.0
    recall = covered / sum(weights[word] for word in words)
    precision = explained / sum(known.values())
    return 2 * recall * precision / (recall + precision)


@lru_cache(maxsize=64)
def _weights(texts: tuple[tuple[Words, ...], ...]) -> Mapping[str, float]:
    """Of each word of the tools' names and descriptions: the logarithm of how rare it is among the tools."""
    together = [name + described for name, described in texts]
    vocabulary = sorted({word for text in together for word in text})
    return {word: math.log((1 + len(together)) / sum(_is_in(word, text) for text in together)) for word in vocabulary}


def _is_in(word: str, text: Iterable[str]) -> bool:
    return any(_are_same(word, other) for other in text)


@lru_cache(maxsize=65536)
def _are_same(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter = min(len(one), len(other))
    shared = next((index for index in range(shorter) if one[index] != other[index]), shorter)
    return shared >= max(_LEAST_SHARED, 0.75 * shorter)


def _words(text: str) -> Words:
    """The words of a text that say something, each once, in its order."""
    spelled = text.casefold().replace("colour", "color").replace("grey", "gray")
    return tuple(dict.fromkeys(word for word in _WORD.findall(spelled) if word not in _FUNCTION_WORDS))
