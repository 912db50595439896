"""Words and their concepts: the lexicon in `lexicon/*.toml`, and WordNet for the words that it does not list.

The lexicon was written from general knowledge. It has priority: its lines are what pictures and requests about them
mean, where the usual sense of a word in WordNet may be another.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

from evaluator.controlllm.toolbench.meaning import words
from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech
from evaluator.controlllm.toolbench.meaning.words import (
    CONCRETE,
    base_of,
    domain_of,
    is_kind_of,
    senses_of,
    usual_sense,
)

FOLDER = Path(__file__).parent / "lexicon"
PERSONS = frozenset({"person", "man", "woman", "child", "boy", "girl", "baby", "couple", "family"})
LONGEST_PHRASE = 5
"""Words of the longest name."""
_ENDINGS = (("ies", "y"), ("ing", ""), ("ing", "e"), ("ied", "y"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", ""))
_KEPT_S = ("ss", "us", "is")


class Category(StrEnum):
    """The part of speech of a concept."""

    THING = "thing"
    DOING = "doing"
    QUALITY = "quality"
    RELATION = "relation"
    NUMBER = "number"
    UNKNOWN = "unknown"
    """The lexicon does not have the word."""


@dataclass(frozen=True, slots=True)
class Concept:
    """The common meaning of synonyms."""

    name: str = field(compare=False)
    """The first synonym on a line of the lexicon, or the word itself."""
    category: Category
    dimension: str = ""
    """For a quality: qualities of one dimension exclude each other. For a thing of the lexicon: `objects`, `roles`,
    `places` or `parts`."""
    key: str | int = ""
    """What equal concepts share: a name, or a synset of WordNet."""
    is_listed: bool = False
    """Whether the lexicon has it."""


@cache
def table(name: str) -> Mapping[str, object]:
    """A file of the lexicon."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def lists(name: str, section: str = "") -> Mapping[str, list[str]]:
    """The lists of texts of a file, by key."""
    section_table = table(name)[section] if section else table(name)
    assert isinstance(section_table, Mapping)
    return {str(key): list(value) for key, value in section_table.items() if isinstance(value, list)}


def words_of(name: str, section: str = "") -> Mapping[str, frozenset[str]]:
    """The strings of a file, split into words, by key."""
    section_table = table(name)[section] if section else table(name)
    assert isinstance(section_table, Mapping)
    return {str(k): frozenset(re.findall(r"[^\s,]+", v)) for k, v in section_table.items() if isinstance(v, str)}


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """The base form of a lower-case English word: as the lexicon has it, else as WordNet has it, else by rule.

    The base form of a word that neither has may be odd, but is the same for all its inflections.
    """
    if word in _irregular():
        return _irregular()[word]
    vocabulary = _vocabulary()
    if word in vocabulary or len(word) < 4:
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and not (ending == "s" and word.endswith(_KEPT_S)):
            stem = word.removesuffix(ending) + replacement
            if len(stem) > 1 and stem in vocabulary:
                return stem
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in vocabulary:
                return stem[:-1]
    return base_of(word) or _by_rule(word)


def _by_rule(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            is_doubled = len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "sl"
            return (stem[:-1] if is_doubled else stem).removesuffix("e")
    if word.endswith("s") and not word.endswith(_KEPT_S):
        return word[:-1]
    return word


@cache
def _irregular() -> Mapping[str, str]:
    forms = table("lemmas")["forms"]
    assert isinstance(forms, Mapping)
    return {form: base for base, several in forms.items() for form in several.split()}


@cache
def _vocabulary() -> frozenset[str]:
    """The words of the lexicon, which are base forms."""
    phrases = (phrase for phrases in lists("asks", "asks").values() for phrase in phrases)
    texts = (*phrases, *(name for _, names, _ in _synonyms() for name in names))
    return frozenset(word for text in texts for word in re.findall(r"[a-z0-9]+", text)) | set(_irregular().values())


@cache
def concepts() -> Mapping[tuple[str, ...], Concept]:
    """Every name of the lexicon in base forms, with its concept."""
    by_name: dict[tuple[str, ...], Concept] = {}
    for names, concept in _lines():
        for name in names:
            by_name.setdefault(tuple(lemma(word) for word in name.split()), concept)
    return by_name


def _lines() -> Iterator[tuple[list[str], Concept]]:
    for category, names, dimension in _synonyms():
        yield names, Concept(names[0], category, dimension, key=names[0], is_listed=True)


@lru_cache(maxsize=65536)
def concept_of(word: str) -> Concept:
    """The concept of a word in base form that no line of the lexicon has.

    Words with the same usual sense in WordNet have the same concept, and the lexicon's if a line has one of them. A
    word without a usual sense, or without one of a concrete thing, is of unknown category: it never tells two texts
    apart.
    """
    sense = usual_sense(word)
    if sense is None:
        return Concept(word, Category.UNKNOWN, key=word)
    if sense.synset in _by_synset():
        return _by_synset()[sense.synset]
    is_thing = sense.part is PartOfSpeech.NOUN and domain_of(sense) in CONCRETE
    return Concept(word, Category.THING if is_thing else Category.UNKNOWN, key=sense.synset)


@cache
def _by_synset() -> Mapping[int, Concept]:
    """The lexicon's concepts by the usual senses of their names."""
    parts = {
        Category.THING: PartOfSpeech.NOUN,
        Category.DOING: PartOfSpeech.VERB,
        Category.QUALITY: PartOfSpeech.ADJECTIVE,
    }
    others = words_of_other_senses()
    excluded = {sense.synset for word in others.values() if (sense := usual_sense(word)) is not None}
    by_synset: dict[int, Concept] = {}
    for names, concept in _lines():
        for name in names if concept.category in parts else ():
            sense = usual_sense(name, parts[concept.category])
            if sense is not None and sense.synset not in excluded:
                by_synset.setdefault(sense.synset, concept)
    return by_synset


def words_of_other_senses() -> Mapping[str, str]:
    """For names of the lexicon a synonym of their usual sense in WordNet, where it is another one."""
    senses = table("exceptions")["other_senses"]
    assert isinstance(senses, Mapping)
    return senses


@cache
def readings() -> Mapping[str, frozenset[Category]]:
    """The categories of each name: a drink is a thing and a doing."""
    categories: dict[str, set[Category]] = {}
    for category, names, _ in _synonyms():
        for name in names:
            categories.setdefault(name, set()).add(category)
    return {name: frozenset(own) for name, own in categories.items()}


def _synonyms() -> Iterator[tuple[Category, list[str], str]]:
    """Each line of the lexicon: category, names, and dimension."""
    tables = [
        *((Category.THING, lines, group) for group, lines in lists("things").items()),
        (Category.RELATION, lists("qualities", "relations")["names"], ""),
        (Category.NUMBER, lists("qualities", "numbers")["names"], ""),
        *((Category.QUALITY, lines, dimension) for dimension, lines in lists("qualities", "dimensions").items()),
        (Category.DOING, lists("doings")["names"], ""),
    ]
    for category, lines, dimension in tables:
        for line in lines:
            yield category, [name.strip() for name in line.split(",")], dimension


@cache
def plain_words() -> frozenset[str]:
    """Base forms that do not change what a question asks."""
    return frozenset(
        lemma(word)
        for name, words in words_of("plain_words").items()
        if name not in {"prompts", "announcing"}
        for word in words
    )


@cache
def words_of_prompts() -> frozenset[str]:
    """Base forms that do not change what a prompt shows."""
    return frozenset(lemma(word) for word in words_of("plain_words")["prompts"])


@cache
def words_of_announcing() -> frozenset[str]:
    """Base forms of words that may introduce a message to a language model."""
    return frozenset(lemma(word) for word in words_of("plain_words")["announcing"])


@cache
def words_of_asking() -> frozenset[str]:
    """Base forms of verbs that instruct a tool, and so do not describe an object."""
    return frozenset(lemma(word) for word in words_of("asks", "requests")["words"])


@cache
def vague_doings() -> frozenset[str]:
    """Names of doings that do not distinguish two questions."""
    return frozenset(lists("doings")["vague"])


@lru_cache(maxsize=4096)
def kinds_of(name: str) -> frozenset[str]:
    """The transitive hypernyms of a thing among the lexicon's kinds, by the lexicon and by WordNet."""
    found: set[str] = set()
    level = {name}
    while level:
        above = {
            kind
            for kind, names in _kinds().items()
            for below in level
            if below in names or (kind != below and is_kind_of(below, kind))
        }
        level = above - found - {name}
        found |= level
    return frozenset(found)


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    kinds = table("things")["kinds"]
    assert isinstance(kinds, Mapping)
    return {kind: frozenset(name.strip() for name in names.split(",")) for kind, names in kinds.items()}


@cache
def compound_modifiers() -> frozenset[str]:
    """Words before a name that make it the name of something else ("toy car")."""
    return frozenset(lemma(word) for word in words_of("things", "compounds")["makes_another"])


def may_be(wanted: Concept, given: Concept) -> bool:
    """Whether a `given` thing may be the `wanted` one: a kind of it, or a person in a role."""
    if wanted.name in kinds_of(given.name) or is_kind_of(given.name, wanted.name):
        return True
    return "roles" in {wanted.dimension, given.dimension} and bool(PERSONS & {wanted.name, given.name})


def are_related(first: Concept, second: Concept) -> bool:
    """Whether one is a kind of the other."""
    if first.name in kinds_of(second.name) or second.name in kinds_of(first.name):
        return True
    return is_kind_of(first.name, second.name) or is_kind_of(second.name, first.name)


def are_apart(first: Concept, second: Concept) -> bool:
    """Whether two things surely are not the same thing under two names.

    The lexicon's lines are; of others, those that WordNet tells apart.
    """
    if first.is_listed and second.is_listed:
        return not are_related(first, second)
    is_one_listed = first.is_listed or second.is_listed
    if not is_one_listed or not (words.is_animal(first.name) or words.is_animal(second.name)):
        return words.are_apart(first.name, second.name)
    # Animals that the lexicon does not list are none of the things that it lists.
    return not are_related(first, second)


@cache
def undefined_kinds() -> tuple[str, ...]:
    """Names of kinds that neither the lexicon nor WordNet has: mistakes of the lexicon."""
    known = {concept.name for concept in concepts().values()}
    every = {name for kind, names in _kinds().items() for name in (kind, *names)}
    return tuple(sorted(name for name in every - known if not senses_of(name)))
