"""What a question or instruction is after: a number, whether something is there, a description, a removal.

Regular expressions on short texts, listed here so that a judge can see why a question was taken for what it is.
"""

import re
from enum import StrEnum
from functools import lru_cache

from evaluator.suites.toolbench import words

COUNTING = re.compile(r"\b(how many|number of|count|counts|counting|quantity|total|tally|amount of)\b")
DESCRIBING = re.compile(
    r"\b(describe|description|descriptive|elaborate|depict|depiction|portray|narrate|characterize|rundown|caption"
    r"|visual content|key elements|(this|the) (photo|image|picture) about|summar\w+ (the|this) (image|picture|photo)"
    r"|(happening|going on) in (this|the)|do you see)\b"
)
SPECIFIC = re.compile(r"\b(why|how (might|can|does|do|did|would|could)|which|who|reason|benefit|purpose)\b")
_OPEN = re.compile(
    r"\b(what (is|are|'s) (in|on|shown|depicted|happening|going on|there|visible)|what's (in|happening|going on)"
    r"|what can (you|be) (see|seen)|what do(es)? (you see|the (image|picture|photo) show|this)|tell me (more )?about"
    r"|explain|details?|detailed|contents?|overview|analy[sz]e|elements|features|scene|going on|happening)\b"
)
_NARROW = re.compile(
    r"\b(what|which) (colou?r|time|breed|kind|type|size|shape|weather|day|season)\b"
    r"|\bwhat (is|'s) the (\w+ of|weather|colou?r)\b"
)
_YES_OR_NO = re.compile(
    r"\b(is there|are there|whether|if|contains?|present|presence|verify|check|confirm|determine|exists?|visible"
    r"|appears?|detect|find|spot|locate|see)\b"
)
_AUXILIARY = re.compile(r"^\W*(is|are|was|were|does|do|did|has|have|can|could)\b")
_INTERROGATIVE = re.compile(r"\b(what|which|who|whose|when|where|why|how)\b")
_REMOVING = re.compile(
    r"\b(remov\w*|eras\w*|delet\w*|eliminat\w*|get(ting)? rid|tak\w+ (out|away)|take\b.*\bout|clear\w*|without|wip\w+"
    r"|drop|exclud\w*|inpaint\w*|omit)\b"
)
_KEEPING = re.compile(r"\b(add|insert|keep|keeping|only|not|except|but|instead of)\b")
_LISTING = re.compile(
    r"\b(objects?|items?|things?|entit\w+|elements|contents?|everything|categor\w+|class|identify|recogni[sz]e"
    r"|classif\w+|list|name|what is (in|on|this|shown|there)|what's (in|on|this|there)|what can (you|be) (see|seen)"
    r"|what do you see|what does)\b"
)
_SEEKING = re.compile(
    r"^\W*(please |can you |could you )*(find|locate|detect|ground|where (is|are)|show( me)?|highlight|mark|look for"
    r"|search for|identify|point out|the location of|the position of)\b"
)


class Intent(StrEnum):
    """What is asked of a model that takes a text."""

    COUNT = "count"
    PRESENCE = "presence"
    REMOVE = "remove"
    GROUND = "ground"
    DESCRIBE = "describe"
    LIST = "list"


@lru_cache(maxsize=65536)
def asks(text: str, intent: Intent, about: str) -> bool:
    """Whether a text asks for this, about an object (any if `about` is empty)."""
    lowered = text[: words.LONGEST].lower()
    if intent is Intent.GROUND:
        return words.same_object(about, _SEEKING.sub(" ", lowered))
    if about and intent is not Intent.DESCRIBE and not words.mentions(lowered, about):
        return False
    return _ASKED[intent](lowered)


def _counts(text: str) -> bool:
    return COUNTING.search(text) is not None


def _asks_presence(text: str) -> bool:
    if COUNTING.search(text) or _NARROW.search(text):
        return False
    found = _YES_OR_NO.search(text) or _AUXILIARY.search(text)
    open_question = _INTERROGATIVE.match(text.strip()) and not re.search(r"\b(is|are) there\b|\bwhether\b", text)
    return bool(found) and not (open_question and not re.search(r"\b(contain|present|visible|see)", text))


def _removes(text: str) -> bool:
    return bool(_REMOVING.search(text)) and not _KEEPING.search(text)


def _describes(text: str) -> bool:
    if COUNTING.search(text) or _NARROW.search(text):
        return False
    return bool(DESCRIBING.search(text) or _OPEN.search(text))


def _lists(text: str) -> bool:
    return not COUNTING.search(text) and not _NARROW.search(text) and bool(_LISTING.search(text))


_ASKED = {
    Intent.COUNT: _counts,
    Intent.PRESENCE: _asks_presence,
    Intent.REMOVE: _removes,
    Intent.DESCRIBE: _describes,
    Intent.LIST: _lists,
}

_QUESTIONS = (
    ("count", re.compile(r"\bhow (many|much)\b")),
    ("who", re.compile(r"\bwho(se|m)?\b")),
    ("where", re.compile(r"\bwhere\b")),
    ("when", re.compile(r"\bwhen\b")),
    ("why", re.compile(r"\bwhy\b")),
    ("colour", re.compile(r"\bcolou?rs?\b")),
    ("how", re.compile(r"\bhow\b")),
    ("what", re.compile(r"\b(what|which)\b")),
)
LEAST_OVERLAP = 0.4
"""Share of a question's or prompt's content words that a rephrasing must keep."""
LEAST_OVERLAP_OF_OTHERS = 0.75
"""The same where the interrogative differs ("who" and "which people")."""


@lru_cache(maxsize=65536)
def same_request(wanted: str, given: str) -> bool:
    """Whether a text asks or says the same: most content words, and the same kind of question."""
    share = words.overlap(wanted, given)
    first, second = _kind(wanted), _kind(given)
    alike = first is None or second is None or first == second
    return share >= (LEAST_OVERLAP if alike else LEAST_OVERLAP_OF_OTHERS)


def _kind(text: str) -> str | None:
    lowered = text[: words.LONGEST].lower()
    return next((name for name, pattern in _QUESTIONS if pattern.search(lowered)), None)
