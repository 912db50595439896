"""Whether two questions ask the same."""

from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import Frame, alike, frame_of, weak_asks
from evaluator.controlllm.toolbench.meaning.lexicon import (
    PERSONS,
    Category,
    Concept,
    are_related,
    lists,
    readings,
    vague_doings,
)
from evaluator.controlllm.toolbench.meaning.sentences import base_forms
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

Finding = tuple[Verdict, str]
"""A verdict, and where it is undecided which phrase was not understood."""
_DIFFERENT: Finding = (Verdict.DIFFERENT, "")
_SAME: Finding = (Verdict.SAME, "")
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
        return _SAME
    return compare_frames(wanted=frame_of(wanted), given=frame_of(given))


def compare_frames(*, wanted: Frame, given: Frame) -> Finding:
    """Compare two questions that were read.

    They differ only where the rules know it: where both speak of the same in other respects. Two questions without a
    common word may be one question in other words.
    """
    if given.says_nothing:
        return _DIFFERENT
    missing, extra = left_over(wanted.content, given.content)
    is_near = (
        len(missing) <= _MOST_APART
        and _share(wanted.content, missing) >= _NEAR
        and _share(given.content, extra) >= _NEAR
    )
    if wanted.is_negated != given.is_negated:
        return _DIFFERENT if is_near else (Verdict.UNDECIDED, "only one of them excludes or denies something")
    asked = _compare_asks(wanted=wanted, given=given, is_near=is_near)
    told = _compare_content(missing=missing, extra=extra, is_near=is_near)
    if Verdict.DIFFERENT in {asked[0], told[0]}:
        return _DIFFERENT
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
    return _SAME


def _share(content: tuple[Concept, ...], own: list[Concept]) -> float:
    """Share of the concepts that both have."""
    return 1 - len(own) / len(content) if content else 1.0


def _compare_asks(*, wanted: Frame, given: Frame, is_near: bool) -> Finding:
    first, second = wanted.asks, given.asks
    only_wanted, only_given = first - second, second - first
    words = f"one asks for {_words(only_wanted or first)}, the other for {_words(only_given or second)}"
    unlike: Finding = _DIFFERENT if is_near else (Verdict.UNDECIDED, words)
    if first == second:
        return _SAME if first or wanted.is_yes_or_no == given.is_yes_or_no else unlike
    if first & second:
        return Verdict.UNDECIDED, words
    if first and second:
        is_alike = any(alike().get(one, frozenset()) & second for one in first)
        # Where only a weak ask is found, the phrase that asks may be one that the rules do not know.
        is_alike |= (first <= weak_asks() or second <= weak_asks()) and wanted.is_yes_or_no == given.is_yes_or_no
        return (Verdict.UNDECIDED, words) if is_alike else unlike
    if (first or second) <= _OF_THINGS and is_near and wanted.is_yes_or_no == given.is_yes_or_no:
        # "What object is on the table?" is "what is on the table?"
        return _SAME if wanted.content else (Verdict.UNDECIDED, words)
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
        return _SAME
    left = (*missing, *extra)
    is_known = all(one.category is not Category.UNKNOWN for one in left)
    if is_known and any(_are_two_things(one, other) for one in missing for other in extra):
        return _DIFFERENT
    if is_near and any(_exclude(one, other) for one in missing for other in extra):
        return _DIFFERENT
    if is_near and is_known and (not missing or not extra) and any(one.category in _TELLING for one in left):
        return _DIFFERENT
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
