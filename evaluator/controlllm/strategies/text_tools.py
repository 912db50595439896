"""Recognises by plain English words which of ControlLLM's tools for texts a sentence needs: reading, titles, tags, ...

Similarity to the tools' descriptions is not enough: users do not write "optical character recognition", and another
tool must often make the text first, by reading or describing a picture.
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


def _pattern(*choices: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(choices)})\b", re.IGNORECASE)


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
"""References to existing texts: "Give this summary a title" asks for no summary."""
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
"""Sentences that mention writing without asking to read it: questions about it, and changes of its pixels."""
_DESCRIBE = _pattern("captions?", "descriptions?", "sentences? (?:about|that|on)", "describ(?:e|es|ed|ing)")
_OF_CAPTION = re.compile(
    r"\b(?:of|for|from|in|by)\s+(?:\w+\s+)?(?:captions?|descriptions?)\b|\bcaption\b.*\band\b", re.IGNORECASE
)
_WEB_PAGE = re.compile(r"\b(?:web ?pages?|web ?sites?|html)\b", re.IGNORECASE)


def annotations(said: str) -> tuple[str, ...]:
    """The tools whose annotations of a text a sentence asks for, in order."""
    if _WEB_PAGE.search(said):
        return ()
    text = _GIVEN.sub(lambda match: " " * len(match[0]), said)
    tools: list[str] = []
    last = 0
    for place, tool in sorted((match.start(), tool) for tool, p in _ANNOTATIONS.items() if (match := p.search(text))):
        if not tools or _JOINS.search(text, last, place):
            tools.append(tool)
            last = place
    return tuple(tools)


def wants_reading(said: str) -> bool:
    """Whether a sentence about a picture only asks to read its writing."""
    return _mentions_writing(said) and not _ABOUT_WRITING.search(said)


def source(*, said: str, annotation: str, kinds: Collection[ResourceType]) -> str | None:
    """The tool that makes the text to annotate from a picture, clip or sound.

    Args:
        said: the sentence.
        annotation: one of `annotations`.
        kinds: types of the sentence's resources.

    Returns:
        Its name; None if the sentence seems to be about the picture itself, as in "the mood of the picture".
    """
    if ResourceType.IMAGE in kinds and (_mentions_writing(said) or _THE_TEXT.search(said)):
        return READER
    kind = next((kind for kind in _DESCRIBERS if kind in kinds), None)
    if kind is None:
        return None
    if kind is ResourceType.AUDIO or annotation == _TITLE:
        return _DESCRIBERS[kind]
    if annotation == "extract_location":
        return None
    means_caption = _DESCRIBE.search(said) if annotation == _TAGS else _OF_CAPTION.search(said)
    return _DESCRIBERS[kind] if means_caption else None


def _mentions_writing(said: str) -> bool:
    return bool(_WRITING.search(said) or _READ.search(said) or _WORDS_WANTED.fullmatch(said))


def wants_anything(said: str) -> bool:
    """Whether a sentence asks for a result of one of these tools."""
    return bool(annotations(said)) or wants_reading(said)
