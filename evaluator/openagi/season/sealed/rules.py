"""A reader of sealed requests by rules: words of flaws, answers and languages, each with the input nearest to it.

It is told the slots of a text, which planners are not, and gives no goal where a text leaves one open: a reader that
guesses would agree by chance. It shares nothing with the rules of the shortcut `regex`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluator.core.canonical_json import JsonValue
from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.requests import NOUNS

_WORDS = Path(__file__).with_name("words.toml")
_SLOT = re.compile(r"\{(\w+)\}")
_CLAUSE = re.compile(r"[.!?;:\n]|,|\b(?:and|but|then|und|aber|dann|sondern)\b")
_SENTENCE = re.compile(r"[.!?;\n]")
_WORD = "word"
_WORDLESS = (Base.RESTORATION, Base.TEXT_TO_IMAGE)


@dataclass(frozen=True, slots=True)
class _Hit:
    """Words of a table in a text."""

    name: str
    start: int
    end: int


@cache
def _table(part: str) -> Mapping[str, re.Pattern[str]]:
    words = tomllib.loads(_WORDS.read_text())[part]
    return {name: re.compile(rf"(?<![\w{{])(?:{'|'.join(found)})(?![\w}}])") for name, found in words.items()}


def goal_read(text: str, *, slots: Sequence[str]) -> dict[str, JsonValue] | None:
    """The goal of a text, as `SealedRequest.goal` has it; None if the rules find none, or leave something open.

    Args:
        text: with slots.
        slots: their names.
    """
    reader = _Reader(text=text.lower(), slots=slots)
    try:
        return reader.goal()
    except _OpenError:
        return None


class _OpenError(Exception):
    """The rules leave open what a text asks for."""


class _Reader:
    def __init__(self, *, text: str, slots: Sequence[str]) -> None:
        self._text = text
        self._unneeded = self._not_needed(slots)
        self._needed = [slot for slot in slots if slot not in self._unneeded]
        self._by_noun = {slot.partition("_")[0]: slot for slot in self._needed}

    def goal(self) -> dict[str, JsonValue]:
        if not self._needed or len(self._by_noun) < len(self._needed):
            raise _OpenError
        is_possible = not self._hits("other", only="impossible")
        bases = self._answers()
        flaws = self._flaws()
        if not is_possible:
            noun = next(iter(self._by_noun))
            base = Base.CAPTIONING if noun == "image" else Base.SUMMARIZATION
            bases = [(base, 0)]
        elif not bases and any(flaw != _WORD for found in flaws.values() for flaw in found):
            bases = [(Base.RESTORATION, 0)]
        if not bases:
            raise _OpenError
        wanted = {noun for base, _ in bases for noun in NOUNS[base]}
        if wanted != set(self._by_noun):
            raise _OpenError
        inputs: dict[str, JsonValue] = {slot: {"flaws": list(flaws.get(slot, ()))} for slot in self._needed}
        inputs |= {slot: {"needed": False} for slot in self._unneeded}
        answers: list[JsonValue] = []
        for number, (base, place) in enumerate(bases):
            until = bases[number + 1][1] if number + 1 < len(bases) else len(self._text)
            language = "en" if not is_possible else self._language(base, start=place, end=until)
            answers.append({"goal": base, "language": language})
        return {"inputs": inputs, "answers": answers, "possible": is_possible}

    def _hits(self, part: str, *, only: str = "") -> list[_Hit]:
        """The words of a table in the text; of those that overlap the longest."""
        found = [
            _Hit(name, match.start(), match.end())
            for name, pattern in _table(part).items()
            if not only or name == only
            for match in pattern.finditer(self._text)
        ]
        chosen: list[_Hit] = []
        for hit in sorted(found, key=lambda hit: hit.start - hit.end):
            if not any(hit.start < other.end and other.start < hit.end for other in chosen):
                chosen.append(hit)
        return sorted(chosen, key=lambda hit: hit.start)

    def _not_needed(self, slots: Sequence[str]) -> list[str]:
        """The slots of sentences that say that an input is not needed, each the nearest to these words."""
        found = []
        for hit in self._hits("other", only="unneeded"):
            start, end = self._sentence(hit)
            near = [
                (min(abs(match.start() - hit.end), abs(hit.start - match.end())), match[1])
                for match in _SLOT.finditer(self._text)
                if start <= match.start() < end and match[1] in slots
            ]
            found += [min(near)[1]] if near else []
        return list(dict.fromkeys(found))

    def _sentence(self, hit: _Hit) -> tuple[int, int]:
        ends = [0, *(match.end() for match in _SENTENCE.finditer(self._text)), len(self._text)]
        return max(end for end in ends if end <= hit.start), min(end for end in ends if end >= hit.end)

    def _is_denied(self, hit: _Hit) -> bool:
        """Whether a word before it in its clause denies it."""
        starts = [0, *(match.end() for match in _CLAUSE.finditer(self._text, 0, hit.start))]
        clause = self._text[starts[-1] : hit.start]
        return _table("other")["denial"].search(clause) is not None

    def _flaws(self) -> dict[str, list[str]]:
        """What is wrong with each needed input."""
        found: dict[str, list[str]] = {}
        for hit in self._hits("flaws"):
            slot = self._input_of(hit)
            if slot is not None and not self._is_denied(hit) and hit.name not in found.setdefault(slot, []):
                found[slot].append(hit.name)
        order = [*Degradation, _WORD]
        return {slot: sorted(flaws, key=order.index) for slot, flaws in found.items()}

    def _input_of(self, hit: _Hit) -> str | None:
        """The input that a flaw belongs to: of those that can have it the nearest, in the same sentence if one is
        there, and else the only one. None for a flaw of an input that is not needed."""
        is_image = hit.name != _WORD
        start, end = self._sentence(hit)
        near = [
            (min(abs(match.start() - hit.end), abs(hit.start - match.end())), match[1])
            for match in _SLOT.finditer(self._text)
            if start <= match.start() < end and match[1].startswith("image") == is_image
        ]
        if near:
            slot = min(near)[1]
            return slot if slot in self._needed else None
        fitting = [slot for slot in self._needed if slot.startswith("image") == is_image]
        if len(fitting) != 1:
            raise _OpenError
        return fitting[0]

    def _answers(self) -> list[tuple[Base, int]]:
        """The answers in order, each with its place in the text."""
        found: dict[Base, int] = {}
        for hit in self._hits("answers"):
            if self._is_denied(hit):
                continue
            for base in self._bases(hit.name):
                found.setdefault(base, hit.start)
        if len(found) > 1 and Base.RESTORATION in found:
            # A restoration is mentioned on the way to another answer more often than it is one.
            raise _OpenError
        return sorted(found.items(), key=lambda item: item[1])

    def _bases(self, name: str) -> Iterator[Base]:
        if name == "question":
            if "query" in self._by_noun:
                yield Base.QA if "document" in self._by_noun else Base.VQA
            return
        base = Base(name)
        if set(NOUNS[base]) <= set(self._by_noun):
            yield base

    def _language(self, base: Base, *, start: int, end: int) -> str | None:
        """The language of an answer: named behind it and before the next one, or the only one that the text names."""
        if base in _WORDLESS:
            return None
        if base is Base.TRANSLATION:
            return "de"
        hits = [hit for hit in self._hits("languages") if not self._is_denied(hit)]
        behind = [hit.name for hit in hits if start <= hit.start < end]
        names = set(behind) or {hit.name for hit in hits}
        if len(names) != 1:
            raise _OpenError
        return names.pop()
