"""Parses quotations in a request, which the rules of the offline decomposition must not split.

Marks are straight or typographic, double or single. A single straight mark is usually an apostrophe: it opens a
quotation only before a word and only if another one closes it. An unclosed mark opens a quotation up to the end of the
request, or up to the first sentence that names a file. An unopened mark closes a quotation that begins after the last
colon, or with the request if more follows. A quoted text that names a file of the request, or that has all words of the
request, is an instruction and no quotation.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

# Typographic marks by their code points: LEFT and RIGHT SINGLE QUOTATION MARK, EN and EM DASH.
_LEFT_SINGLE, _RIGHT_SINGLE = "\u2018", "\u2019"
_CLOSING = {'"': '"', "“": '”"', "„": '“”"', "«": "»", _LEFT_SINGLE: f"{_RIGHT_SINGLE}'", "'": "'"}
_SINGLE = frozenset({"'", _LEFT_SINGLE})
_ALL_MARKS = frozenset({*_CLOSING, *"".join(_CLOSING.values())})
_BEFORE_AN_OPENING = frozenset("([{:;,=-\u2013\u2014")
_SENTENCE_END = frozenset(".?!…")
_NEXT_SENTENCE = re.compile(r"(?<=[.?!…])\s+")
_MARK = re.compile(r"<QUOTE>-(\d+)")
_MENTION = 4
"""Most words of a quoted term. A longer quotation, or one after a colon or a sentence, is a passage."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A text in quotation marks."""

    text: str
    """Without the marks."""
    written: str
    """With the marks."""
    is_passage: bool
    """Whether it is a text to process, not a name or term within a sentence."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A request whose quotations are replaced by placeholders, `<QUOTE>-0` and so on."""

    text: str
    quotations: tuple[Quotation, ...] = ()

    def within(self, part: str) -> tuple[Quotation, ...]:
        """The quotations of a part of the text."""
        numbers = (int(number) for number in _MARK.findall(part))
        return tuple(self.quotations[number] for number in numbers if number < len(self.quotations))

    def whole(self, part: str) -> str:
        """A part of the text with its original quotations."""
        written = dict(enumerate(quotation.written for quotation in self.quotations))
        return _MARK.sub(lambda mark: written.get(int(mark[1]), mark[0]), part)


def without_marks(part: str, *, placeholder: str = "") -> str:
    """A part of a `Quoted` text without its quotations."""
    return _MARK.sub(placeholder, part)


def read_quotations(text: str, *, files: Collection[str]) -> Quoted:
    """Parse the quotations of a request.

    Args:
        text: the request.
        files: names of its files.
    """
    parts: list[str] = []
    quotations: list[Quotation] = []
    done = 0
    for start, end, inner in _spans(text, files=files):
        before = text[:start].rstrip()
        is_passage = not before or before[-1] in {":", *_SENTENCE_END} or len(inner.split()) > _MENTION
        # A sentence may end within the marks: the placeholder must not hide that.
        ends = inner[-1] in _SENTENCE_END and re.match(r"\s+[A-Z]", text[end:]) is not None
        parts += [text[done:start], f"<QUOTE>-{len(quotations)}{'.' if ends else ''}"]
        quotations.append(Quotation(text=inner, written=text[start:end], is_passage=is_passage))
        done = end
    quoted = Quoted(text="".join([*parts, text[done:]]), quotations=tuple(quotations))
    return quoted if re.search(r"[^\W\d_]", without_marks(quoted.text)) else Quoted(text=text)


def _spans(text: str, *, files: Collection[str]) -> list[tuple[int, int, str]]:
    """Start, end and inner text of each quotation, in order and without overlaps."""
    spans: list[tuple[int, int, str]] = []
    place = 0
    while place < len(text):
        span = None
        if _opens(text, place):
            span = _closed(text, start=place) or _unclosed(text, start=place, files=files)
        elif text[place] in '"”»' and _closes(text, place) and not spans:
            span = _unopened(text, end=place, files=files)
        if span is None:
            place += 1
            continue
        start, place = span
        # Either mark may be absent.
        inner = text[start + (text[start] in _CLOSING) : place]
        if inner[-1:] and inner[-1] in _CLOSING.get(text[start], '"”»'):
            inner = inner[:-1]
        inner = inner.strip()
        names_file = any(name in inner for name in files)
        if _ALL_MARKS.issuperset(inner) or names_file or inner == "n":  # rock 'n' roll
            continue
        spans.append((start, place, inner))
    return spans


def _opens(text: str, place: int) -> bool:
    if text[place] not in _CLOSING or place + 1 == len(text) or text[place + 1].isspace():
        return False
    if text[place] == "'" and not text[place + 1].isalpha():
        return False
    return place == 0 or text[place - 1].isspace() or text[place - 1] in _BEFORE_AN_OPENING


def _closes(text: str, place: int) -> bool:
    """Whether a mark may be a closing one: after a character and not before a word. After digits it means inches."""
    if place == 0 or text[place - 1].isspace() or text[place - 1].isdigit():
        return False
    return place + 1 == len(text) or not text[place + 1].isalnum()


def _closed(text: str, *, start: int) -> tuple[int, int] | None:
    closing = _CLOSING[text[start]]
    if text[start] not in _SINGLE:
        # A mark before a digit does not close: the digit would extend the number of the placeholder.
        marks = (place for place in range(start + 1, len(text)) if text[place] in closing)
        end = next((place for place in marks if not text[place + 1 : place + 2].isdigit()), None)
        return None if end is None else (start, end + 1)
    return _closed_single(text, start=start, closing=closing)


def _closed_single(text: str, *, start: int, closing: str) -> tuple[int, int] | None:
    """A quotation in single marks; an apostrophe closes it only if no better mark follows."""
    first = None
    for place in range(start + 1, len(text)):
        if text[place] == text[start] and _opens(text, place):
            break
        followed_by_word = place + 1 < len(text) and text[place + 1].isalnum()
        if text[place] not in closing or text[place - 1].isspace() or followed_by_word:
            continue
        first = place if first is None else first
        ends = place + 1 == len(text) or not text[place + 1].isspace()
        if ends or text[place - 1] in _SENTENCE_END:
            return start, place + 1
    return None if first is None else (start, first + 1)


def _unclosed(text: str, *, start: int, files: Collection[str]) -> tuple[int, int] | None:
    if text[start] in _SINGLE:
        return None
    end = start
    for cut in [*(match.start() for match in _NEXT_SENTENCE.finditer(text, start)), len(text)]:
        if any(name in text[end:cut] for name in files):
            break
        end = cut
    return (start, end) if end > start else None


def _unopened(text: str, *, end: int, files: Collection[str]) -> tuple[int, int] | None:
    colon = text.rfind(":", 0, end)
    if colon < 0 and not text[end + 1 :].strip():
        return None
    start = colon + 1 + len(text[colon + 1 : end]) - len(text[colon + 1 : end].lstrip())
    return (start, end + 1) if start < end and not any(name in text[start:end] for name in files) else None
