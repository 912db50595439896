"""Compares a text with what a tool must be asked for: to count, find, remove, list or describe."""

import re
from enum import StrEnum
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import Frame, concepts_in, frame_of, polite_removed, with_asks
from evaluator.controlllm.toolbench.meaning.lexicon import Category, Concept, are_related, plain_words
from evaluator.controlllm.toolbench.meaning.objects import compare_objects, with_name
from evaluator.controlllm.toolbench.meaning.questions import are_known, compare_frames, left_over, not_understood
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, names_file, without_instructions
from evaluator.controlllm.toolbench.meaning.verdict import DIFFERENT, SAME, Finding, Verdict

_REMOVAL = re.compile(r"^(?:.*? )?<removing> (?P<object>.+)$")
_WITHOUT = re.compile(
    r"^(?:(?:the|this|a|an|same|new|give|make|create|generate|produce|return|show|me|version|of|it|image|picture|photo"
    r"|photograph|scene) )*without (?P<object>.+)$"
)
_RESTORATION = re.compile(
    r" (?:and |then |by |so that )*(?:fill|restore|complete|blend|reconstruct|inpaint|make it look).*$"
    r"|(?: and| then| but| while| by)* (?:keep|leave|preserve|maintain|retain)(?: the| all| of| every| other)*"
    r" (?:background|rest|everything else|surround|surroundings|remainder|thing|object|part)"
    r"(?: of (?:the|it) (?:image|picture|photo|scene))?"
    r"(?: (?:as it be|unchanged|unchange|intact|same|the same|untouched|visible|natural|naturally|in place|alone))*$"
    r"| (?:so that|while)(?: the)? (?:background|rest|everything else) (?:remain|stay|be|keep)"
    r"(?: (?:unchanged|unchange|intact|same|the same|untouched|visible|natural))?$"
)
"""A clause that says only that the picture is complete afterwards."""
_OUT_OF_PICTURE = re.compile(r"(?<=out)(?: of| from) (?:the |this |that )?(?:image|picture|photo|photograph|scene)$")
_PLACE = re.compile(r" (?:from|in|of|on|at) .*$")
_OTHER_CHANGES = re.compile(r"\b(?:add|insert|keep|only|not|except|but|instead|replace|change|turn)\b")
_SEEKING = re.compile(
    r"^(?:(?:please|can you|could you|find|locate|detect|ground|where be|show(?: me)?|highlight|mark|look for"
    r"|search for|identify|point out|pinpoint|box|outline(?! of)|segment|spot|select"
    r"|give|tell|return|get|determine|me|out"
    r"|(?:draw|put|place) a(?: bound| bounding)?(?: box)? (?:around|on)"
    r"|(?:what be )?(?:the )?(?:exact )?(?:location|position|coordinate|whereabouts) of"
    r"|(?:what be )?(?:the )?(?:bound|bounding) box (?:of|for|around)) )+"
)
_LOCATED = re.compile(r" (?:be )?(?:located|locate|situated|situate|position|place|find)$")
_ONE_OBJECT = re.compile(r"\b(?:object|item|thing|entity)\b")
_SEVERAL_OBJECTS = re.compile(r"\b(?:objects|items|things|entities|everything|all|every|each|any|list|else)\b")
_ONE_OR_SEVERAL = re.compile(r"\b(?:objects?|items?|things?)\b")
_ALL_OBJECTS = re.compile(
    r"\b(?:(?:all|each|every)(?: (?:one|single|last))*(?: of)?(?: the| these| those)?|everything)"
    r"(?: (?:visible|different|distinct|individual|present|possible|discernible|recogni[sz]able|physical))*"
    r"(?: (?:object|item|thing|entity|element))?\b"
)
_OF_THIS = re.compile(r"^\W*(?:(?:is|was) (?:it|this|that|he|she)\b|what(?: is|'s) (?:it|this|that)\W*$)")
_OPEN = frozenset({"description", "seen", "happening"})
_LISTS = frozenset({"contents", "seen"})
_MENTION = re.compile(
    r" (?:(?:and|with|also|please|then|but|in addition|while|by|you|should|must|do|give|put|place|make sure to) )*"
    r"(?:(?:pay|give|draw|direct) (?:\w+ ){0,3}?attention to"
    r"|(?:(?:a|an|the|your|some|special|particular|extra|additional|strong|more) )*(?:emphasis|focus|attention|stress)"
    r" (?:on|to)|(?:focus|concentrate|zoom in|emphasi[sz]e|stress)(?: \w+)?(?: in)? on|emphasi[sz]e"
    r"|(?:look|watch|check)(?: \w+ly| out)? (?:at|for)"
    r"|especially|particularly|in particular|specifically|above all|include|such as|as well as|along with|note"
    r"|highlight|mention|have a(?: \w+)? look at|take a(?: \w+)? look at)(?: any| also)? (?P<object>.+)$"
)
"""A clause at the end of a listing that mentions an object: "What is in it? Look closely at the dog"."""
_EXCLUSION = re.compile(
    r"(?:^| )(?:apart from|other than|aside from|besides|except for|except|exclude|excluding|in addition to|not count)"
    r" (?P<object>.+?)(?= (?:what|which|who|be|can|do|tell|list|name|identify|in|on|that|visible|present|and)(?: |$)|$)"
)
_EXCLUDED = frozenset({"besides", "apart", "aside", "other", "except", "exclude", "excluding", "else", "additional"})
_BESIDE_LISTS = frozenset({"existence", "finding"})
_OBJECTS = frozenset({"object", "item", "thing", "entity"})
_ELSE = frozenset({"else", "other", "additional", "further", "more"})


class Intent(StrEnum):
    """What a text asks a model for."""

    COUNT = "count"
    PRESENCE = "presence"
    REMOVE = "remove"
    GROUND = "ground"
    DESCRIBE = "describe"
    LIST = "list"


_ABOUT_OBJECTS = {Intent.COUNT: "how many {}", Intent.PRESENCE: "is there a {}"}


@lru_cache(maxsize=65536)
def compare_intent(text: str, intent: Intent, about: str, attributes: frozenset[str] = frozenset()) -> Finding:
    """Whether a text has an intent, about an object.

    Args:
        text: the plan's text.
        intent: the required intent.
        about: the object; for a list, an object that the text may mention; empty: none.
        attributes: base forms of the words next to the object's name in the request; for a list without an object, of
            all words of the request.
    """
    text = without_instructions(text)
    if intent is Intent.GROUND:
        return _compare_grounding(text, about, attributes)
    if intent is Intent.REMOVE:
        return _compare_removal(text, about, attributes)
    if intent is Intent.LIST:
        return _compare_listing(text, about, attributes)
    if intent not in _ABOUT_OBJECTS:
        return _compare_description(text)
    given = frame_of(with_name(text=text, name=about))
    wanted = frame_of(_ABOUT_OBJECTS[intent].format(about))
    may_be_kinds = any(are_related(one, other) for one in wanted.content for other in given.content)
    if given.content and not set(given.content) & set(wanted.content) and are_known(given.content) and not may_be_kinds:
        # The request's word may be rare, but the rules know all objects of the text.
        return DIFFERENT
    finding = compare_frames(wanted=wanted, given=given)
    if finding == SAME and intent is Intent.PRESENCE and _OF_THIS.match(text.lower()):
        return Verdict.UNDECIDED, "it may ask what one thing is"
    if finding == DIFFERENT and may_be_kinds and given.asks == wanted.asks and not given.is_negated:
        # The kind alone, without attributes, is all that the texts differ in.
        missing, extra = left_over(wanted.content, given.content)
        if len(missing) == len(extra) == 1:
            return Verdict.UNDECIDED, not_understood(missing=missing, extra=extra)
    return finding


def _compare_description(text: str) -> Finding:
    """Whether a text asks for a description of the whole picture; what it stresses is undecided."""
    sentence = " ".join(base_forms(text))
    mention = _MENTION.search(sentence)
    if mention is not None and frame_of(sentence[: mention.start()]).asks:
        main = _compare_description(sentence[: mention.start()])
        return (Verdict.UNDECIDED, f"it stresses “{mention['object']}”") if main == SAME else main
    given = frame_of(text)
    if not given.asks <= (_OPEN | _LISTS if "description" in given.asks else _OPEN):
        return DIFFERENT
    if given.is_negated:
        return Verdict.UNDECIDED, "it excludes or denies something"
    if _OF_THIS.match(text.lower()) or (
        {"description", "contents"} <= given.asks and _ONE_OR_SEVERAL.search(text.lower())
    ):
        return Verdict.UNDECIDED, "it may ask what one thing is"
    return _compare_rest(given)


def _compare_rest(given: Frame) -> Finding:
    """Whether a text asks for an open description or list, and says nothing else."""
    if given.asks and not given.content:
        return SAME
    if not given.content or are_known(given.content):
        return DIFFERENT
    return Verdict.UNDECIDED, not_understood(missing=[], extra=list(given.content))


def _compare_listing(text: str, about: str, attributes: frozenset[str]) -> Finding:
    """Whether a text asks for all objects; it may mention, at its end, the one that the request mentions.

    It may exclude an object only where the request does ("Besides the bus, what else is there?").
    """
    sentence = _ALL_OBJECTS.sub("all object", " ".join(base_forms(text)))
    findings: list[Finding] = []
    mention = _MENTION.search(sentence)
    if mention is not None and frame_of(sentence[: mention.start()]).asks:
        sentence = sentence[: mention.start()]
        findings.append(_compare_mention(mention["object"], about, attributes))
    exclusion = _EXCLUSION.search(sentence)
    if exclusion is not None:
        sentence = f"{sentence[: exclusion.start()]} {sentence[exclusion.end() :]}"
        is_in_request = _EXCLUDED & attributes and _are_words(exclusion["object"], attributes)
        findings.append(SAME if is_in_request else (Verdict.UNDECIDED, "it excludes or denies something"))
    words = sentence.split()
    given = frame_of(" ".join(word for word in words if word not in _ELSE))
    mentioned = frame_of(about).content if about else ()
    content = [concept for concept in given.content if concept not in mentioned and concept.name not in _OBJECTS]
    if given.is_negated:
        findings.append((Verdict.UNDECIDED, "it excludes or denies something"))
    elif any(concept.name in given.places for concept in mentioned):
        findings.append((Verdict.UNDECIDED, f"it may ask only what is there with “{about}”"))
    if not given.asks - _BESIDE_LISTS <= _LISTS or (given.asks and given.asks <= _BESIDE_LISTS):
        is_for_others = given.asks == {"existence"} and not content and not _ELSE.isdisjoint(words)
        findings.append((Verdict.UNDECIDED, "it asks whether there are others") if is_for_others else DIFFERENT)
    elif content:
        findings.append(DIFFERENT if are_known(content) else _unknown(content))
    elif not given.asks:
        findings.append(DIFFERENT)
    elif _ONE_OBJECT.search(text.lower()) and not _SEVERAL_OBJECTS.search(text.lower()):
        findings.append((Verdict.UNDECIDED, "it may ask for one object"))
    return min(findings, default=SAME)


def _compare_mention(name: str, about: str, attributes: frozenset[str]) -> Finding:
    """Whether a listing may mention an object, because it is the request's or its words are."""
    if about:
        return compare_objects(about, name, attributes)
    if _are_words(name, attributes):
        return SAME
    concepts = concepts_in(base_forms(name))
    return DIFFERENT if concepts and are_known(concepts) else _unknown(concepts)


def _are_words(name: str, attributes: frozenset[str]) -> bool:
    words = set(base_forms(name)) - plain_words() - _ELSE
    return bool(words) and words <= attributes


def _unknown(concepts: list[Concept]) -> Finding:
    return Verdict.UNDECIDED, not_understood(missing=[], extra=concepts)


def _compare_removal(text: str, about: str, attributes: frozenset[str]) -> Finding:
    sentence = _RESTORATION.sub("", polite_removed(" ".join(base_forms(text))))
    sentence = _OUT_OF_PICTURE.sub("", sentence)
    match = _REMOVAL.match(" ".join(with_asks(sentence).split()))
    if _OTHER_CHANGES.search(sentence):
        return DIFFERENT
    match = match or _WITHOUT.match(sentence)
    if match is not None:
        finding = compare_objects(about, match["object"], attributes)
        shorter = _PLACE.sub("", match["object"])
        if finding == DIFFERENT and shorter != match["object"] and compare_objects(about, shorter, attributes) == SAME:
            return Verdict.UNDECIDED, f"it removes only “{match['object']}”"
        return finding
    return _compare_in_other_words(text, about, attributes, "removes")


def _compare_grounding(text: str, about: str, attributes: frozenset[str]) -> Finding:
    if names_file(text):
        return DIFFERENT
    name = _LOCATED.sub("", _SEEKING.sub("", " ".join(base_forms(text))))
    finding = compare_objects(about, name, attributes)
    if finding[0] is not Verdict.DIFFERENT:
        return finding
    return _compare_in_other_words(text, about, attributes, "finds")


def _compare_in_other_words(text: str, about: str, attributes: frozenset[str], doing: str) -> Finding:
    """Undecided if a text names the object and, beside it, only words that the rules do not know; else different."""
    given = frame_of(text)
    wanted = frame_of(about).content
    rest = [concept for concept in given.content if concept not in wanted and concept.name not in attributes]
    if not rest or given.is_negated or given.asks or not set(given.content) & set(wanted):
        return DIFFERENT
    if any(concept.category is not Category.UNKNOWN for concept in rest):
        return DIFFERENT
    return Verdict.UNDECIDED, f"the rules do not know whether it {doing} “{about}”: {_unknown(rest)[1]}"
