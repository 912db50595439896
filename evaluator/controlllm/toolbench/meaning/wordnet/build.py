"""Makes `wordnet.bin` of the files of WordNet 3.0, as Debian's package `wordnet-base` has them.

    python -m evaluator.controlllm.toolbench.meaning.wordnet.build /usr/share/wordnet

The same files give the same bytes with the same zlib. Glosses and the relations that no rule uses are left out.
"""

import json
import re
import sys
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluator.controlllm.toolbench.meaning.wordnet.table import FILE

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_DOMAINS = [
    "adj.all",
    "adj.pert",
    "adv.all",
    "noun.Tops",
    "noun.act",
    "noun.animal",
    "noun.artifact",
    "noun.attribute",
    "noun.body",
    "noun.cognition",
    "noun.communication",
    "noun.event",
    "noun.feeling",
    "noun.food",
    "noun.group",
    "noun.location",
    "noun.motive",
    "noun.object",
    "noun.person",
    "noun.phenomenon",
    "noun.plant",
    "noun.possession",
    "noun.process",
    "noun.quantity",
    "noun.relation",
    "noun.shape",
    "noun.state",
    "noun.substance",
    "noun.time",
    "verb.body",
    "verb.change",
    "verb.cognition",
    "verb.communication",
    "verb.competition",
    "verb.consumption",
    "verb.contact",
    "verb.creation",
    "verb.emotion",
    "verb.motion",
    "verb.perception",
    "verb.possession",
    "verb.social",
    "verb.stative",
    "verb.weather",
    "adj.ppl",
]
"""Names of the lexicographers' files by number, as in lexnames(5WN)."""
_ABOVE = frozenset({"@", "@i", "&"})
_DERIVATIONS = frozenset({"+", "\\", "<"})
"""Derivationally related, pertaining to a noun, participle of a verb."""
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_MOST_COUNTED = 2**16 - 1


class _Pointer(NamedTuple):
    symbol: str
    target: tuple[str, int]
    """Part of speech and offset of the other synset."""
    own_word: int
    """Number of the word from which it leads, from 1; 0: from the whole synset."""
    other_word: int


class _Synset(NamedTuple):
    domain: int
    words: Sequence[str]
    pointers: Sequence[_Pointer]


def build(folder: Path) -> bytes:
    """The table of the WordNet files in a folder."""
    synsets = {
        (part, offset): synset
        for name, part in _PARTS.items()
        for offset, synset in _read_data(folder / f"data.{name}")
    }
    numbers = {key: number for number, key in enumerate(synsets)}
    counts = _read_counts(folder / "cntlist.rev")
    senses: dict[str, list[tuple[tuple[str, int], int]]] = defaultdict(list)
    for name, part in _PARTS.items():
        for lemma, offsets in _read_index(folder / f"index.{name}"):
            known = {key for key, _ in senses[lemma]}
            for number, offset in enumerate(offsets, 1):
                # Spellings with and without a hyphen may have the same sense.
                if (part, offset) not in known:
                    senses[lemma].append(((part, offset), counts.get((part, lemma, number), 0)))
    lemmas = sorted(senses)
    number_of_lemma = {lemma: number for number, lemma in enumerate(lemmas)}
    number_of_sense: dict[tuple[str, tuple[str, int]], int] = {}
    for lemma in lemmas:
        for key, _ in senses[lemma]:
            number_of_sense.setdefault((lemma, key), len(number_of_sense))
    derivations: dict[int, set[int]] = defaultdict(set)
    antonyms: dict[int, set[int]] = defaultdict(set)
    for key, synset in synsets.items():
        for pointer in synset.pointers:
            if pointer.symbol not in _DERIVATIONS | {"!"} or not pointer.own_word:
                continue
            own = number_of_sense[synset.words[pointer.own_word - 1], key]
            other_word = synsets[pointer.target].words[pointer.other_word - 1]
            if pointer.symbol == "!":
                antonyms[own].add(numbers[pointer.target])
            else:
                derivations[own].add(number_of_sense[other_word, pointer.target])
    above = [
        sorted({numbers[pointer.target] for pointer in synset.pointers if pointer.symbol in _ABOVE})
        for synset in synsets.values()
    ]
    every_sense = range(len(number_of_sense))
    sections = {
        "lemmas": "\n".join(lemmas).encode(),
        **_joined("senses", ([numbers[key] for key, _ in senses[lemma]] for lemma in lemmas)),
        "frequencies": _bytes("H", (min(count, _MOST_COUNTED) for lemma in lemmas for _, count in senses[lemma])),
        "domains": bytes(synset.domain for synset in synsets.values()),
        "domain_names": "\n".join(_DOMAINS).encode(),
        "names": _bytes("I", (number_of_lemma[synset.words[0]] for synset in synsets.values())),
        **_joined("hypernyms", above),
        **_joined("antonyms", (sorted(antonyms[number]) for number in every_sense)),
        **_joined("derivations", (sorted(derivations[number]) for number in every_sense)),
        "irregular": "\n".join(_read_irregular(folder)).encode(),
    }
    header = json.dumps({name: len(content) for name, content in sections.items()}).encode()
    return zlib.compress(b"\n".join([header, b"".join(sections.values())]), level=9)


def _read_data(path: Path) -> Iterable[tuple[int, _Synset]]:
    for line in _lines(path):
        offset, domain, kind, size, *fields = line.partition(" | ")[0].split()
        end = int(size, 16) * 2
        words = [_plain(_MARKER.sub("", word).lower()) for word in fields[:end:2]]
        pointers = [
            _Pointer(symbol, ("a" if part == "s" else part, int(target)), int(words_at[:2], 16), int(words_at[2:], 16))
            for symbol, target, part, words_at in _by_four(fields[end + 1 :], int(fields[end]))
        ]
        assert kind in "nvasr"
        yield int(offset), _Synset(int(domain), words, pointers)


def _by_four(fields: Sequence[str], count: int) -> Iterable[Sequence[str]]:
    return (fields[start : start + 4] for start in range(0, count * 4, 4))


def _read_index(path: Path) -> Iterable[tuple[str, list[int]]]:
    """Each lemma with the offsets of its synsets, the most frequent first."""
    for line in _lines(path):
        lemma, _, size, *fields = line.split()
        yield _plain(lemma), [int(offset) for offset in fields[-int(size) :]]


def _read_counts(path: Path) -> dict[tuple[str, str, int], int]:
    """Occurrences by part of speech, lemma, and number of the sense from 1."""
    parts = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
    counts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, number, count = line.split()
        lemma, _, rest = key.partition("%")
        counts[parts[rest[0]], _plain(lemma), int(number)] = int(count)
    return counts


def _plain(lemma: str) -> str:
    """A lemma with spaces between its words, also where WordNet has hyphens."""
    return lemma.replace("_", " ").replace("-", " ")


def _read_irregular(folder: Path) -> list[str]:
    return sorted(
        "\t".join([form, part, *lemmas]).replace("_", " ")
        for name, part in _PARTS.items()
        for form, *lemmas in map(str.split, (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines())
        if form not in lemmas
    )


def _lines(path: Path) -> Iterable[str]:
    """The lines of a file without those of the licence at its top."""
    return (line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("  "))


def _joined(name: str, lists: Iterable[Sequence[int]]) -> dict[str, bytes]:
    several = list(lists)
    return {
        f"{name}_counts": bytes(map(len, several)),
        name: _bytes("I", (number for numbers in several for number in numbers)),
    }


def _bytes(code: str, numbers: Iterable[int]) -> bytes:
    values = array(code, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


if __name__ == "__main__":
    FILE.write_bytes(build(Path(sys.argv[1])))
