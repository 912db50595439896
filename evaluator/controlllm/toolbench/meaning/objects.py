"""Whether a condition names the object or the action that is wanted, and no other, and not more."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import EXCLUDING, concepts_in
from evaluator.controlllm.toolbench.meaning.lexicon import (
    Category,
    Concept,
    lemma,
    makers_of_other_things,
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
    """A name of an object: its head noun, what stands before it, and what after."""

    head: Concept
    before: frozenset[Concept]
    words_before: frozenset[str]
    makers: frozenset[str]
    """Those of them that make something else of the thing: a toy car is no car."""
    after: tuple[str, ...]
    length: int
    """Words beside the head."""


@lru_cache(maxsize=65536)
def compare_objects(wanted: str, given: str, attributes: frozenset[str] = frozenset()) -> Finding:
    """Whether `given` names the object `wanted`.

    Number, spelling, articles and synonyms do not matter. Beside the head noun it may have three words: those that
    `wanted` has or the request has next to the object's name. Another thing ("walrus" for a dog), another attribute
    ("purple", whatever the thing), several objects, an exclusion, or the kind of the thing ("animal" for a dog) make it
    another condition. Undecided are words that the lexicon does not have, and kinds of what is wanted ("puppy").

    Args:
        wanted: the object's name.
        given: the condition.
        attributes: base forms of the words that the request has next to the object's name.
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
    if given.makers - wanted.makers - attributes:
        return DIFFERENT
    extra = given.before - wanted.before
    if wanted.head != given.head:
        is_asked = _is_asked(given=given, wanted=wanted, attributes=attributes)
        # Whatever the head is: no thing of that colour was asked for.
        if not is_asked and any(one.category is Category.QUALITY for one in extra):
            return DIFFERENT
        return _compare_heads(wanted=wanted, given=given, is_asked=is_asked)
    if extra and not _is_asked(given=given, wanted=wanted, attributes=attributes):
        return DIFFERENT
    if set(given.after) - set(wanted.after) - attributes:
        return DIFFERENT
    if wanted.after and set(wanted.after) - set(given.after):
        return Verdict.UNDECIDED, f"it leaves out “{' '.join(wanted.after)}”"
    lacking = wanted.before - given.before
    if any(one.category is Category.QUALITY for one in lacking):
        return DIFFERENT
    if lacking or wanted.makers - given.makers:
        left_out = " ".join(sorted({one.name for one in lacking} | (wanted.makers - given.makers)))
        return Verdict.UNDECIDED, f"it leaves out “{left_out}”"
    return SAME


def _is_asked(*, given: Name, wanted: Name, attributes: frozenset[str]) -> bool:
    """Whether the request itself has every word that the condition has before the name."""
    return given.words_before <= wanted.words_before | attributes


def _compare_heads(*, wanted: Name, given: Name, is_asked: bool) -> Finding:
    """Compare names with different heads. `is_asked`: whether the request has what stands before the given one."""
    heads = wanted.head, given.head
    if Category.UNKNOWN not in {head.category for head in heads}:
        if may_be(wanted.head, given.head) and is_asked:
            return Verdict.UNDECIDED, f"a {given.head.name} is only one kind of {wanted.head.name}"
        return DIFFERENT
    if given.head.category is not Category.UNKNOWN:
        # The request's word is rare. A name that the rules know is that of something else, or of its kind.
        is_kind = bool(wanted.before) and given.head in wanted.before
        return (Verdict.UNDECIDED, f"the rules do not know “{wanted.head.name}”") if is_kind else DIFFERENT
    return Verdict.UNDECIDED, f"the rules do not know whether “{given.head.name}” is “{wanted.head.name}”"


def _joined(name: str) -> str:
    return "".join(word for word in base_forms(name) if word not in _FILLERS)


@lru_cache(maxsize=16384)
def name_of(text: str) -> Name | None:
    """Read the name of an object; None if the text has none."""
    sentence = f" {' '.join(base_forms(text))} "
    whole = _without_place(sentence)
    found = _PREPOSITION.search(whole)
    front, after = (whole[: found.start()], whole[found.start() :]) if found and found.start() else (whole, "")
    words = _plain(front.split())
    if not words:
        return None
    read = concepts_in(words, plain=frozenset())
    head, before = read[-1], read[:-1]
    words_before = frozenset(words[:-1] if before else ())
    rest = _plain(after.split())
    return Name(
        head=head,
        before=frozenset(before),
        words_before=words_before,
        makers=words_before & makers_of_other_things(),
        after=tuple(rest),
        length=len(words) - 1 + len(rest),
    )


def _without_place(sentence: str) -> str:
    """Without "in the image" at its end."""
    return _IN_IMAGE.sub(" ", sentence)


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _FILLERS]


_WORD = re.compile(r"[a-z0-9]+")
_ACTION_FILLERS = words_of("plain_words", "actions")["fillers"]


@lru_cache(maxsize=65536)
def compare_actions(wanted: str, given: str) -> Verdict:
    """Whether `given` names the wanted action; words such as "movement" or "training" do not count.

    All wanted words must be there in some inflection; or the action itself and most of the others. Beside them there
    may be three words; the whole request is no condition.
    """
    if names_file(given) or (EXCLUDING.search(given.lower()) and not EXCLUDING.search(wanted.lower())):
        return Verdict.DIFFERENT
    first, second = _forms(wanted), _forms(given)
    if not first or not second or len(_WORD.findall(given.lower())) > len(first) + MOST_BESIDE:
        return Verdict.DIFFERENT
    if set(first) <= set(second) or _is_joined(first, second):
        return Verdict.SAME
    doing = {_stem(word) for word in _WORD.findall(wanted.lower()) if word.endswith("ing")}
    most = len(set(second)) * 3 >= len(set(first)) * 2
    return Verdict.of(set(second) < set(first) and doing <= set(second) and most)


def _is_joined(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """`glassblowing` is `blowing glass`."""
    joined = "".join(second)
    return len(second) == 1 and len(first) == 2 and joined in {first[0] + first[1], first[1] + first[0]}


def _forms(phrase: str) -> tuple[str, ...]:
    words = _WORD.findall(phrase.lower().replace("-", " "))
    return tuple(_stem(word) for word in words if word not in _ACTION_FILLERS)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """A word without its inflection: playing, plays, played and play are one."""
    return lemma(word).removesuffix("e")
