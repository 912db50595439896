"""The lexicon of general English, read from `lexicon/*.toml` once.

Written from general knowledge; a word that is missing makes a verdict undecided, never wrong.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "lexicon"
PERSONS = frozenset({"person", "man", "woman", "child", "boy", "girl", "baby", "couple", "family"})
LONGEST_PHRASE = 5
"""Words of the longest name."""
_ENDINGS = (("ies", "y"), ("ing", ""), ("ing", "e"), ("ied", "y"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", ""))
_KEPT_S = ("ss", "us", "is")


class Category(StrEnum):
    """What a concept is."""

    THING = "thing"
    DOING = "doing"
    QUALITY = "quality"
    RELATION = "relation"
    NUMBER = "number"
    UNKNOWN = "unknown"
    """No line of the lexicon has the word."""


class Concept(NamedTuple):
    """What words with one meaning stand for."""

    name: str
    """The first of them, or the unknown word."""
    category: Category
    dimension: str = ""
    """Of a quality: within one, qualities exclude each other. Of a thing: `objects`, `roles`, `places` or `parts`."""


@cache
def table(name: str) -> Mapping[str, object]:
    """A file of the lexicon."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def lists(name: str, section: str = "") -> Mapping[str, list[str]]:
    """The lists of texts of a file, by their name."""
    found = table(name)
    chosen = found[section] if section else found
    assert isinstance(chosen, Mapping)
    return {str(key): list(value) for key, value in chosen.items() if isinstance(value, list)}


def words_of(name: str, section: str = "") -> Mapping[str, frozenset[str]]:
    """The texts of a file that are lists of words, by their name."""
    found = table(name)
    chosen = found[section] if section else found
    assert isinstance(chosen, Mapping)
    return {
        str(key): frozenset(re.findall(r"[^\s,]+", value)) for key, value in chosen.items() if isinstance(value, str)
    }


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """The base form of a lower-case English word: by the list of irregular forms, else by rule, with a form that the
    lexicon knows where there is one. Unknown words come back oddly perhaps, but always alike."""
    irregular = _irregular().get(word)
    if irregular is not None:
        return irregular
    if word in _vocabulary() or len(word) < 4:
        return word
    guesses = [
        guess
        for ending, instead in _ENDINGS
        if word.endswith(ending) and not (ending == "s" and word.endswith(_KEPT_S))
        for guess in _undoubled(word.removesuffix(ending) + instead)
        if len(guess) > 1
    ]
    known = [guess for guess in guesses if guess in _vocabulary()]
    if known:
        return known[0]
    return _by_rule(word)


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


def _undoubled(stem: str) -> Iterator[str]:
    yield stem
    if len(stem) > 2 and stem[-1] == stem[-2]:
        yield stem[:-1]


@cache
def _irregular() -> Mapping[str, str]:
    forms = table("lemmas")["forms"]
    assert isinstance(forms, Mapping)
    return {form: base for base, several in forms.items() for form in several.split()}


@cache
def _vocabulary() -> frozenset[str]:
    """Every word that the lexicon has itself, and so is no inflected form."""
    asked = (phrase for phrases in lists("asks", "asks").values() for phrase in phrases)
    texts = [*_names(), *asked]
    return frozenset(word for text in texts for word in re.findall(r"[a-z0-9]+", text)) | _irregular_bases()


def _irregular_bases() -> frozenset[str]:
    return frozenset(_irregular().values())


def _names() -> Iterator[str]:
    for several in lists("things").values():
        yield from several
    yield from lists("doings")["names"]
    for section in ("relations", "numbers"):
        yield from lists("qualities", section)["names"]
    for several in lists("qualities", "dimensions").values():
        yield from several


@cache
def concepts() -> Mapping[tuple[str, ...], Concept]:
    """Every name of the lexicon in base forms, with its concept."""
    found: dict[tuple[str, ...], Concept] = {}
    for category, lines, dimension in _lines():
        for line in lines:
            names = [name.strip() for name in line.split(",")]
            concept = Concept(names[0], category, dimension)
            for name in names:
                found.setdefault(tuple(lemma(word) for word in name.split()), concept)
    return found


@cache
def readings() -> Mapping[str, frozenset[Category]]:
    """Every category in which the lexicon has a concept's name: a drink is a thing, and something to do."""
    found: dict[str, set[Category]] = {}
    for category, lines, _ in _lines():
        for line in lines:
            for name in line.split(","):
                found.setdefault(name.strip(), set()).add(category)
    return {name: frozenset(categories) for name, categories in found.items()}


def _lines() -> Iterable[tuple[Category, list[str], str]]:
    for group, lines in lists("things").items():
        yield Category.THING, lines, group
    yield Category.RELATION, lists("qualities", "relations")["names"], ""
    yield Category.NUMBER, lists("qualities", "numbers")["names"], ""
    for dimension, lines in lists("qualities", "dimensions").items():
        yield Category.QUALITY, lines, dimension
    yield Category.DOING, lists("doings")["names"], ""


@cache
def plain_words() -> frozenset[str]:
    """Base forms that do not change what a question asks."""
    return frozenset(
        lemma(word) for name, words in words_of("plain_words").items() if name != "prompts" for word in words
    )


@cache
def words_of_prompts() -> frozenset[str]:
    """Base forms that do not change what a prompt shows."""
    return frozenset(lemma(word) for word in words_of("plain_words")["prompts"])


@cache
def words_of_asking() -> frozenset[str]:
    """Base forms that tell a tool what to do with something, and so do not describe it."""
    return frozenset(lemma(word) for word in words_of("asks", "requests")["words"])


@cache
def vague_doings() -> frozenset[str]:
    """Names of doings that tell no two questions apart."""
    return frozenset(lists("doings")["vague"])


@lru_cache(maxsize=4096)
def kinds_of(name: str) -> frozenset[str]:
    """Everything that a thing is a kind of, near and far."""
    above = {kind for kind, several in _kinds().items() if name in several}
    return frozenset(above).union(*(kinds_of(kind) for kind in above))


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    kinds = table("things")["kinds"]
    assert isinstance(kinds, Mapping)
    return {kind: frozenset(name.strip() for name in several.split(",")) for kind, several in kinds.items()}


@cache
def makers_of_other_things() -> frozenset[str]:
    """Words before a name that make something else of the thing ("toy car")."""
    return frozenset(lemma(word) for word in words_of("things", "compounds")["makes_another"])


def may_be(wanted: Concept, given: Concept) -> bool:
    """Whether what is named `given` may be what is `wanted`: a kind of it, or a person in some role."""
    if wanted.name in kinds_of(given.name):
        return True
    return "roles" in {wanted.dimension, given.dimension} and bool(PERSONS & {wanted.name, given.name})


def are_related(first: Concept, second: Concept) -> bool:
    """Whether one is a kind of the other."""
    return first.name in kinds_of(second.name) or second.name in kinds_of(first.name)


@cache
def names_that_are_missing() -> tuple[str, ...]:
    """Names of kinds that are no names of things: mistakes of the lexicon."""
    known = {concept.name for concept in concepts().values()}
    every = {name for kind, several in _kinds().items() for name in (kind, *several)}
    return tuple(sorted(every - known))
