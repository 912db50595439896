"""What a text given to a tool asks for: a number, whether something is there, a description, a removal, a place."""

import re
from enum import StrEnum
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import Frame, frame_of, polite_removed, with_asks
from evaluator.controlllm.toolbench.meaning.lexicon import Category
from evaluator.controlllm.toolbench.meaning.objects import compare_objects
from evaluator.controlllm.toolbench.meaning.questions import Finding, compare_frames, not_understood
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

_DIFFERENT: Finding = (Verdict.DIFFERENT, "")
_SAME: Finding = (Verdict.SAME, "")
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
        return _DIFFERENT if names_file(text) else compare_objects(about, sought, attributes)
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
        return _DIFFERENT
    return compare_frames(wanted=wanted, given=given)


def _compare_open(*, given: Frame, about: str, asks: frozenset[str]) -> Finding:
    """Compare a question about a whole picture."""
    if not given.asks or not given.asks <= asks:
        return _DIFFERENT
    if given.is_negated:
        return Verdict.UNDECIDED, "it excludes or denies something"
    besides = frame_of(about).content if about else ()
    content = tuple(one for one in given.content if one not in besides)
    if not content:
        return _SAME
    if all(one.category is not Category.UNKNOWN for one in content):
        return _DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=[], extra=list(content))


def _compare_removal(*, text: str, about: str, attributes: frozenset[str]) -> Finding:
    sentence = _MADE_GOOD.sub("", polite_removed(" ".join(base_forms(text))))
    if _OTHER_CHANGES.search(sentence):
        return _DIFFERENT
    found = _REMOVAL.match(" ".join(with_asks(sentence).split()))
    return _DIFFERENT if found is None else compare_objects(about, found["object"], attributes)
