"""Word similarity of descriptions and tools, which all offline stages use.

Words are stemmed, common synonyms are merged, and words are weighted by their inverse document frequency among the
tools. Nothing is fitted: stemmer, function words and synonyms are general English, and the weights follow from the
catalogue.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from evaluator.core.tools.types import Tool

RARE = 0.2
"""A word that a larger share of the tools have is no keyword."""
_WORD = re.compile(r"[a-z]+")
_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]+)+")
_BREAKS = re.compile(rf"{_IDENTIFIER.pattern}|[.,;:?!()`]")
_UNSPOKEN = re.compile(r"<[A-Z-]+>-[\w-]+|[\w\-./]+\.\w{2,4}\b")
"""Placeholders and file names, whose words do not describe tools."""
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about after afterwards all also an and any are as at be been by can could do does each every finally first
        for from get give given had has have her his how i if in into is it its just let like make may me might more
        most my need no not now of off on one or other our out over own please s she should show shown shows so some
        such t take tell than that the their them then there these they thing things this those through to too up use
        used using want was we what when where whether which while who whose why will with would you your""",
    )
)
_ENDINGS = (
    ("ifications", "ify"), ("ification", "ify"), ("ations", ""), ("ation", ""), ("ating", ""), ("ated", ""),
    ("ates", ""), ("ate", ""), ("ions", ""), ("ion", ""), ("ings", ""), ("ing", ""), ("ied", "y"), ("ies", "y"),
    ("ed", ""), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("s", ""),
)  # fmt: skip
_KEPT_WHOLE = ("ss", "us", "is", "eed")
_LEAST = 3
"""An ending is not removed if fewer letters would be left."""
_SYNONYMS = (
    "image picture photo photograph",
    "video clip film movie",
    "find locate detect spot",
    "remove erase delete",
    "crop cut",
    "draw paint generate create",
    "highlight mark outline border",
    "count number quantity total amount",
    "box bbox rectangle",
    "region area part",
    "keep preserve retain isolate extract separate",
    "select pick choose",
    "describe caption",
    "answer reply respond",
    "name recognise recognize identify classify category",
    "sound audio",
    "change edit modify",
)
_IRREGULAR = {"location": "location", "locations": "location", "description": "describ", "descriptions": "describ"}
"""Words for which the rules give the wrong stem."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The common stem of the forms of a word; need not be a word itself."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST and not word.endswith(_KEPT_WHOLE):
            word = word[: -len(ending)] + replacement
            break
    if len(word) > _LEAST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > _LEAST and word.endswith("e") else word


_MEANING = {stem(word): stem(group.split()[0]) for group in _SYNONYMS for word in group.split()}


@lru_cache(maxsize=4096)
def content_words(text: str) -> tuple[str, ...]:
    """The stems of a text's content words in order, with synonyms merged, without file names and placeholders."""
    words = _WORD.findall(_UNSPOKEN.sub(" ", text).lower())
    return tuple(_MEANING.get(stem(word), stem(word)) for word in words if word not in _FUNCTION_WORDS)


class Lexicon:
    """The words of a set of tools with their weights."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._words = {tool.name: frozenset(content_words(document(tool))) for tool in tools}
        counts = Counter(word for words in self._words.values() for word in words)
        self._weights = {word: math.log(len(tools) / count) for word, count in counts.items()}
        self._keywords = frozenset(word for word, count in counts.items() if count <= max(1, RARE * len(tools)))
        self._phrases = {
            tool.name: [content_words(name.replace("_", " ")) for name in (tool.name, *tool.aliases)] for tool in tools
        }
        self.heaviest = max(self._weights.values(), default=0.0)
        """Weight of a word that only one tool has."""

    def weights_of(self, text: str) -> Mapping[str, float]:
        """The text's words that any tool has, with their weights."""
        return {word: self._weights[word] for word in content_words(text) if word in self._weights}

    def words_of(self, tool: Tool) -> frozenset[str]:
        """Every word of a tool's name, description, domain and types."""
        return self._words[tool.name]

    def keywords_shared(self, *, text: str, tool: Tool) -> frozenset[str]:
        """Keywords that a text and a tool share."""
        return self._words[tool.name].intersection(content_words(text)) & self._keywords

    def similarity(self, *, text: str, tool: Tool) -> float:
        """Cosine of the weighted words of a text and a tool, in [0, 1]."""
        weights = self.weights_of(text)
        own = {word: self._weights[word] for word in self._words[tool.name]}
        length = math.sqrt(sum(w * w for w in weights.values()) * sum(w * w for w in own.values()))
        return sum(weight * weight for word, weight in weights.items() if word in own) / length if length else 0.0

    def names(self, *, text: str, tool: Tool) -> bool:
        """Whether a text names a tool: its identifier, or the words of its name next to each other."""
        if not {tool.name, *tool.aliases}.isdisjoint(_IDENTIFIER.findall(text.lower())):
            return True
        phrases = [phrase for phrase in self._phrases[tool.name] if len(phrase) > 1]
        return any(
            clause[start : start + len(phrase)] == phrase
            for phrase in phrases
            for clause in _clauses(text)
            for start in range(len(clause) - len(phrase) + 1)
        )


def document(tool: Tool) -> str:
    """Name, description, domain and types of a tool as one text."""
    kinds = " ".join((*tool.input_types, *tool.output_types))
    return f"{tool.name.replace('_', ' ')} {tool.description} {tool.domain.replace('-', ' ')} {kinds}"


@lru_cache(maxsize=4096)
def _clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """The content words between punctuation marks and identifiers, so that a name cannot span two tools' names."""
    return tuple(content_words(clause) for clause in _BREAKS.split(_UNSPOKEN.sub(" ", text).lower()))
