"""Compares the meaning of questions, prompts and messages, and of texts with what a tool must be asked for."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise, product

from evaluator.controlllm.toolbench.meaning.frames import (
    NEGATIONS,
    Frame,
    alike,
    concepts_in,
    frame_of,
    weak_asks,
)
from evaluator.controlllm.toolbench.meaning.lexicon import (
    PERSONS,
    Category,
    Concept,
    are_apart,
    are_related,
    lists,
    may_be,
    plain_words,
    readings,
    vague_doings,
    words_of_announcing,
    words_of_prompts,
)
from evaluator.controlllm.toolbench.meaning.sentences import base_forms
from evaluator.controlllm.toolbench.meaning.verdict import DIFFERENT, SAME, Finding, Verdict
from evaluator.controlllm.toolbench.meaning.words import are_of_one_origin, senses_of

_DISTINCTIVE = frozenset({Category.QUALITY, Category.RELATION, Category.NUMBER})
"""Dropping or adding a word of these categories makes another question."""
_PLACED = frozenset({Category.THING, Category.DOING, Category.RELATION, Category.UNKNOWN})
_VERBS = frozenset({Category.DOING, Category.RELATION})
_NAMES = frozenset({Category.THING, Category.UNKNOWN})
_SYMMETRIC = frozenset({"next to", "opposite"})
"""Relations that hold in both directions."""
_OF_THINGS = frozenset({"contents", "seen"})
_NEAR = 0.5
_MOST_APART = 2
"""Two questions are near if each shares at least half of its concepts, and the other lacks at most two of the wanted
one's. The difference then makes them two questions."""
_SUFFIXES = tuple(lists("lemmas")["suffixes"])
_LEAST_STEM = 4


@lru_cache(maxsize=65536)
def compare_questions(wanted: str, given: str) -> Finding:
    """Whether `given` has the meaning of `wanted`: the same kind of question, ask and target.

    Dropping or adding a quality, a relative place, a number or an exclusion makes it another question. Words that the
    lexicon does not have leave the verdict undecided.
    """
    if base_forms(wanted) == base_forms(given):
        return SAME
    return compare_frames(wanted=frame_of(wanted), given=frame_of(given))


def compare_frames(*, wanted: Frame, given: Frame) -> Finding:
    """Compare two parsed questions.

    They differ only if they are near and the rules know the difference: questions without a common word may be
    paraphrases.
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
    asks = _compare_asks(wanted=wanted, given=given, is_near=is_near)
    content = _compare_content(missing=missing, extra=extra, is_near=is_near)
    if content == DIFFERENT and _may_be_placed_in_other_words(missing, extra, given):
        content = Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)
    if Verdict.DIFFERENT in {asks[0], content[0]}:
        return DIFFERENT
    if Verdict.UNDECIDED in {asks[0], content[0]}:
        return Verdict.UNDECIDED, content[1] or asks[1]
    if is_reversed(wanted, given):
        return Verdict.UNDECIDED, "it is not clear who does it to whom"
    for thing, place in wanted.places.items():
        if given.places.get(thing, place) != place:
            return Verdict.UNDECIDED, f"it says “{given.places[thing]}” and not “{place}” of “{thing}”"
    return SAME


def _may_be_placed_in_other_words(missing: list[Concept], extra: list[Concept], given: Frame) -> bool:
    """Whether only relations are missing, and a preposition may say the same (next to the curb, by the curb)."""
    is_placed = "near" in given.places.values()
    return is_placed and not extra and all(concept.category is Category.RELATION for concept in missing)


def _share(content: tuple[Concept, ...], unshared: list[Concept]) -> float:
    """Share of the concepts that both have."""
    return 1 - len(unshared) / len(content) if content else 1.0


def _compare_asks(*, wanted: Frame, given: Frame, is_near: bool) -> Finding:
    first, second = wanted.asks, given.asks
    only_wanted, only_given = first - second, second - first
    words = f"one asks for {_words(only_wanted or first)}, the other for {_words(only_given or second)}"
    unlike: Finding = DIFFERENT if is_near else (Verdict.UNDECIDED, words)
    if first == second and wanted.order != given.order and not first <= weak_asks():
        return Verdict.UNDECIDED, f"it asks for {_words(second)} in another order"
    if first == second:
        return SAME if first or wanted.is_yes_or_no == given.is_yes_or_no else unlike
    if first & second:
        return Verdict.UNDECIDED, words
    if first and second:
        is_alike = any(alike().get(ask, frozenset()) & second for ask in first)
        # If only a weak ask was matched, the rules may not know the phrase that asks.
        is_alike |= (first <= weak_asks() or second <= weak_asks()) and wanted.is_yes_or_no == given.is_yes_or_no
        return (Verdict.UNDECIDED, words) if is_alike else unlike
    if (first or second) <= _OF_THINGS and is_near and wanted.is_yes_or_no == given.is_yes_or_no:
        # "What object is on the table?" is "what is on the table?"
        return SAME if wanted.content else (Verdict.UNDECIDED, words)
    if wanted.is_yes_or_no != given.is_yes_or_no or _ask_by_doing(wanted, given) or _ask_by_doing(given, wanted):
        return unlike
    return Verdict.UNDECIDED, words


def _ask_by_doing(first: Frame, second: Frame) -> bool:
    """Whether only the first asks for the object of a verb ("What does the dog eat?")."""
    unshared, _ = left_over(first.content, second.content)
    return not first.asks and any(concept.category is Category.DOING for concept in unshared)


def _words(asks: frozenset[str]) -> str:
    return " and ".join(sorted(ask.replace("_", " ") for ask in asks)) or "something else"


def _compare_content(*, missing: list[Concept], extra: list[Concept], is_near: bool) -> Finding:
    if not missing and not extra:
        return SAME
    unshared = (*missing, *extra)
    is_known = are_known(unshared)
    pairs = list(product(missing, extra))
    if is_known and any(_are_two_things(first, second) for first, second in pairs):
        return DIFFERENT
    if is_near and any(_exclude(first, second) for first, second in pairs):
        return DIFFERENT
    is_distinctive = any(concept.category in _DISTINCTIVE for concept in unshared)
    if is_near and is_known and is_distinctive and not pairs:
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


def not_understood(*, missing: list[Concept], extra: list[Concept]) -> str:
    """The phrases that leave a comparison undecided.

    Args:
        missing: concepts of the wanted text only.
        extra: concepts of the given text only.
    """
    if unknown := [concept for concept in (*missing, *extra) if concept.category is Category.UNKNOWN]:
        return f"the rules do not know {_quoted(unknown)}"
    if not extra:
        return f"it does not say {_quoted(missing)}"
    if not missing:
        return f"it adds {_quoted(extra)}"
    return f"it says {_quoted(extra)} and not {_quoted(missing)}"


def _quoted(concepts: list[Concept]) -> str:
    return ", ".join(f"“{concept.name}”" for concept in concepts[:4])


def _are_two_things(first: Concept, second: Concept) -> bool:
    if not first.category is second.category is Category.THING:
        return False
    are_objects = all(not concept.is_listed or concept.dimension == "objects" for concept in (first, second))
    return are_objects and are_apart(first, second)


def _exclude(first: Concept, second: Concept) -> bool:
    """Whether two questions differ because each has one of these concepts."""
    if first.category is second.category is Category.QUALITY:
        return first.dimension == second.dimension
    both = [readings().get(concept.name, frozenset({concept.category})) for concept in (first, second)]
    shared = both[0] & both[1]
    if shared & {Category.RELATION, Category.NUMBER} or (
        Category.DOING in shared and vague_doings().isdisjoint({first.name, second.name})
    ):
        return True
    is_role = "roles" in {first.dimension, second.dimension} and bool(PERSONS & {first.name, second.name})
    is_overlapping = first.is_listed and first.dimension == second.dimension and first.dimension in _OVERLAPPING
    are_things = first.category is second.category is Category.THING
    return are_things and not is_role and not is_overlapping and are_apart(first, second)


def left_over(wanted: tuple[Concept, ...], given: tuple[Concept, ...]) -> tuple[list[Concept], list[Concept]]:
    """The concepts of only the wanted and of only the given text.

    Words of one origin are equal ("celebrate", "celebration"), and so are a word and its parts ("salt shaker").
    """

    def unshared(concepts: tuple[Concept, ...], others: tuple[Concept, ...]) -> list[Concept]:
        return [
            concept
            for concept in concepts
            if concept not in others
            and (concept.category is Category.NUMBER or not any(_say_the_same(concept, other) for other in others))
        ]

    missing, extra = unshared(wanted, given), unshared(given, wanted)
    if "".join(concept.name for concept in missing) == "".join(concept.name for concept in extra):
        return [], []
    return missing, extra


def _say_the_same(first: Concept, second: Concept) -> bool:
    """Whether two words are one in two parts of speech: as WordNet has it, or by their stems if it lacks one."""
    if senses_of(first.name) and senses_of(second.name):
        return first.name == second.name or are_of_one_origin(first.name, second.name)
    return _stem(first.name) == _stem(second.name)


@lru_cache(maxsize=16384)
def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LEAST_STEM:
            return word.removesuffix(suffix)
    return word


def is_reversed(wanted: Frame, given: Frame) -> bool:
    """Whether subject and object of a verb or relation change places, or may do so.

    They may if only one question is in the passive, or if the verbs have different particles (talk to, talk about).
    """
    if wanted.particles and given.particles and wanted.particles != given.particles:
        return True
    if _are_swapped(wanted, given) or _are_bound_otherwise(wanted, given):
        return True
    if not (wanted.has_verb or given.has_verb):
        return _is_inverted(wanted, given)
    if wanted.is_passive != given.is_passive or _is_inverted(wanted, given):
        return True
    common = [concept for concept in wanted.content if concept in given.content and concept.category in _PLACED]
    return _sides(wanted, common) != _sides(given, common)


def _are_swapped(wanted: Frame, given: Frame) -> bool:
    """Whether things change their order and their prepositions: what bird is in the cage, what cage is the bird in."""
    if wanted.places.keys() == given.places.keys():
        return False
    first, second = (
        [concept for concept in frame.content if concept in other.content and concept.category in _NAMES]
        for frame, other in ((wanted, given), (given, wanted))
    )
    return first != second


def _are_bound_otherwise(wanted: Frame, given: Frame) -> bool:
    """Whether a word goes to another one that both have: a blue ribbon on a horse, a ribbon on a blue horse."""
    bound = {concept for pair in wanted.bindings for concept in pair}
    for first, second in wanted.bindings:
        others = {other for concept, other in given.bindings if concept == first}
        if others and second not in others and any(other in bound or other in wanted.content for other in others):
            return True
    return False


def _is_inverted(wanted: Frame, given: Frame) -> bool:
    """Whether one question asks for the subject of a verb and the other for its object."""
    if wanted.asks - {"who"} or None in {wanted.asks_for_subject, given.asks_for_subject}:
        return False
    return wanted.asks_for_subject != given.asks_for_subject


def _sides(frame: Frame, common: list[Concept]) -> list[frozenset[Concept]]:
    """The concepts before, between and after the verbs; each one by itself if there is no known verb."""
    placed = [concept for concept in frame.content if concept in common and concept.name not in _SYMMETRIC]
    if not any(concept.category in _VERBS for concept in placed):
        return [frozenset({concept}) for concept in placed]
    sides: list[set[Concept]] = [set()]
    for concept in placed:
        if concept.category in _VERBS:
            sides += [{concept}, set()]
        else:
            sides[-1].add(concept)
    return [frozenset(side) for side in sides if side]


_DIRECTIONS = frozenset({"from", "to", "into", "than", "before", "after", "against"})
LONG = 25
"""Texts with more words are compared by their share of concepts; shorter ones as questions."""
MOST_AROUND = 12
"""Most words before and after a verbatim copy of a text ("Please answer this question: ...")."""
LEAST_SHARE = 0.4
"""Share of the wanted concepts below which a text is different, and from which it is undecided."""
_PARAPHRASING = frozenset({Category.UNKNOWN, Category.DOING, Category.THING})
_OVERLAPPING = frozenset({"places", "parts"})
"""Things that one request may name in two ways: street and sidewalk, face and head."""
_TIMES = frozenset({"day_time", "brightness"})
_NEEDED = frozenset({Category.THING, Category.NUMBER, Category.DOING})
_DISTINCT = frozenset({"colour", "size", "age", "modernity", "side", "heat", "brightness"})


@lru_cache(maxsize=65536)
def compare_prompts(wanted: str, given: str, asked: frozenset[str] = frozenset()) -> Finding:
    """Whether a prompt describes the wanted picture: all its content, and nothing else but words of the request.

    Args:
        wanted: the description of the picture.
        given: the prompt.
        asked: base forms of all words of the request.
    """
    if base_forms(wanted) == base_forms(given):
        return SAME
    first, second = _prompt_concepts(wanted), _prompt_concepts(given)
    missing, extra = left_over(first, second)
    extra = [concept for concept in extra if not set(concept.name.split()) <= asked]
    # A puppy may be the wanted dog, a walrus may not.
    unmet = [
        concept
        for concept in missing
        if not any(are_related(concept, other) or may_be(concept, other) for other in extra)
    ]
    if first and len(unmet) == len(first) and are_known((*unmet, *extra)):
        return DIFFERENT
    if frame_of(wanted).is_negated != frame_of(given).is_negated:
        return Verdict.UNDECIDED, "only one of them excludes or denies something"
    if not missing and not extra:
        if _qualities(first) != _qualities(second):
            return Verdict.UNDECIDED, "it is not clear which quality is whose"
        is_clear = not is_reversed(frame_of(wanted), frame_of(given))
        return SAME if is_clear else (Verdict.UNDECIDED, "it is not clear who does it to whom")
    if any(_are_two_things(old, new) or _are_opposed(old, new) for old, new in product(unmet, extra)):
        return DIFFERENT
    is_needed = any(concept.category in _NEEDED or concept.dimension in _DISTINCT for concept in unmet)
    may_paraphrase = any(concept.category in _PARAPHRASING or concept.dimension in _TIMES for concept in extra)
    if is_needed and not may_paraphrase:
        return DIFFERENT
    if 1 - len(unmet) / max(len(first), 1) < LEAST_SHARE and len(extra) * 2 < len(unmet):
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


def _qualities(concepts: tuple[Concept, ...]) -> list[Concept]:
    """The qualities that exclude each other, in order: from red to green is not from green to red."""
    qualities = [concept for concept in concepts if concept.category is Category.QUALITY]
    several = {dimension for dimension, count in Counter(one.dimension for one in qualities).items() if count > 1}
    return [concept for concept in qualities if concept.dimension in several]


def _are_opposed(first: Concept, second: Concept) -> bool:
    """Whether two qualities or two numbers exclude each other."""
    if first.category is not second.category:
        return False
    is_quality = first.category is Category.QUALITY and first.dimension == second.dimension
    return first.category is Category.NUMBER or (is_quality and first.dimension in _DISTINCT)


@lru_cache(maxsize=16384)
def _prompt_concepts(text: str) -> tuple[Concept, ...]:
    plain = plain_words() | words_of_prompts()
    return tuple(dict.fromkeys(concepts_in(base_forms(text), plain=plain)))


def compare_verbatim(wanted: str, given: str) -> Verdict:
    """Whether a text is copied verbatim, except for spaces and surrounding quotation marks."""
    first, second = (" ".join(text.strip(" \t\n\"'“”„").split()) for text in (wanted, given))
    return Verdict.of(first == second)


@lru_cache(maxsize=65536)
def compare_texts(wanted: str, given: str) -> Finding:
    """Whether a message to a language model has the wanted meaning.

    A verbatim copy may be announced ("Please answer this question: ..."). Texts of more than `LONG` words are the same
    if they have the same content in the same order, and different if they have hardly any of it.
    """
    first, second = base_forms(wanted), base_forms(given)
    if first == second:
        return SAME
    around = _around(first, second)
    if around is not None:
        extra = [concept for concept in concepts_in(around) if concept.name not in words_of_announcing()]
        if extra or not NEGATIONS.isdisjoint(around):
            return Verdict.UNDECIDED, not_understood(missing=[], extra=extra) if extra else "it denies something"
        return SAME
    if len(first) <= LONG:
        return compare_questions(wanted, given)
    wanted_concepts, given_concepts = (tuple(concepts_in(words)) for words in (first, second))
    missing, extra = left_over(wanted_concepts, given_concepts)
    if not missing and not extra:
        denials = [[word for word in words if word in NEGATIONS] for words in (first, second)]
        is_same = denials[0] == denials[1] and (wanted_concepts == given_concepts or _aims(first) == _aims(second))
        return SAME if is_same else (Verdict.UNDECIDED, "it says the same words in another order")
    is_unrelated = len(missing) == len(wanted_concepts)
    is_too_short = 1 - len(missing) / len(wanted_concepts) < LEAST_SHARE and len(extra) * 2 < len(missing)
    if is_unrelated or is_too_short:
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)


def _aims(words: tuple[str, ...]) -> set[tuple[str, str]]:
    """Each preposition of direction with the next word: from English, into Spanish."""
    return {(first, second) for first, second in pairwise(words) if first in _DIRECTIONS}


def _around(wanted: tuple[str, ...], given: tuple[str, ...]) -> list[str] | None:
    """The words before and after a verbatim copy of a text; None if it is none, or they are too many."""
    before, copy, after = f" {' '.join(given)} ".partition(f" {' '.join(wanted)} ")
    around = [*before.split(), *after.split()]
    return around if wanted and copy and len(around) <= MOST_AROUND else None


def are_known(concepts: Iterable[Concept]) -> bool:
    return all(concept.category is not Category.UNKNOWN for concept in concepts)
