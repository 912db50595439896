"""Compares a condition with the name of the wanted object or action."""

import re
from dataclasses import dataclass
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import EXCLUDING, concepts_in
from evaluator.controlllm.toolbench.meaning.lexicon import (
    Category,
    Concept,
    compound_modifiers,
    lemma,
    may_be,
    words_of,
)
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import DIFFERENT, SAME, Finding, Verdict

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
    lowered = given.lower()
    if names_file(given) or (_SEVERAL.search(lowered) and not _SEVERAL.search(wanted.lower())):
        return DIFFERENT
    if EXCLUDING.search(lowered) and not EXCLUDING.search(wanted.lower()):
        return DIFFERENT
    if _joined(wanted) == _joined(given):
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
    if Category.UNKNOWN not in {wanted.head.category, given.head.category}:
        if may_be(wanted.head, given.head) and is_in_request:
            return Verdict.UNDECIDED, f"a {given.head.name} is only one kind of {wanted.head.name}"
        return DIFFERENT
    if given.head.category is not Category.UNKNOWN:
        # The request's word is rare. A known name is that of another object or of a hypernym.
        is_hypernym = given.head in wanted.before
        return (Verdict.UNDECIDED, f"the rules do not know “{wanted.head.name}”") if is_hypernym else DIFFERENT
    return Verdict.UNDECIDED, f"the rules do not know whether “{given.head.name}” is “{wanted.head.name}”"


def _joined(name: str) -> str:
    return "".join(word for word in base_forms(name) if word not in _FILLERS)


@lru_cache(maxsize=16384)
def name_of(text: str) -> Name | None:
    """Parse the name of an object; None if the text has none."""
    sentence = _IN_IMAGE.sub(" ", f" {' '.join(base_forms(text))} ")
    preposition = _PREPOSITION.search(sentence)
    split = preposition.start() if preposition and preposition.start() else len(sentence)
    words, after = (
        [word for word in part.split() if word not in _FILLERS] for part in (sentence[:split], sentence[split:])
    )
    if not words:
        return None
    *before, head = concepts_in(words, plain=frozenset())
    words_before = frozenset(words[:-1] if before else ())
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
def compare_actions(wanted: str, given: str) -> Verdict:
    """Whether `given` names the wanted action; words such as "movement" or "training" do not count.

    It must have all wanted words in any inflection, or the verb and most of the others, and at most three words more:
    the whole request is no condition.
    """
    if names_file(given) or (EXCLUDING.search(given.lower()) and not EXCLUDING.search(wanted.lower())):
        return Verdict.DIFFERENT
    first, second = _forms(wanted), _forms(given)
    if not first or not second or len(_WORD.findall(given.lower())) > len(first) + MOST_BESIDE:
        return Verdict.DIFFERENT
    # "glassblowing" is "blowing glass".
    compounds = {first[0] + first[1], first[1] + first[0]} if len(first) == 2 else set()
    if set(first) <= set(second) or (len(second) == 1 and second[0] in compounds):
        return Verdict.SAME
    doing = {_stem(word) for word in _WORD.findall(wanted.lower()) if word.endswith("ing")}
    most = len(set(second)) * 3 >= len(set(first)) * 2
    return Verdict.of(set(second) < set(first) and doing <= set(second) and most)


def _forms(phrase: str) -> tuple[str, ...]:
    words = _WORD.findall(phrase.lower().replace("-", " "))
    return tuple(_stem(word) for word in words if word not in _ACTION_FILLERS)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return lemma(word).removesuffix("e")
