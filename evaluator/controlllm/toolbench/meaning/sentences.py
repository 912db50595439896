"""Splits texts into base forms of words."""

import re
from functools import lru_cache
from itertools import takewhile

from evaluator.controlllm.toolbench.meaning.lexicon import lemma, plain_words, words_of, words_of_asking

LONGEST = 2000
"""Characters of a text that are parsed; no question, name or prompt is longer."""
_PIECE = re.compile(r"[\w\-./]+")
_FILE = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tiff?|mp4|avi|mov|mkv|webm|mp3|wav|flac|ogg)$", re.IGNORECASE)
_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_WORD = re.compile(r"[a-zäöüß0-9]+(?:'[a-z]+)?")
_IS = frozenset({"what", "who", "where", "when", "how", "why", "there", "here", "it", "he", "she", "that"})
_ACRONYMS = {"US": "united states", "USA": "united states", "UK": "united kingdom", "TV": "tv"}
"""Names that are other words in lower case ("tell us"), or have dots."""
_ACRONYM = re.compile(r"\b(?:U\.?S\.?A|U\.?S|U\.?K|T\.?V)\b")
_ONE_MANY = re.compile(r"\(e?s\)")


def names_file(text: str) -> bool:
    """Whether a text contains a file name."""
    return any(_is_file(piece) for piece in _PIECE.findall(text[:LONGEST]))


def _is_file(piece: str) -> bool:
    return _FILE.search(piece.rstrip(".")) is not None


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PERSONA = re.compile(
    r"^\W*(?:you are|you're|act as|imagine (?:that )?you are|assume the role of)\b[^?]*$", re.IGNORECASE
)
_TASK = re.compile(
    r"^\W*(?:your (?:task|job|goal) is(?: now)? to|(?:i |we )?(?:need|want|would like|'d like) you to"
    r"|task:|instructions?:|question:|q:|prompt:)\s*",
    re.IGNORECASE,
)
_INSPECTION = re.compile(
    r"^\W*(?:please )?(?:(?:carefully|closely|thoroughly) )?"
    r"(?:look|examine|inspect|study|view|scan|analy[sz]e|observe|review|go)"
    r"(?: (?:carefully|closely|thoroughly))?(?: (?:at|through|over))?"
    r" (?:the|this)(?: (?:whole|entire|full|given|provided|attached|input))? (?:image|picture|photo|photograph|scene)"
    r"(?: (?:carefully|closely|thoroughly))?"
    r"(?:,? and(?: then)?(?: (?:tell|say|answer)(?: me| this| the question)?:)?|[,:;]| to)\s+",
    re.IGNORECASE,
)
_OF_FORMS = frozenset(words_of("plain_words", "forms")["words"])


@lru_cache(maxsize=65536)
def without_instructions(text: str) -> str:
    """A text without what only tells a model how to work and to answer: roles, "your task is to", forms of answers.

    "Look closely at the image and count the dogs. Reply with a number only." becomes "count the dogs." A text of which
    nothing would remain is returned as it is.
    """
    kept = []
    for sentence in _SENTENCE_END.split(text[:LONGEST]):
        words = _WORD.findall(sentence.lower().replace(_APOSTROPHE, "'"))
        if words and not _PERSONA.match(sentence) and not _OF_FORMS.issuperset(words):
            kept.append(_INSPECTION.sub("", _TASK.sub("", sentence)))
    return " ".join(kept) if any(_WORD.search(sentence.lower()) for sentence in kept) else text


def _without_files(text: str, *, instead: str) -> str:
    return _PIECE.sub(lambda piece: instead if _is_file(piece[0]) else piece[0], text)


@lru_cache(maxsize=65536)
def base_forms(text: str) -> tuple[str, ...]:
    """The words of a text in base forms, without file names; "isn't" is two words."""
    plain = _without_files(text[:LONGEST], instead=" ")
    if not plain.isupper():
        plain = _ACRONYM.sub(lambda match: _ACRONYMS[match[0].replace(".", "")], plain)
    plain = _ONE_MANY.sub("", plain.lower().replace(_APOSTROPHE, "'"))
    plain = plain.replace("-", " ").replace("_", " ")
    return tuple(form for word in _WORD.findall(plain) for form in _split(word))


def _split(word: str) -> tuple[str, ...]:
    stem, _, ending = word.partition("'")
    if ending == "t":
        # "isn't" is "is not"; "can't" keeps its n.
        return (lemma(stem if stem == "can" else stem.removesuffix("n")), "not")
    if ending in {"re", "m"} or (ending == "s" and stem in _IS):
        return lemma(stem), "be"
    return (lemma(stem),)


_CLAUSE_END = re.compile(r"[.?!,;:](?:\s|$)")
_WORDS_AFTER = 6


def clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """The base forms of each clause of a text; a file name ends a clause."""
    return tuple(
        base_forms(part) for part in _CLAUSE_END.split(_without_files(text, instead=". ")) if part and part.strip()
    )


def next_to(*, text: str, name: str) -> frozenset[str]:
    """Base forms of the words beside a name in a text: describing words before it, and the next words of its clause."""
    forms = base_forms(name)
    stops = plain_words() | words_of_asking()
    words: set[str] = set()
    for clause in clauses(text) if forms else ():
        for start in range(len(clause) - len(forms) + 1):
            end = start + len(forms)
            if clause[start:end] == forms:
                words.update(clause[end : end + _WORDS_AFTER])
                words.update(takewhile(lambda word: word not in stops, reversed(clause[max(start - 3, 0) : start])))
    return frozenset(words)


def shares_word(*, text: str, name: str) -> bool:
    """Whether a text has any word of a name, in any form."""
    return not set(base_forms(name)).isdisjoint(base_forms(text))


def mentions(*, text: str, name: str) -> bool:
    """Whether a text contains a name, in singular or plural."""
    words, forms = base_forms(text), base_forms(name)
    size = len(forms)
    joined = "".join(forms)
    return bool(forms) and any(
        words[start : start + size] == forms
        or "".join(words[start : start + size + 1]) == joined
        or words[start] == joined
        for start in range(len(words))
    )
