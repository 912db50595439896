"""Scanner for brackets, quotes and references in a reply, in one pass each.

- Brackets of the three kinds `()[]{}` balance outside quotes.
- `'`, `"` and a backtick open a quote unless a letter or digit precedes them, so that the apostrophe in `farmers'` or
  `it's` and the inch mark in `5"` are plain characters. The same character closes the quote, unless a backslash
  precedes it; `'` must also not be followed by a letter or digit. A quote that is never closed is a plain character, as
  is a `'` if another action begins before the closing one, as in `R1 = QA('tis late); R2 = QA(the boys' team)`.
- A reference is a whole word `R` and digits, also right after a number (`2R1`); not in `R1R2`, `T1.R2` or `xR1`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from evaluator.replies.lumos import CLOSING
from evaluator.replies.turns.model import Place, Reference, TurnSyntaxError

MAX_TEXT = 1024 * 1024
"""Maximum length of a reply, in characters."""
_OPENING = {close: opening for opening, close in CLOSING.items()}
_MAX_DEPTH = 1000
_SYMBOL = re.compile(r"[()\[\]{}'\"`,;\n]")
_NEXT_ACTION = re.compile(r"[;\n][ \t]{0,9}(?:R[0-9]{1,9}|Output)[ \t]{0,9}[=,]", re.ASCII)
_WORD = re.compile(r"\w+(?:\.\w+)*")
_REFERENCE = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?)?(R[0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mark:
    """A bracket, comma, semicolon or line break outside quotes."""

    symbol: str
    offset: int


class Source:
    """The text of a reply, with its places."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > MAX_TEXT:
            raise self.error(f"the reply has {len(text)} characters; at most {MAX_TEXT} are read", offset=MAX_TEXT)

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def place(self, offset: int) -> Place:
        """The place of a character."""
        line = bisect_right(self._breaks, offset - 1)
        return Place(offset=offset, line=line + 1, column=offset - (self._breaks[line - 1] if line else -1))

    def error(self, message: str, *, offset: int) -> TurnSyntaxError:
        """The error at a character."""
        return TurnSyntaxError(message, self.place(offset))

    def found(self, offset: int) -> str:
        """The text at an offset, for an error."""
        rest = self.text[offset : offset + 30].strip().partition("\n")[0]
        return repr(rest[:20]) if rest else "the end"


class Scan:
    """The structure of a text, scanned lazily."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closers = _closers(text)
        self._actions = [match.start() for match in _NEXT_ACTION.finditer(text)] if "'" in text else []
        self._quotes: list[tuple[int, int]] = []
        self._marks = self._scan()
        self._last = Mark("", -1)

    def marks_from(self, offset: int) -> Iterator[Mark]:
        """The marks from an offset on. Offsets must not decrease, so that each mark is visited once."""
        if self._last.offset >= offset:
            yield self._last
        for mark in self._marks:
            self._last = mark
            if mark.offset >= offset:
                yield mark

    def in_quotes(self, offset: int) -> bool:
        """Whether a character is inside quotes. The marks after it must have been requested."""
        index = bisect_right(self._quotes, (offset, MAX_TEXT + 1)) - 1
        return index >= 0 and offset < self._quotes[index][1]

    def _scan(self) -> Iterator[Mark]:
        until = 0
        for match in _SYMBOL.finditer(self._text):
            symbol, offset = match[0], match.start()
            if offset < until:
                continue
            if symbol not in self._closers:
                yield Mark(symbol, offset)
            elif offset == 0 or not self._text[offset - 1].isalnum():
                end = self._closers[symbol].after(offset)
                if end is not None and not (symbol == "'" and self._has_action(offset, end)):
                    until = end + 1
                    self._quotes.append((offset, until))

    def _has_action(self, begin: int, end: int) -> bool:
        index = bisect_right(self._actions, begin)
        return index < len(self._actions) and self._actions[index] < end


def references_of(text: str, *, structure: Scan, start: int, end: int) -> tuple[Reference, ...]:
    """The references between two offsets of a text, with offsets from `start`."""
    references = []
    for word in _WORD.finditer(text, start, end):
        match = _REFERENCE.fullmatch(word[0])
        if match is not None:
            at = word.start() + match.start(1)
            references.append(Reference(match[1], at - start, word.end() - start, structure.in_quotes(at)))
    return tuple(references)


class Balance:
    """The stack of open brackets."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: list[Mark] = []

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def innermost(self) -> Mark:
        return self._open[-1]

    def step(self, mark: Mark) -> None:
        """Process a mark; TurnSyntaxError if it closes no open bracket, or if too many are open."""
        if mark.symbol in CLOSING:
            self._open.append(mark)
            if len(self._open) > _MAX_DEPTH:
                raise self._source.error(f"brackets nested more than {_MAX_DEPTH} deep", offset=mark.offset)
        elif mark.symbol in _OPENING:
            if not self._open:
                raise self._source.error(f"{mark.symbol!r} closes no bracket", offset=mark.offset)
            opened = self._open.pop()
            if CLOSING[opened.symbol] != mark.symbol:
                closing = f"{CLOSING[opened.symbol]!r} for the {opened.symbol!r} in {self._source.place(opened.offset)}"
                raise self._source.error(f"expected {closing} before {mark.symbol!r}", offset=mark.offset)


class _Closers:
    """Possible ends of quotes, queried in increasing order."""

    def __init__(self, offsets: list[int]) -> None:
        self._offsets = offsets
        self._next = 0

    def after(self, offset: int) -> int | None:
        while self._next < len(self._offsets) and self._offsets[self._next] <= offset:
            self._next += 1
        return self._offsets[self._next] if self._next < len(self._offsets) else None


def _closers(text: str) -> dict[str, _Closers]:
    ends: dict[str, list[int]] = {"'": [], '"': [], "`": []}
    for match in re.finditer(r"\\.|['\"`]", text, re.DOTALL):
        symbol, end = match[0], match.end()
        if symbol in ends and not (symbol == "'" and text[end : end + 1].isalnum()):
            ends[symbol].append(match.start())
    return {symbol: _Closers(offsets) for symbol, offsets in ends.items()}
