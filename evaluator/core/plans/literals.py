"""A scanner for Python literals and JSON values in text: never `eval`, linear in time, bounded in depth.

Grammar::

    value    = string | number | constant | list | tuple | mapping
    string   = "'" { character | escape } "'" | '"' { character | escape } '"'
    number   = ["-" | "+"] digits ["." digits] [("e" | "E") ["-" | "+"] digits]
    constant = "True" | "False" | "None" | "true" | "false" | "null"
    list     = "[" [ value { "," value } [","] ] "]"
    tuple    = "(" [ value { "," value } [","] ] ")"                        read as a list
    mapping  = "{" [ string ":" value { "," string ":" value } [","] ] "}"

Escapes are those of Python strings but `\\N{...}`, octal ones and a line break; an escape that Python does not know
stands for itself, as in Python. White space may stand between any two symbols. A line break inside a string is
tolerated and recorded.
"""

import re
from collections.abc import Callable

from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.plans.values import Places, load_json, short

MAX_DEPTH = 20
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PLAIN = {quote: re.compile(rf"[^{quote}\\]*") for quote in "'\""}
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "/": "/"}
_CONSTANTS: dict[str, object] = {
    "True": True,
    "False": False,
    "None": None,
    "true": True,
    "false": False,
    "null": None,
}
_MAX_DIGITS = 400


class Scanner:
    """A position in a text, and the symbols that can be read from there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.places = Places(text)
        self.tolerated: list[str] = []

    def fail(self, message: str, *, index: int | None = None) -> PlanSyntaxError:
        """The error to raise, at the current position or at another."""
        where = self.places[self.index if index is None else index]
        return PlanSyntaxError(message, where=where, tolerated=tuple(self.tolerated))

    def peek(self) -> str:
        """The next character after white space, or "" at the end."""
        self.index = _end(_SPACE, self.text, self.index)
        return self.text[self.index : self.index + 1]

    def at_end(self) -> bool:
        """Whether only white space is left."""
        return not self.peek()

    def take(self, symbol: str) -> bool:
        """Step over a symbol if it is next."""
        if self.peek() != symbol[0] or not self.text.startswith(symbol, self.index):
            return False
        self.index += len(symbol)
        return True

    def expect(self, symbol: str, *, after: str) -> None:
        """Step over a symbol that must be next."""
        if not self.take(symbol):
            raise self.fail(f"expected {symbol!r} after {after}, found {self.found()}")

    def found(self) -> str:
        """What is next, for an error."""
        self.peek()
        return short(self.text[self.index : self.index + 20]) if self.index < len(self.text) else "the end"

    def name(self, *, what: str) -> str:
        """An identifier."""
        self.peek()
        match = _NAME.match(self.text, self.index)
        if match is None:
            raise self.fail(f"expected {what}, found {self.found()}")
        self.index = match.end()
        return match[0]

    def items(self, *, close: str, read: Callable[[], None], what: str) -> None:
        """Items up to a closing bracket, with commas between and, if wanted, after them."""
        while not self.take(close):
            read()
            if not self.take(",") and self.peek() != close:
                raise self.fail(f"expected ',' or {close!r} after {what}, found {self.found()}")

    def value(self, *, depth: int = 0) -> object:
        """A literal of any kind."""
        if depth > MAX_DEPTH:
            raise self.fail(f"nested more than {MAX_DEPTH} deep")
        symbol = self.peek()
        if symbol in ("'", '"'):
            return self.string()
        if symbol == "{":
            return self.mapping(depth=depth)
        if symbol in ("[", "("):
            return self._list(close="]" if symbol == "[" else ")", depth=depth)
        if symbol.isalpha():
            start = self.index
            word = self.name(what="a value")
            if word not in _CONSTANTS:
                raise self.fail(f"expected a value, found {short(word)}; texts stand in quotes", index=start)
            return _CONSTANTS[word]
        return self._number()

    def string(self, *, what: str = "a text in quotes") -> str:
        """A text in single or double quotes."""
        quote = self.peek()
        if quote not in ("'", '"'):
            raise self.fail(f"expected {what}, found {self.found()}")
        start = self.index
        self.index += 1
        parts = []
        while True:
            end = _end(_PLAIN[quote], self.text, self.index)
            parts.append(self.text[self.index : end])
            self.index = end
            if end >= len(self.text):
                raise self.fail("this quote is never closed", index=start)
            if self.text[end] == quote:
                break
            parts.append(self._escape())
        self.index += 1
        value = "".join(parts)
        if "\n" in self.text[start : self.index]:
            self.tolerated.append(f"{self.places[start]}: a line break inside quotes")
        return value

    def mapping(self, *, depth: int = 0) -> dict[str, object]:
        """A mapping with texts as keys."""
        if not self.take("{"):
            raise self.fail(f"expected '{{', found {self.found()}")
        value: dict[str, object] = {}

        def item() -> None:
            self.peek()
            start = self.index
            key = self.string(what="a key in quotes")
            self.expect(":", after=f"the key {short(key)}")
            if key in value:
                raise self.fail(f"the key {short(key)} stands twice", index=start)
            value[key] = self.value(depth=depth + 1)

        self.items(close="}", read=item, what="an entry")
        return value

    def _list(self, *, close: str, depth: int) -> list[object]:
        self.index += 1
        value: list[object] = []
        self.items(close=close, read=lambda: value.append(self.value(depth=depth + 1)), what="an item")
        return value

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.index)
        if match is None:
            raise self.fail(f"expected a value, found {self.found()}")
        if len(match[0]) > _MAX_DIGITS:
            raise self.fail("a number with too many digits")
        self.index = match.end()
        return int(match[0]) if match[0].lstrip("+-").isdigit() else float(match[0])

    def _escape(self) -> str:
        start = self.index
        letter = self.text[start + 1 : start + 2]
        self.index += 2
        if letter in _HEX:
            digits = self.text[self.index : self.index + _HEX[letter]]
            self.index += _HEX[letter]
            return self._character(digits=digits, length=_HEX[letter], start=start)
        return _ESCAPES.get(letter, "\\" + letter)

    def _character(self, *, digits: str, length: int, start: int) -> str:
        if len(digits) < length or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise self.fail(f"this escape needs {length} hexadecimal digits", index=start)
        code = int(digits, 16)
        low = _LOW_HALF.match(self.text, self.index)
        if 0xD800 <= code < 0xDC00 and low is not None:  # JSON writes U+10000 and up as two halves
            self.index = low.end()
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self.fail("this escape stands for no character", index=start)
        return chr(code)


def load_literal(text: str) -> tuple[object, tuple[str, ...]]:
    """The value of a JSON text or Python literal, and what was tolerated.

    Raises:
        PlanSyntaxError: it is neither.
    """
    try:
        return load_json(text), ()
    except PlanSyntaxError as error:
        scanner = Scanner(text)
        value = scanner.value()
        if not scanner.at_end():
            raise scanner.fail(f"expected the end after the value, found {scanner.found()}") from None
        return value, (f"{error.where or 'plan'}: read as a Python literal, {error.message}", *scanner.tolerated)


def _end(pattern: re.Pattern[str], text: str, index: int) -> int:
    match = pattern.match(text, index)
    return index if match is None else match.end()
