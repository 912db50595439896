"""Which object the words of a request ask for, where the decomposition does not say it."""

import re

_NAMED = (
    r"(?: (?:any|the|an?|all|each|every|there|is|and|name|label|classify|are|of|provided|one|if))*"
    r" (?P<word>[a-z][\w' -]*?)(?= (?:in|from|within|on|and|present|visible|is|are|for|of|that|using|by|file|depicted"
    r"|shown|located|any)\b|\s*[.,?!:;]|\s*$)"
)
_ASKED_BESIDES = re.compile(
    r"\b(?:including|include|such as|specifically|focus(?:ing|ed)?(?: \w+)? on|especially|particularly|along with"
    rf"|(?:focus|emphasis|attention|interest) (?:on|to|in)|as well as|in addition to){_NAMED}"
)
_ASKED_FOR = re.compile(
    r"\b(?:(?:is|are) there|contains?|has|have|shows?|identify|recogni[sz]e|find|detect|locate|spot|see|determine"
    rf"|classify|presence of|label|whether){_NAMED}"
)
_NO_OBJECT = re.compile(
    r"^(?:(?:the |any |all |other |different |what |which |visible )*"
    r"(?:objects?|items?|things?|images?|elements?|what|which|it|its|other)\b.*)$"
)
_UNDER_MASK = re.compile(
    r"\b(?:remove|erase|delete|eliminate|take out|cut out|isolate|extract|separate|clear|get rid of|crop|keep)"
    r"(?: only)? (?:the |an? |any )?(?P<word>[a-z]+(?: [a-z]+){0,2}?) (?:in|from|of|within|on|at|by|with|using|out)\b"
)
_PLACES_IN_IMAGES = frozenset(
    {"part", "area", "region", "section", "object", "mask", "everything", "it", "what", "background"}
)


def object_asked_for(clause: str) -> str:
    """The object that a request to recognise names besides, or alone; empty where the words do not show it."""
    for pattern in (_ASKED_BESIDES, _ASKED_FOR):
        for found in pattern.finditer(clause):
            if not _NO_OBJECT.match(found["word"]):
                return found["word"].strip()
    return ""


def named_under(clause: str) -> str:
    """What the request calls the thing under the mask that it gives."""
    found = _UNDER_MASK.search(clause)
    return "" if found is None or found["word"] in _PLACES_IN_IMAGES else found["word"]
