"""Compares a condition with the name of the wanted object or action."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from evaluator.controlllm.toolbench.meaning.frames import EXCLUDING, concept_of_name, concepts_in
from evaluator.controlllm.toolbench.meaning.lexicon import (
    Category,
    Concept,
    are_apart,
    are_related,
    compound_modifiers,
    lemma,
    may_be,
    vague_doings,
    words_of,
)
from evaluator.controlllm.toolbench.meaning.sentences import LONGEST, base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import DIFFERENT, SAME, Finding, Verdict
from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech
from evaluator.controlllm.toolbench.meaning.words import may_mean, usual_sense

MOST_BESIDE = 3
"""Words beside the head noun that a condition may have."""
_FILLERS = words_of("plain_words", "objects")["fillers"]
_PREPOSITION = re.compile(
    r" (?:of|next to|near|beside|behind|under|above|below|on|in|with|hold|wear|from|at|between|left of|right of"
    r"|that|which|who|to the) "
)
_IN_IMAGE = re.compile(
    r" (?:in|on|of|from|within) (?:the |this |that |a )?(?:give |provide |input )?"
    r"(?:image|picture|photo|photograph|scene|frame|file) $"
)
_IN_FILE = re.compile(
    r"\s+(?:(?:that|which) (?:is|are|can be) )?(?:(?:shown|seen|found|visible|present|depicted) )?"
    r"(?:in|of|from|within)(?: the)?(?: (?:image|picture|photo|file))?"
    r" \S+\.\w{2,5}(?: (?:image|picture|photo|file))?\W*$",
    re.IGNORECASE,
)
_PAIR_OF = re.compile(r"^ (?:(?:a|an|the|any) )?(?:pair|piece) of ")
"""Words before a name that is counted in pairs or pieces: a pair of scissors, a piece of luggage."""
_SEVERAL = re.compile(r" (?:and|or|as well as|plus) |[,;/&+]")


@dataclass(frozen=True, slots=True)
class Name:
    """A parsed name of an object: its head noun with the words before and after it."""

    head: Concept
    before: frozenset[Concept]
    words_before: frozenset[str]
    modifiers: frozenset[str]
    """Words before the head that make it something else: a toy car is no car."""
    after: tuple[str, ...]
    length: int
    """Words beside the head."""


@lru_cache(maxsize=65536)
def compare_objects(wanted: str, given: str, attributes: frozenset[str] = frozenset()) -> Finding:
    """Whether `given` names the object `wanted`.

    Number, spelling, articles and synonyms do not matter. Beside the head noun it may have up to three words of
    `wanted`, or of the request next to the object's name. Different are another object ("walrus" for a dog), another
    attribute ("purple"), several objects, an exclusion, and a hypernym ("animal" for a dog). Undecided are words that
    the lexicon does not have, and hyponyms ("puppy").

    Args:
        wanted: the object's name.
        given: the condition.
        attributes: base forms of the words next to the object's name in the request.
    """
    given = _without_place(given)
    lowered = given.lower()
    if names_file(given) or (_SEVERAL.search(lowered) and not _SEVERAL.search(wanted.lower())):
        return DIFFERENT
    if EXCLUDING.search(lowered) and not EXCLUDING.search(wanted.lower()):
        return DIFFERENT
    if _joined(wanted) == _joined(given) or _letters(wanted) == _letters(given):
        return SAME
    if _are_synonyms(wanted, given):
        return SAME
    first, second = name_of(wanted), name_of(given)
    if first is None or second is None or second.length > first.length + MOST_BESIDE:
        return DIFFERENT
    return _compare_names(wanted=first, given=second, attributes=attributes)


def _compare_names(*, wanted: Name, given: Name, attributes: frozenset[str]) -> Finding:
    if given.modifiers - wanted.modifiers - attributes:
        return DIFFERENT
    extra = given.before - wanted.before
    is_in_request = given.words_before <= wanted.words_before | attributes
    if wanted.head != given.head:
        # Whatever the head is: the request names no object of that quality.
        if not is_in_request and any(concept.category is Category.QUALITY for concept in extra):
            return DIFFERENT
        return _compare_heads(wanted=wanted, given=given, is_in_request=is_in_request)
    if (extra and not is_in_request) or set(given.after) - set(wanted.after) - attributes:
        return DIFFERENT
    if set(wanted.after) - set(given.after):
        return Verdict.UNDECIDED, f"it omits “{' '.join(wanted.after)}”"
    missing = wanted.before - given.before
    if any(concept.category is Category.QUALITY for concept in missing):
        return DIFFERENT
    names = {concept.name for concept in missing} | (wanted.modifiers - given.modifiers)
    return (Verdict.UNDECIDED, f"it omits “{' '.join(sorted(names))}”") if names else SAME


def _compare_heads(*, wanted: Name, given: Name, is_in_request: bool) -> Finding:
    """Compare names with different heads. `is_in_request`: whether the request has the words before the given head."""
    first, second = wanted.head, given.head
    if _is_compound_of(second, first) and not is_in_request:
        # A police car or school bus is not what the request calls a car or bus.
        return DIFFERENT
    if Category.UNKNOWN not in {first.category, second.category}:
        if may_be(first, second) and is_in_request:
            return Verdict.UNDECIDED, f"a {second.name} is only one kind of {first.name}"
        is_hypernym = second.is_listed and are_related(first, second) and not _is_compound_of(first, second)
        if are_apart(first, second) or is_hypernym or (first.is_listed and second.is_listed):
            return DIFFERENT
    elif second.is_listed and not are_related(first, second) and second not in wanted.before:
        # The request's word is rare. A known name is that of another object.
        return DIFFERENT
    return Verdict.UNDECIDED, f"the rules do not know whether “{second.name}” is “{first.name}”"


def _is_compound_of(concept: Concept, head: Concept) -> bool:
    """Whether a name of several words that the lexicon does not list ends in the name of another concept."""
    *others, last = concept.name.split()
    return bool(others) and not concept.is_listed and concept_of_name(last) == head


def _joined(name: str) -> str:
    return "".join(word for word in base_forms(name) if word not in _FILLERS)


def _letters(name: str) -> str:
    """Its letters and digits: a chain saw is a chainsaw, though "saw" is also a form of "see"."""
    return "".join(filter(str.isalnum, name.lower()))


def _without_place(name: str) -> str:
    """A name without "in a.png" at its end: the tool has no other picture."""
    if len(name) > LONGEST or not names_file(name):
        return name
    # Single spaces, since the expression takes quadratic time in long ones.
    shorter = _IN_FILE.sub("", " ".join(name.split()))
    return shorter if shorter.strip() and not names_file(shorter) else name


def _are_synonyms(wanted: str, given: str) -> bool:
    """Whether WordNet has both as whole names, of which at least one has several words, of one usual sense."""
    return _are_one_thing(
        *(" ".join(word for word in base_forms(text) if word not in _FILLERS) for text in (wanted, given))
    )


def _are_one_thing(one: str, other: str) -> bool:
    if " " not in one + other:
        return False
    first, second = (usual_sense(name, PartOfSpeech.NOUN) for name in (one, other))
    return first is not None and second is not None and first.synset == second.synset


_LONGEST_NAME = 3
"""Words of a name in WordNet that is looked for in a sentence."""


def with_name(*, text: str, name: str) -> str:
    """A text where `name` takes the place of its synonyms of several words: "toilet paper" for a "bathroom tissue"."""
    wanted = " ".join(word for word in base_forms(name) if word not in _FILLERS)
    words = list(_WORD.finditer(text.lower()))
    for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
        for first, last in zip(words, words[length - 1 :], strict=False):
            span = slice(first.start(), last.end())
            if _are_one_thing(wanted, " ".join(base_forms(text[span]))):
                return text[: span.start] + name + text[span.stop :]
    return text


@lru_cache(maxsize=16384)
def name_of(text: str) -> Name | None:
    """Parse the name of an object; None if the text has none."""
    sentence = _PAIR_OF.sub(" ", _IN_IMAGE.sub(" ", f" {' '.join(base_forms(text))} "))
    preposition = _PREPOSITION.search(sentence)
    split = preposition.start() if preposition and preposition.start() else len(sentence)
    words, after = (
        [word for word in part.split() if word not in _FILLERS] for part in (sentence[:split], sentence[split:])
    )
    if not words:
        return None
    *before, head = concepts_in(words, plain=frozenset())
    # A listed name of several words is one name; of others, those before the last may make it something else.
    words_before = frozenset(words[:-1] if before or not head.is_listed else ())
    return Name(
        head=head,
        before=frozenset(before),
        words_before=words_before,
        modifiers=words_before & compound_modifiers(),
        after=tuple(after),
        length=len(words) - 1 + len(after),
    )


_WORD = re.compile(r"[a-z0-9]+")
_ACTION_FILLERS = words_of("plain_words", "actions")["fillers"]


@lru_cache(maxsize=65536)
def compare_actions(wanted: str, given: str) -> Finding:
    """Whether `given` names the wanted action; words such as "movement" or "training" do not count.

    It is the same with all wanted words in any inflection, or the verb and most of the others, and at most three words
    more: the whole request is no condition. Other words leave it undecided, unless the rules know that they name
    another object, or another doing with the same object.
    """
    if names_file(given) or (EXCLUDING.search(given.lower()) and not EXCLUDING.search(wanted.lower())):
        return DIFFERENT
    first, second = _forms(wanted), _forms(given)
    if not first or not second or len(_WORD.findall(given.lower())) > len(first) + MOST_BESIDE:
        return DIFFERENT
    if _is_verb_of(wanted, given) or _is_verb_of(given, wanted):
        return SAME
    stems = tuple(first)
    # "glassblowing" is "blowing glass".
    compounds = {stems[0] + stems[1], stems[1] + stems[0]} if len(stems) == 2 else set()
    if set(first) <= set(second) or (len(second) == 1 and not compounds.isdisjoint(second)):
        return SAME
    if set(second) < set(first):
        doing = {_stem(word) for word in _WORD.findall(wanted.lower()) if word.endswith("ing")}
        most = len(second) * 3 >= len(first) * 2
        return SAME if doing <= set(second) and most else DIFFERENT
    missing = [base for stem, base in first.items() if stem not in second]
    extra = [base for stem, base in second.items() if stem not in first]
    is_rest_equal = len(missing) == len(extra) == 1
    if any(_are_two_actions(old, new, is_rest_equal=is_rest_equal) for old, new in product(missing, extra)):
        return DIFFERENT
    return Verdict.UNDECIDED, f"it says “{' '.join(extra)}” and not “{' '.join(missing)}”"


_LIGHT_VERBS = frozenset({"ride", "play", "do", "perform"})


def _is_verb_of(phrase: str, word: str) -> bool:
    """Whether a word is the verb for a phrase with a verb that says little: unicycling is riding a unicycle."""
    verb, *nouns = [lemma(each) for each in _WORD.findall(phrase.lower()) if each not in _ACTION_FILLERS] or [""]
    if verb not in _LIGHT_VERBS or len(nouns) != 1 or not word.lower().strip().endswith("ing"):
        return False
    return _WORD.fullmatch(word.lower().strip()) is not None and _stem(word.lower().strip()) == _stem(nouns[0])


def _are_two_actions(wanted: str, given: str, *, is_rest_equal: bool) -> bool:
    """Whether the rules know that an action with one word is not that with the other."""
    first, second = concept_of_name(wanted), concept_of_name(given)
    if first.category is second.category is Category.THING:
        is_object = {first.dimension, second.dimension} <= {"objects", ""}
        return is_object and are_apart(first, second) and not may_mean(wanted, given)
    if not is_rest_equal or first == second or may_mean(wanted, given):
        return False
    are_doings = first.category is second.category is Category.DOING
    return are_doings and vague_doings().isdisjoint({first.name, second.name})


def _forms(phrase: str) -> dict[str, str]:
    """The stems of the words that count, in order, with their base forms."""
    words = _WORD.findall(phrase.lower().replace("-", " "))
    return {_stem(word): lemma(word) for word in words if word not in _ACTION_FILLERS}


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return lemma(word).removesuffix("e")
