"""What a sentence wants of ControlLLM's tools for texts, by plain English words: reading, titles, tags, names, moods.

Likeness to the tools' descriptions is not enough here: nobody says "optical character recognition", and a text to work
on is often still to be made, by reading or describing a picture.
"""

import re
from collections.abc import Collection

from evaluator.core.tools.types import ResourceType

READER = "optical_character_recognition"
_TITLE, _TAGS = "title_generation", "text_to_tags"
_DESCRIBERS = {
    ResourceType.IMAGE: "image_captioning",
    ResourceType.VIDEO: "video_captioning",
    ResourceType.AUDIO: "speech_to_text",
}


def _pattern(*ways: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(ways)})\b", re.IGNORECASE)


_ANNOTATIONS = {
    _TITLE: _pattern("(?<!with a )(?<!with the )titles?", "headlines?", "headings?"),
    _TAGS: _pattern("tags?", "tagg(?:ed|ing)", "hashtags?", "key ?words?"),
    "named_entity_recognition": _pattern(
        r"(?:named )?entit(?:y|ies)", r"proper (?:names?|nouns?)", "names",
        r"(?:people|persons|organi[sz]ations|companies) (?:that |who )?(?:is |are )?(?:mentioned|named)",
    ),
    "summarization": _pattern(
        r"summari[sz](?:e|es|ed|ing|ation)", "summar(?:y|ies)", "shorten(?:s|ed|ing)?", "condens(?:e|es|ed|ing)",
        "abridged?", "(?:main|key) points?", "gist", r"sum (?:\w+ ){0,2}up",
    ),
    "sentiment_analysis": _pattern(
        "sentiments?", "moods?", "tone", "emotions?", "emotional", "feelings?", "attitude", "polarity",
        "positive or negative", "negative or positive",
    ),
    "extract_location": _pattern("locations?", "place", "where"),
}  # fmt: skip
_GIVEN = re.compile(r"\b(?:this|that|these|those|the following)\s+[a-z]+", re.IGNORECASE)
"""What a sentence works on: "Give this summary a title" wants no summary."""
_JOINS = re.compile(r"\band\b|,|\bas well as\b|\bplus\b|\balso\b", re.IGNORECASE)
_WRITING = _pattern(
    "ocr", "optical character", "transcri(?:be|bes|bed|ption)", "handwriting", "handwritten", "inscriptions?",
    "lettering", "writings?", r"written (?:in|on|upon|across|there)", r"(?:is|are) written",
    r"(?:words?|text|letters|characters) (?:that )?(?:(?:is|are|can be) )?(?:written |printed |shown |seen |visible )?"
    r"(?:in|on|from)(?: the| this| that)? (?:image|picture|photo|sign|label|poster|banner|plate|board|page|screen)",
    r"what (?:does|do)\b.*\b(?:say|read)", r"what\b.*\b(?:says|reads)",
)  # fmt: skip
_READ = re.compile(r"(?:^|\b(?:and|please|you|to|me)\s+|,\s*)\s*read\b", re.IGNORECASE)
_WORDS_WANTED = re.compile(
    r"\W*(?:please\s+)?(?:give|tell|show|return|send|list)\s+(?:me\s+|us\s+)?(?:all\s+|just\s+|only\s+)?"
    r"(?:the|its)\s+(?:words?|text|writing|letters)\W*",
    re.IGNORECASE,
)
_THE_TEXT = re.compile(r"\b(?:the|its) (?:words|text|letters)\b", re.IGNORECASE)
_ABOUT_WRITING = re.compile(
    r"^\W*(?:is|are|was|were|does|do|did|has|have|how|where|who|why|when)\b"
    r"|\b(?:colou?r|font|language|how many|count|number of)\b"
    r"|\b(?:remove|erase|delete|replace|change|edit|add|highlight|mark|crop|cut|mask|segment|detect|locate"
    r"|find(?! out)|boxe?s?|generate|draw|paint|create)\b",
    re.IGNORECASE,
)
"""Sentences that speak of writing and do not want it read: questions about it, and work on its pixels."""
_DESCRIBE = _pattern("captions?", "descriptions?", "sentences? (?:about|that|on)", "describ(?:e|es|ed|ing)")
_OF_CAPTION = re.compile(
    r"\b(?:of|for|from|in|by)\s+(?:\w+\s+)?(?:captions?|descriptions?)\b|\bcaption\b.*\band\b", re.IGNORECASE
)
_WEB_PAGE = re.compile(r"\b(?:web ?pages?|web ?sites?|html)\b", re.IGNORECASE)


def annotations(said: str) -> tuple[str, ...]:
    """The tools that say something about a text, in the order in which a sentence wants their results."""
    if _WEB_PAGE.search(said):
        return ()
    text = _GIVEN.sub(lambda found: " " * len(found[0]), said)
    places = sorted((found.start(), tool) for tool, way in _ANNOTATIONS.items() if (found := way.search(text)))
    if not places:
        return ()
    wanted, last = [places[0][1]], places[0][0]
    for place, tool in places[1:]:
        if _JOINS.search(text, last, place):
            wanted.append(tool)
            last = place
    return tuple(wanted)


def wants_reading(said: str) -> bool:
    """Whether a sentence about a picture wants its writing read, and nothing else."""
    return _speaks_of_writing(said) and not _ABOUT_WRITING.search(said)


def source(*, said: str, annotation: str, kinds: Collection[ResourceType]) -> str | None:
    """The tool that makes the text to be annotated from a picture, clip or sound.

    Args:
        said: the sentence.
        annotation: one of `annotations`.
        kinds: types of what the sentence works on.

    Returns:
        Its name; None if the sentence seems to mean the picture itself, as in "the mood of the picture".
    """
    if ResourceType.IMAGE in kinds and (_speaks_of_writing(said) or _THE_TEXT.search(said)):
        return READER
    kind = next((one for one in _DESCRIBERS if one in kinds), None)
    if kind is None:
        return None
    if kind is ResourceType.AUDIO or annotation == _TITLE:
        return _DESCRIBERS[kind]
    if annotation == "extract_location":
        return None
    means_caption = _DESCRIBE.search(said) if annotation == _TAGS else _OF_CAPTION.search(said)
    return _DESCRIBERS[kind] if means_caption else None


def _speaks_of_writing(said: str) -> bool:
    return bool(_WRITING.search(said) or _READ.search(said) or _WORDS_WANTED.fullmatch(said))


def wants_anything(said: str) -> bool:
    """Whether a sentence, however short, names one of these tools' results."""
    return bool(annotations(said)) or wants_reading(said)
