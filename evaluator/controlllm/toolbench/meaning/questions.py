"""Whether two questions ask the same, two prompts show the same, and a text asks a tool for what is wanted."""

import re
from enum import StrEnum
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import (
    Frame,
    alike,
    concepts_in,
    frame_of,
    polite_removed,
    weak_asks,
    with_asks,
)
from evaluator.controlllm.toolbench.meaning.lexicon import (
    PERSONS,
    Category,
    Concept,
    are_related,
    lists,
    may_be,
    plain_words,
    readings,
    vague_doings,
    words_of_prompts,
)
from evaluator.controlllm.toolbench.meaning.objects import compare_objects
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import DIFFERENT, SAME, Finding, Verdict

_TELLING = frozenset({Category.QUALITY, Category.RELATION, Category.NUMBER})
"""Without such a word, or with one more, it is another question."""
_PLACED = frozenset({Category.THING, Category.DOING, Category.RELATION, Category.UNKNOWN})
_VERBS = frozenset({Category.DOING, Category.RELATION})
_EITHER_WAY = frozenset({"next to", "opposite"})
"""If the one is there from the other, so is the other from the one."""
_OF_THINGS = frozenset({"contents", "seen"})
_NEAR = 0.5
_MOST_APART = 2
"""Two questions are near if they share half of their concepts at least, and the wanted one has two at most that the
other has not: then what differs is what makes two questions of them."""
_SUFFIXES = tuple(lists("lemmas")["suffixes"])
_LEAST_STEM = 4


@lru_cache(maxsize=65536)
def compare_questions(wanted: str, given: str) -> Finding:
    """Whether `given` asks what `wanted` asks: the same kind of question, the same thing asked, of the same target.

    Dropping or adding a quality, a place relative to something, a number or an exclusion makes it another question.
    Words that the lexicon does not have leave the verdict undecided.
    """
    if base_forms(wanted) == base_forms(given):
        return SAME
    return compare_frames(wanted=frame_of(wanted), given=frame_of(given))


def compare_frames(*, wanted: Frame, given: Frame) -> Finding:
    """Compare two questions that were read.

    They differ only where the rules know it: where both speak of the same in other respects. Two questions without a
    common word may be one question in other words.
    """
    if given.says_nothing:
        return DIFFERENT
    missing, extra = left_over(wanted.content, given.content)
    is_near = (
        len(missing) <= _MOST_APART
        and _share(wanted.content, missing) >= _NEAR
        and _share(given.content, extra) >= _NEAR
    )
    if wanted.is_negated != given.is_negated:
        return DIFFERENT if is_near else (Verdict.UNDECIDED, "only one of them excludes or denies something")
    asked = _compare_asks(wanted=wanted, given=given, is_near=is_near)
    told = _compare_content(missing=missing, extra=extra, is_near=is_near)
    if Verdict.DIFFERENT in {asked[0], told[0]}:
        return DIFFERENT
    if asked[0] is Verdict.UNDECIDED or told[0] is Verdict.UNDECIDED:
        return Verdict.UNDECIDED, told[1] or asked[1]
    return _compare_order(wanted, given)


def _compare_order(wanted: Frame, given: Frame) -> Finding:
    """Compare questions that have the same words."""
    if is_reversed(wanted, given):
        return Verdict.UNDECIDED, "it is not clear who does it to whom"
    for thing, place in wanted.places.items():
        if given.places.get(thing, place) != place:
            return Verdict.UNDECIDED, f"it says “{given.places[thing]}” and not “{place}” of “{thing}”"
    return SAME


def _share(content: tuple[Concept, ...], own: list[Concept]) -> float:
    """Share of the concepts that both have."""
    return 1 - len(own) / len(content) if content else 1.0


def _compare_asks(*, wanted: Frame, given: Frame, is_near: bool) -> Finding:
    first, second = wanted.asks, given.asks
    only_wanted, only_given = first - second, second - first
    words = f"one asks for {_words(only_wanted or first)}, the other for {_words(only_given or second)}"
    unlike: Finding = DIFFERENT if is_near else (Verdict.UNDECIDED, words)
    if first == second:
        return SAME if first or wanted.is_yes_or_no == given.is_yes_or_no else unlike
    if first & second:
        return Verdict.UNDECIDED, words
    if first and second:
        is_alike = any(alike().get(one, frozenset()) & second for one in first)
        # Where only a weak ask is found, the phrase that asks may be one that the rules do not know.
        is_alike |= (first <= weak_asks() or second <= weak_asks()) and wanted.is_yes_or_no == given.is_yes_or_no
        return (Verdict.UNDECIDED, words) if is_alike else unlike
    if (first or second) <= _OF_THINGS and is_near and wanted.is_yes_or_no == given.is_yes_or_no:
        # "What object is on the table?" is "what is on the table?"
        return SAME if wanted.content else (Verdict.UNDECIDED, words)
    if wanted.is_yes_or_no != given.is_yes_or_no or _ask_by_doing(wanted, given) or _ask_by_doing(given, wanted):
        return unlike
    return Verdict.UNDECIDED, words


def _ask_by_doing(first: Frame, second: Frame) -> bool:
    """Whether only the first asks for what somebody does something to or with ("What does the dog eat?")."""
    own = [one for one in first.content if one not in second.content]
    return not first.asks and any(one.category is Category.DOING for one in own)


def _words(asks: frozenset[str]) -> str:
    return " and ".join(sorted(ask.replace("_", " ") for ask in asks)) or "something else"


def _compare_content(*, missing: list[Concept], extra: list[Concept], is_near: bool) -> Finding:
    if not missing and not extra:
        return SAME
    left = (*missing, *extra)
    is_known = all(one.category is not Category.UNKNOWN for one in left)
    if is_known and any(_are_two_things(one, other) for one in missing for other in extra):
        return DIFFERENT
    if is_near and any(_exclude(one, other) for one in missing for other in extra):
        return DIFFERENT
    if is_near and is_known and (not missing or not extra) and any(one.category in _TELLING for one in left):
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


def not_understood(*, missing: list[Concept], extra: list[Concept]) -> str:
    """Which phrases leave it undecided, from what only the wanted text says and what only the given one does."""
    if unknown := [one for one in (*missing, *extra) if one.category is Category.UNKNOWN]:
        return f"the rules do not know {_quoted(unknown)}"
    if not extra:
        return f"it does not say {_quoted(missing)}"
    if not missing:
        return f"it adds {_quoted(extra)}"
    return f"it says {_quoted(extra)} and not {_quoted(missing)}"


def _quoted(concepts: list[Concept]) -> str:
    return ", ".join(f"“{one.name}”" for one in concepts[:4])


def _are_two_things(first: Concept, second: Concept) -> bool:
    is_thing = first.category is second.category is Category.THING
    return is_thing and first.dimension == second.dimension == "objects" and not are_related(first, second)


def _exclude(first: Concept, second: Concept) -> bool:
    """Whether two concepts, each in one question only, make two questions of them."""
    if first.category is second.category is Category.QUALITY:
        return first.dimension == second.dimension
    shared = _readings(first) & _readings(second)
    if shared & {Category.RELATION, Category.NUMBER} or (
        Category.DOING in shared and vague_doings().isdisjoint({first.name, second.name})
    ):
        return True
    is_role = "roles" in {first.dimension, second.dimension} and bool(PERSONS & {first.name, second.name})
    return first.category is second.category is Category.THING and not is_role and not are_related(first, second)


def _readings(concept: Concept) -> frozenset[Category]:
    return readings().get(concept.name, frozenset({concept.category}))


def left_over(wanted: tuple[Concept, ...], given: tuple[Concept, ...]) -> tuple[list[Concept], list[Concept]]:
    """What only the wanted and only the given one says. Unknown words of one stem are the same, and so are a word and
    its parts ("salt shaker")."""
    stems = {_stem(one.name) for one in given}, {_stem(one.name) for one in wanted}
    missing = [one for one in wanted if one not in given and not _has_stem(one, stems[0])]
    extra = [one for one in given if one not in wanted and not _has_stem(one, stems[1])]
    if "".join(one.name for one in missing) == "".join(one.name for one in extra):
        return [], []
    return missing, extra


def _has_stem(concept: Concept, stems: set[str]) -> bool:
    return concept.category is not Category.NUMBER and _stem(concept.name) in stems


@lru_cache(maxsize=16384)
def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LEAST_STEM:
            return word.removesuffix(suffix)
    return word


def is_reversed(wanted: Frame, given: Frame) -> bool:
    """Whether things change places around what one does to the other, or where it is from the other; or whether only
    one of the questions is in the passive, or what is done is done to, about or with."""
    if wanted.particles and given.particles and wanted.particles != given.particles:
        return True
    if not (wanted.has_verb or given.has_verb):
        return _is_inverted(wanted, given)
    if wanted.is_passive != given.is_passive or _is_inverted(wanted, given):
        return True
    common = [one for one in wanted.content if one in given.content and one.category in _PLACED]
    return _sides(wanted, common) != _sides(given, common)


def _is_inverted(wanted: Frame, given: Frame) -> bool:
    """Whether one asks who does it, and the other whom it is done to."""
    if wanted.asks - {"who"} or None in {wanted.asks_for_subject, given.asks_for_subject}:
        return False
    return wanted.asks_for_subject != given.asks_for_subject


def _sides(frame: Frame, common: list[Concept]) -> list[frozenset[Concept]]:
    """The things before, between and after what is done; each of them in order where the rules know no verb."""
    placed = [one for one in frame.content if one in common and one.name not in _EITHER_WAY]
    if not any(one.category in _VERBS for one in placed):
        return [frozenset({one}) for one in placed]
    sides: list[set[Concept]] = [set()]
    for one in placed:
        if one.category in _VERBS:
            sides += [{one}, set()]
        else:
            sides[-1].add(one)
    return [frozenset(side) for side in sides if side]


LONG = 25
"""Words from which on a text is compared as a whole; shorter ones as questions."""
MOST_AROUND = 12
"""Words that may stand around a text that is repeated as it is ("Please answer this question: ...")."""
LEAST_SHARE = 0.4
"""Share of the wanted concepts below which a text is another one, above which it is undecided."""
_NEEDED = frozenset({Category.THING, Category.NUMBER, Category.DOING})
_DISTINCT = frozenset({"colour", "size", "age", "modernity", "side", "heat", "brightness"})


@lru_cache(maxsize=65536)
def compare_prompts(wanted: str, given: str, asked: frozenset[str] = frozenset()) -> Finding:
    """Whether a prompt asks for the picture that is wanted: everything that it is to show, and nothing else but what
    the request itself speaks of.

    Args:
        wanted: what the picture is to show.
        given: the prompt.
        asked: base forms of all words of the request.
    """
    if base_forms(wanted) == base_forms(given):
        return SAME
    first, second = _shown(wanted), _shown(given)
    missing, extra = left_over(first, second)
    extra = [one for one in extra if not set(one.name.split()) <= asked]
    # A puppy may be the dog that is wanted, a walrus is not.
    unmet = [one for one in missing if not any(are_related(one, other) or may_be(one, other) for other in extra)]
    if first and len(unmet) == len(first):
        return DIFFERENT
    if frame_of(wanted).is_negated != frame_of(given).is_negated:
        return Verdict.UNDECIDED, "only one of them excludes or denies something"
    if not missing and not extra:
        is_clear = not is_reversed(frame_of(wanted), frame_of(given))
        return SAME if is_clear else (Verdict.UNDECIDED, "it is not clear who does it to whom")
    is_told_otherwise = any(one.category in {Category.UNKNOWN, Category.DOING} for one in extra)
    if not is_told_otherwise and any(one.category in _NEEDED or one.dimension in _DISTINCT for one in unmet):
        return DIFFERENT
    if 1 - len(unmet) / max(len(first), 1) < LEAST_SHARE:
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


@lru_cache(maxsize=16384)
def _shown(text: str) -> tuple[Concept, ...]:
    plain = plain_words() | words_of_prompts()
    return tuple(dict.fromkeys(concepts_in(base_forms(text), plain=plain)))


def compare_verbatim(wanted: str, given: str) -> Verdict:
    """Whether a text is handed on as the request gives it: with the same words, whatever quotes are around them."""
    first, second = (" ".join(text.strip(" \t\n\"'“”„").split()) for text in (wanted, given))
    return Verdict.of(first == second)


@lru_cache(maxsize=65536)
def compare_texts(wanted: str, given: str) -> Finding:
    """Whether a text asks a language model for what is wanted."""
    first, second = base_forms(wanted), base_forms(given)
    if first == second:
        return SAME
    if first and len(second) - len(first) <= MOST_AROUND and f" {' '.join(first)} " in f" {' '.join(second)} ":
        return SAME
    if len(first) <= LONG:
        return compare_questions(wanted, given)
    missing, extra = left_over(tuple(concepts_in(first)), tuple(concepts_in(second)))
    if not missing and not extra:
        return SAME
    share = 1 - len(missing) / len(first)
    if share < LEAST_SHARE or len(missing) == len(concepts_in(first)):
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


_REMOVAL = re.compile(r"^(?:.*? )?(?:<removing>|without) (?P<object>.+?)(?: from .*| in .*| of .*)?$")
_MADE_GOOD = re.compile(r" (?:and|then|by|so that)? ?(?:fill|restore|complete|blend|reconstruct|leave|make it look).*$")
_OTHER_CHANGES = re.compile(r"\b(?:add|insert|keep|only|not|except|but|instead|replace|change|turn)\b")
_SEEKING = re.compile(
    r"^(?:please |can you |could you )*(?:find|locate|detect|ground|where be|show(?: me)?|highlight|mark|look for"
    r"|search for|identify|point out|the location of|the position of|segment|spot|select)(?: out)? "
)
_OPEN = frozenset({"description", "seen", "happening"})
_LISTS = frozenset({"contents", "seen"})


class Intent(StrEnum):
    """What is asked of a model that takes a text."""

    COUNT = "count"
    PRESENCE = "presence"
    REMOVE = "remove"
    GROUND = "ground"
    DESCRIBE = "describe"
    LIST = "list"


_ABOUT_OBJECTS = {Intent.COUNT: "how many {}", Intent.PRESENCE: "is there a {}"}


@lru_cache(maxsize=65536)
def compare_intent(text: str, intent: Intent, about: str, attributes: frozenset[str] = frozenset()) -> Finding:
    """Whether a text asks for this, about an object.

    Args:
        text: what the plan says.
        intent: what is to be asked.
        about: the object; for a list one that is asked for besides; empty: none.
        attributes: base forms of the words that the request has next to the object's name.
    """
    if intent is Intent.GROUND:
        sought = _SEEKING.sub("", " ".join(base_forms(text)))
        return DIFFERENT if names_file(text) else compare_objects(about, sought, attributes)
    if intent is Intent.REMOVE:
        return _compare_removal(text=text, about=about, attributes=attributes)
    given = frame_of(text)
    if intent in _ABOUT_OBJECTS:
        return _compare_about_object(wanted=frame_of(_ABOUT_OBJECTS[intent].format(about)), given=given)
    return _compare_open(given=given, about=about, asks=_LISTS if intent is Intent.LIST else _OPEN)


def _compare_about_object(*, wanted: Frame, given: Frame) -> Finding:
    is_other = given.content and not set(given.content) & set(wanted.content)
    if is_other and all(one.category is not Category.UNKNOWN for one in given.content):
        # The request's word may be rare; the rules know what is asked about instead.
        return DIFFERENT
    return compare_frames(wanted=wanted, given=given)


def _compare_open(*, given: Frame, about: str, asks: frozenset[str]) -> Finding:
    """Compare a question about a whole picture."""
    if not given.asks or not given.asks <= asks:
        return DIFFERENT
    if given.is_negated:
        return Verdict.UNDECIDED, "it excludes or denies something"
    besides = frame_of(about).content if about else ()
    content = tuple(one for one in given.content if one not in besides)
    if not content:
        return SAME
    if all(one.category is not Category.UNKNOWN for one in content):
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=[], extra=list(content))


def _compare_removal(*, text: str, about: str, attributes: frozenset[str]) -> Finding:
    sentence = _MADE_GOOD.sub("", polite_removed(" ".join(base_forms(text))))
    if _OTHER_CHANGES.search(sentence):
        return DIFFERENT
    found = _REMOVAL.match(" ".join(with_asks(sentence).split()))
    return DIFFERENT if found is None else compare_objects(about, found["object"], attributes)
