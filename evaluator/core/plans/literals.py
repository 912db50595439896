"""Reading JSON and Python literals, and the wording of error messages that the parsers share.

The scanner never calls `eval`; it is linear in time and bounded in depth.

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

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property

from evaluator.core.plans.model import PlanSyntaxError

MAX_STEPS = 100
MAX_ANSWERS = 1000
"""A site keeps no record of a plan with more."""


def load_json(text: str) -> object:
    """The value of a JSON text.

    Raises:
        PlanSyntaxError: it is not JSON; `where` is the position in the text.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise PlanSyntaxError(f"not valid JSON: {error.msg}", where=Places(text)[error.pos]) from None
    except RecursionError:
        raise PlanSyntaxError("JSON nested too deeply") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise PlanSyntaxError(f"not valid JSON: {error}") from None


class Places:
    """Positions in a text in words, each in logarithmic time."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [index for index, character in enumerate(self._text) if character == "\n"]

    def __getitem__(self, index: int) -> str:
        """`character 17`, or `line 2, column 5` if the text has several lines. The index counts from 0."""
        if not self._breaks:
            return f"character {index + 1}"
        line = bisect_left(self._breaks, index)
        return f"line {line + 1}, column {index - (self._breaks[line - 1] if line else -1)}"


def kind_of(value: object) -> str:
    """A value's kind, in words."""
    if value is None:
        return "missing or null"
    if isinstance(value, str):
        return "an empty text" if not value else "a text"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list | tuple) else "an object"


def short(text: str) -> str:
    """A text for a message: quoted, and cut if it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def spelling(name: str) -> str:
    """The normal form of all spellings of a tool's name: `Image_Captioning`, `image-captioning`."""
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def a_list(value: object, where: str) -> list[object]:
    """A value that must be a list."""
    if not isinstance(value, list):
        raise PlanSyntaxError(f"must be a list, not {kind_of(value)}", where=where)
    return value


def a_text(value: object, where: str) -> str:
    """A value that must be a text, and not an empty one."""
    if not isinstance(value, str) or not value:
        raise PlanSyntaxError(f"must be a non-empty text, not {kind_of(value)}", where=where)
    return value


def integer(*, value: object, where: str, tolerated: list[str]) -> int:
    """A whole number of at most nine digits, or the text of one, which is recorded."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return value
    if isinstance(value, str) and 0 < len(value) < 10 and value.isascii() and value.removeprefix("-").isdigit():
        tolerated.append(f"{where}: read a text as a number")
        return int(value)
    raise PlanSyntaxError(f"must be a whole number, not {kind_of(value)}", where=where)


def refuse_too_many(*, steps: Sequence[object], where: str = "") -> None:
    """Refuse a plan with more steps than a plan may have."""
    if len(steps) > MAX_STEPS:
        raise PlanSyntaxError(f"{len(steps)} steps; a plan has at most {MAX_STEPS}", where=where)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, item in pairs:
        if key in value:
            raise PlanSyntaxError(f"the key {short(key)} stands twice in one object")
        value[key] = item
    return value


MAX_DEPTH = 20
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PLAIN = {quote: re.compile(rf"[^{quote}\\]*") for quote in "'\""}
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "/": "/"}
_CONSTANTS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
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
        """Items up to a closing bracket, separated by commas; the last one may have a comma too."""
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
            return self._character(length=_HEX[letter], start=start)
        return _ESCAPES.get(letter, "\\" + letter)

    def _character(self, *, length: int, start: int) -> str:
        digits = self.text[self.index : self.index + length]
        self.index += length
        if len(digits) < length or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise self.fail(f"this escape needs {length} hexadecimal digits", index=start)
        code = int(digits, 16)
        low = _LOW_HALF.match(self.text, self.index)
        if 0xD800 <= code < 0xDC00 and low is not None:  # JSON writes U+10000 and up as a surrogate pair
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
