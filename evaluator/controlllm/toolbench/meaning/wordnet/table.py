"""Reads `wordnet.bin`, which `build.py` makes of WordNet's files.

The file is one zlib stream: a line of JSON, `{"section": bytes, ...}`, then the sections in that order. Numbers are
little-endian. Lists of several lengths are two sections: the lengths (`..._counts`), and all their numbers joined.
"""

import json
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
FILE = FOLDER / "wordnet.bin"


class PartOfSpeech(StrEnum):
    """WordNet's parts of speech; satellite adjectives are adjectives."""

    NOUN = "n"
    VERB = "v"
    ADJECTIVE = "a"
    ADVERB = "r"


class Sense(NamedTuple):
    """A meaning of a lemma."""

    number: int
    """Of all senses of WordNet."""
    lemma: str
    synset: int
    """Senses of one synset are synonyms."""
    part: PartOfSpeech
    domain: str
    """Name of the lexicographer's file: `noun.animal`, `verb.motion`, ..."""
    frequency: int
    """Occurrences in texts that were tagged with senses by hand, 0 to 65,535."""


class WordNet:
    """The lemmas of WordNet with their senses and relations. Lemmas are in lower case, with spaces for hyphens."""

    def __init__(self, content: bytes) -> None:
        header, _, rest = zlib.decompress(content).partition(b"\n")
        self._sections: dict[str, bytes] = {}
        start = 0
        for name, size in json.loads(header).items():
            self._sections[name] = rest[start : start + size]
            start += size
        self._lemmas = self._sections.pop("lemmas").decode().split("\n")
        self._senses = _Lists(self._sections, "senses")
        self._counts = _numbers("H", self._sections.pop("frequencies"))
        self._domains = self._sections.pop("domains")
        self._domain_names = self._sections.pop("domain_names").decode().split("\n")
        self._names = _numbers("I", self._sections.pop("names"))
        self._hypernyms = _Lists(self._sections, "hypernyms")
        self._antonyms = _Lists(self._sections, "antonyms")
        self._derivations = _Lists(self._sections, "derivations")

    @property
    def lemmas(self) -> Sequence[str]:
        """All lemmas, sorted."""
        return self._lemmas

    def senses(self, lemma: str) -> tuple[Sense, ...]:
        """The senses of a lemma, by part of speech, then the most frequent first; none if WordNet lacks it."""
        place = bisect_left(self._lemmas, lemma)
        if place == len(self._lemmas) or self._lemmas[place] != lemma:
            return ()
        return tuple(self._sense(number, lemma) for number in range(*self._senses.bounds(place)))

    def _sense(self, number: int, lemma: str) -> Sense:
        synset = self._senses.numbers[number]
        domain = self._domain_names[self._domains[synset]]
        part = PartOfSpeech(_PARTS[domain.partition(".")[0]])
        return Sense(number, lemma, synset, part, domain, self._counts[number])

    def derivations(self, sense: Sense) -> tuple[Sense, ...]:
        """Senses of words of the same origin: entrance for enter."""
        return tuple(self._numbered(number) for number in self._derivations[sense.number])

    def _numbered(self, number: int) -> Sense:
        place = self._senses.list_of(number)
        return self._sense(number, self._lemmas[place])

    def antonyms(self, sense: Sense) -> tuple[int, ...]:
        """Synsets of the opposites of a sense."""
        return tuple(self._antonyms[sense.number])

    def name(self, synset: int) -> str:
        """The first of the synonyms."""
        return self._lemmas[self._names[synset]]

    def hypernyms(self, synset: int) -> tuple[int, ...]:
        """The synsets directly above, of classes and of instances; for an adjective those it is similar to."""
        return tuple(self._hypernyms[synset])

    @lru_cache(maxsize=16384)  # noqa: B019 - there is one instance
    def distances(self, synset: int) -> Mapping[int, int]:
        """The synset and all above it, with the fewest steps to each."""
        steps = {synset: 0}
        level = [synset]
        while level:
            above = {upper for each in level for upper in self.hypernyms(each)} - steps.keys()
            steps |= dict.fromkeys(above, steps[level[0]] + 1)
            level = sorted(above)
        return steps

    @lru_cache(maxsize=1)  # noqa: B019 - there is one instance
    def irregular(self) -> Mapping[str, tuple[tuple[str, PartOfSpeech], ...]]:
        """Irregular forms with their lemmas and parts of speech."""
        forms: dict[str, tuple[tuple[str, PartOfSpeech], ...]] = {}
        for line in self._sections["irregular"].decode().split("\n"):
            form, part, *lemmas = line.split("\t")
            forms[form] = (*forms.get(form, ()), *((lemma, PartOfSpeech(part)) for lemma in lemmas))
        return forms


_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


class _Lists:
    """Lists of numbers, joined."""

    def __init__(self, sections: dict[str, bytes], name: str) -> None:
        self.numbers = _numbers("I", sections.pop(name))
        self._starts = array("I", accumulate(sections.pop(f"{name}_counts"), initial=0))

    def bounds(self, place: int) -> tuple[int, int]:
        return self._starts[place], self._starts[place + 1]

    def __getitem__(self, place: int) -> Sequence[int]:
        start, end = self.bounds(place)
        return self.numbers[start:end]

    def list_of(self, number: int) -> int:
        """The list that has the number at a position of the joined lists; none is empty."""
        return bisect_left(self._starts, number + 1) - 1


def _numbers(code: str, content: bytes) -> "array[int]":
    numbers = array(code)
    numbers.frombytes(content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


@cache
def wordnet() -> WordNet:
    """The shipped table, which is loaded at the first call."""
    return WordNet(FILE.read_bytes())
