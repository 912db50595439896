"""What WordNet knows of a word: its base form, its usual sense, its kinds, and words of one origin.

The most frequent sense of a word is trusted only above bounds; a word whose senses are near in frequency has none.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech, Sense, wordnet

_LEAST_OF_WORD = 0.75
"""Share of the occurrences of a word that its part of speech must have."""
_LEAST_OF_PART = 0.6
"""Share of the occurrences in this part of speech that the first sense must have."""
_LEAST_OCCURRENCES = 2
_MOST_STEPS = 3
_ENDINGS = {
    PartOfSpeech.NOUN: (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
                        ("men", "man"), ("ies", "y")),
    PartOfSpeech.VERB: (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
                        ("ing", "")),
}  # fmt: skip
"""Endings of inflected forms, as in morphy(7WN). Comparatives keep theirs: the faster car is not any fast car."""
CONCRETE = frozenset({"animal", "artifact", "food", "plant", "person"})
"""Domains of nouns of which two different ones exclude each other."""
_EVENTS = frozenset(
    {"act", "event", "process", "state", "feeling", "attribute", "cognition", "communication", "phenomenon"}
)
"""Domains of nouns that say the same as the verb or adjective of their origin: celebration, safety."""


@lru_cache(maxsize=65536)
def senses_of(word: str) -> tuple[Sense, ...]:
    """The senses of a word in base form."""
    return wordnet().senses(word)


@lru_cache(maxsize=65536)
def base_of(word: str) -> str | None:
    """The base form of a noun or verb in lower case; None if WordNet does not have the word."""
    own = senses_of(word)
    best, most = (word, sum(sense.frequency for sense in own)) if own else (None, -1)
    for base, part in _bases(word):
        of_part = [sense for sense in senses_of(base) if sense.part is part]
        occurrences = sum(sense.frequency for sense in of_part)
        if of_part and occurrences > most:
            best, most = base, occurrences
    return best


def _bases(word: str) -> Iterator[tuple[str, PartOfSpeech]]:
    yield from ((base, part) for base, part in wordnet().irregular().get(word, ()) if part in _ENDINGS)
    for part, endings in _ENDINGS.items():
        for ending, replacement in endings:
            if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
                yield word.removesuffix(ending) + replacement, part


@lru_cache(maxsize=65536)
def usual_sense(word: str, part: PartOfSpeech | None = None) -> Sense | None:
    """The sense in which a word is nearly always used, if it has one.

    Args:
        word: a base form.
        part: the part of speech, if it is known.
    """
    senses = senses_of(word)
    if part is not None:
        senses = tuple(sense for sense in senses if sense.part is part)
    if len(senses) == 1:
        return senses[0]
    total = sum(sense.frequency for sense in senses)
    for first in senses:
        of_part = [sense.frequency for sense in senses if sense.part is first.part]
        if (
            first.frequency >= _LEAST_OCCURRENCES
            and sum(of_part) >= _LEAST_OF_WORD * total
            and first.frequency >= _LEAST_OF_PART * sum(of_part)
        ):
            return first
    return None


@lru_cache(maxsize=65536)
def nouns(word: str) -> tuple[Sense, ...]:
    """The senses as a noun that occur, and the first one; all if none occurs."""
    senses = [sense for sense in senses_of(word) if sense.part is PartOfSpeech.NOUN]
    occurs = any(sense.frequency for sense in senses)
    return tuple(sense for place, sense in enumerate(senses) if sense.frequency or not place or not occurs)


@lru_cache(maxsize=65536)
def are_near(word: str, other: str) -> bool:
    """Whether two nouns may be of one kind, at most three steps apart in WordNet, in a sense that occurs."""
    return any(
        above[kind] + beside[kind] <= _MOST_STEPS
        for own in nouns(word)
        for their in nouns(other)
        for above, beside in [(wordnet().distances(own.synset), wordnet().distances(their.synset))]
        for kind in above.keys() & beside.keys()
    )


@lru_cache(maxsize=65536)
def is_kind_of(word: str, other: str) -> bool:
    """Whether one noun may be a kind of another, or its synonym, in a sense that occurs."""
    above = {sense.synset for sense in nouns(other)}
    is_person = _domains(word) == {"person"}
    return any(
        not above.isdisjoint(wordnet().distances(sense.synset))
        for sense in nouns(word)
        # Some people are called fish or prawns.
        if is_person or domain_of(sense) != "person"
    )


def domain_of(sense: Sense) -> str:
    """The domain of a sense without its part of speech: `animal`, `artifact`, `motion`, ..."""
    return sense.domain.partition(".")[2]


@lru_cache(maxsize=65536)
def are_apart(word: str, other: str) -> bool:
    """Whether two nouns surely name different things: of two concrete domains, or two animals, and neither a kind.

    Two artefacts or two foods are not: their names overlap in ways that WordNet does not know (cup and mug).
    """
    if is_kind_of(word, other) or is_kind_of(other, word):
        return False
    first, second = _domains(word), _domains(other)
    if not (first and second and first | second <= CONCRETE):
        return False
    return first.isdisjoint(second) or first == second == {"animal"}


@lru_cache(maxsize=65536)
def names_thing(word: str) -> bool:
    """Whether a word surely names a thing, an animal or a person: it is a noun only, or nearly always."""
    usual = usual_sense(word)
    if usual is not None:
        return usual.part is PartOfSpeech.NOUN and domain_of(usual) in CONCRETE
    return (
        all(sense.part is PartOfSpeech.NOUN for sense in senses_of(word)) and frozenset() < _domains(word) <= CONCRETE
    )


def is_animal(word: str) -> bool:
    """Whether a word surely names an animal."""
    return _domains(word) == {"animal"}


@lru_cache(maxsize=65536)
def _domains(word: str) -> frozenset[str]:
    """The domains of a noun: that of nearly all its occurrences, else those of all senses that occur."""
    senses = nouns(word)
    occurrences: Counter[str] = Counter()
    for sense in senses:
        occurrences[domain_of(sense)] += sense.frequency
    usual = {domain for domain, count in occurrences.items() if count and count >= _LEAST_OF_WORD * occurrences.total()}
    return frozenset(usual or occurrences)


@lru_cache(maxsize=65536)
def are_of_one_origin(word: str, other: str) -> bool:
    """Whether one word says what another does, in another part of speech: celebrate and celebration.

    Who does it, and what comes of it, is something else: swim and swimmer, build and building.
    """
    if any(domain_of(sense) in CONCRETE for each in (word, other) for sense in nouns(each)):
        return False
    return any(
        derived.lemma == other and all(_is_event(each) for each in (sense, derived))
        for sense in senses_of(word)
        for derived in wordnet().derivations(sense)
        if sense.frequency or derived.frequency
    )


def _is_event(sense: Sense) -> bool:
    return sense.part is not PartOfSpeech.NOUN or domain_of(sense) in _EVENTS


@lru_cache(maxsize=65536)
def may_mean(word: str, other: str) -> bool:
    """Whether one word may be a synonym or a kind of the other, or of its origin, in any sense and part of speech."""
    first, second = ({sense.synset for sense in senses_of(each)} for each in (word, other))
    return (
        any(not second.isdisjoint(wordnet().distances(synset)) for synset in first)
        or any(not first.isdisjoint(wordnet().distances(synset)) for synset in second)
        or any(derived.lemma == other for sense in senses_of(word) for derived in wordnet().derivations(sense))
    )


def may_be_verb(word: str) -> bool:
    """Whether a word is a verb, or WordNet does not have it."""
    senses = senses_of(word)
    return not senses or any(sense.part is PartOfSpeech.VERB for sense in senses)
