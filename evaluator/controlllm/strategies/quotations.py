"""Quotations in a request: texts between quotation marks, which the rules of the offline decomposition never cut.

Marks are straight or typographic, double or single. A single straight mark opens a quotation only before a word and
only if another one closes it, since it is mostly an apostrophe. A mark that is never closed opens a quotation up to the
end of the request, or up to the first sentence that names a file. One that was never opened closes a quotation that
begins after the last colon, or with the request if more follows. What names a file of the request is no quotation but
an instruction, and so is what leaves no word of the request outside the marks.
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
"""Words, at most, of a quotation that is a term; a longer one, or any after a colon or a sentence, is a text."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A text in quotation marks."""

    text: str
    """Without the marks."""
    written: str
    """With them."""
    is_passage: bool
    """Whether it is a text to work on or with, rather than a name or a term within a sentence."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A request whose quotations are replaced by marks without words, `<QUOTE>-0` and so on."""

    text: str
    quotations: tuple[Quotation, ...] = ()

    def within(self, part: str) -> tuple[Quotation, ...]:
        """The quotations of a part of the text."""
        numbers = (int(number) for number in _MARK.findall(part))
        return tuple(self.quotations[number] for number in numbers if number < len(self.quotations))

    def whole(self, part: str) -> str:
        """A part of the text as it was written."""
        return _MARK.sub(self._written, part)

    def _written(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        return self.quotations[number].written if number < len(self.quotations) else mark[0]


def without_marks(part: str, *, instead: str = "") -> str:
    """A part of a `Quoted` text without its quotations."""
    return _MARK.sub(instead, part)


def read_quotations(text: str, *, files: Collection[str]) -> Quoted:
    """Find the quotations of a request.

    Args:
        text: the request.
        files: names of its files.
    """
    parts: list[str] = []
    found: list[Quotation] = []
    done = 0
    for start, end, inner in _spans(text, files=files):
        before = text[done:start]
        found.append(
            Quotation(text=inner, written=text[start:end], is_passage=_is_passage(text=inner, before=text[:start]))
        )
        # A sentence may end within the marks: the mark that stands for the quotation must not hide that.
        ends = inner[-1] in _SENTENCE_END and re.match(r"\s+[A-Z]", text[end:]) is not None
        parts += [before, f"<QUOTE>-{len(found) - 1}{'.' if ends else ''}"]
        done = end
    quoted = Quoted(text="".join([*parts, text[done:]]), quotations=tuple(found))
    return quoted if re.search(r"[^\W\d_]", without_marks(quoted.text)) else Quoted(text=text)


def _is_passage(*, text: str, before: str) -> bool:
    leads = before.rstrip()
    return not leads or leads[-1] in {":", *_SENTENCE_END} or len(text.split()) > _MENTION


def _spans(text: str, *, files: Collection[str]) -> list[tuple[int, int, str]]:
    """Start, end and inner text of each quotation, in order and apart."""
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
        inner = _inner(text[start:place])
        names_file = any(name in inner for name in files)
        if _ALL_MARKS.issuperset(inner) or names_file or inner == "n":  # rock 'n' roll
            continue
        spans.append((start, place, inner))
    return spans


def _inner(written: str) -> str:
    """What is between the marks; either may be absent."""
    inner = written[1:] if written[0] in _CLOSING else written
    closing = _CLOSING.get(written[0], '"”»')
    return (inner[:-1] if inner[-1:] and inner[-1] in closing else inner).strip()


def _opens(text: str, place: int) -> bool:
    if text[place] not in _CLOSING or place + 1 == len(text) or text[place + 1].isspace():
        return False
    if text[place] == "'" and not text[place + 1].isalpha():
        return False
    return place == 0 or text[place - 1].isspace() or text[place - 1] in _BEFORE_AN_OPENING


def _closes(text: str, place: int) -> bool:
    """Whether a mark may be a closing one: behind something, and before no word. Digits before it make it inches."""
    if place == 0 or text[place - 1].isspace() or text[place - 1].isdigit():
        return False
    return place + 1 == len(text) or not text[place + 1].isalnum()


def _closed(text: str, *, start: int) -> tuple[int, int] | None:
    closing = _CLOSING[text[start]]
    if text[start] not in _SINGLE:
        # Before a digit it closes nothing: the number of the mark that stands for the quotation must end where it does.
        marks = (place for place in range(start + 1, len(text)) if text[place] in closing)
        end = next((place for place in marks if not text[place + 1 : place + 2].isdigit()), None)
        return None if end is None else (start, end + 1)
    return _closed_single(text, start=start, closing=closing)


def _closed_single(text: str, *, start: int, closing: str) -> tuple[int, int] | None:
    """A quotation in single marks, whose apostrophes do not close it where a better place follows."""
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
