"""Whether two prompts for a picture show the same, and whether two texts for a language model ask the same."""

from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import concepts_in, frame_of
from evaluator.controlllm.toolbench.meaning.lexicon import (
    Category,
    Concept,
    are_related,
    may_be,
    plain_words,
    words_of_prompts,
)
from evaluator.controlllm.toolbench.meaning.questions import (
    Finding,
    compare_questions,
    is_reversed,
    left_over,
    not_understood,
)
from evaluator.controlllm.toolbench.meaning.sentences import base_forms
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

_DIFFERENT: Finding = (Verdict.DIFFERENT, "")
_SAME: Finding = (Verdict.SAME, "")
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
        return _SAME
    first, second = _shown(wanted), _shown(given)
    missing, extra = left_over(first, second)
    extra = [one for one in extra if not set(one.name.split()) <= asked]
    # A puppy may be the dog that is wanted, a walrus is not.
    unmet = [one for one in missing if not any(are_related(one, other) or may_be(one, other) for other in extra)]
    if first and len(unmet) == len(first):
        return _DIFFERENT
    if frame_of(wanted).is_negated != frame_of(given).is_negated:
        return Verdict.UNDECIDED, "only one of them excludes or denies something"
    if not missing and not extra:
        is_clear = not is_reversed(frame_of(wanted), frame_of(given))
        return _SAME if is_clear else (Verdict.UNDECIDED, "it is not clear who does it to whom")
    is_told_otherwise = any(one.category in {Category.UNKNOWN, Category.DOING} for one in extra)
    if not is_told_otherwise and any(one.category in _NEEDED or one.dimension in _DISTINCT for one in unmet):
        return _DIFFERENT
    if 1 - len(unmet) / max(len(first), 1) < LEAST_SHARE:
        return _DIFFERENT
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
        return _SAME
    if first and len(second) - len(first) <= MOST_AROUND and f" {' '.join(first)} " in f" {' '.join(second)} ":
        return _SAME
    if len(first) <= LONG:
        return compare_questions(wanted, given)
    missing, extra = left_over(tuple(concepts_in(first)), tuple(concepts_in(second)))
    if not missing and not extra:
        return _SAME
    share = 1 - len(missing) / len(first)
    if share < LEAST_SHARE or len(missing) == len(concepts_in(first)):
        return _DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)
