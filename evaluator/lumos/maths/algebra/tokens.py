"""Tokens of expressions: numbers, references, names, operators and brackets.

A comma inside a number separates thousands (`80,000`) where commas do not separate arguments. `$` before a number means
nothing. Names are Latin or Greek letters, digits and underscores. The signs of Unicode for times, divided by, minus, at
most, at least, not equal, squared and cubed are read as the operators that they stand for.
"""

import re
from typing import NamedTuple

from evaluator.lumos.maths.algebra.errors import MAX_TEXT, Failure, MathsError

NUMBER, REFERENCE, NAME, RELATION, SYMBOL, END = "number", "reference", "name", "relation", "symbol", "end"
_BLANK = "blank"
_PLAIN = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4}(?![\w.]))?"
_PART = r"[A-Za-z0-9_\u0370-\u03ff]"
_REST = (
    rf"|(?P<reference>R[0-9]{{1,9}}(?!{_PART}|\.[0-9]))"
    rf"|(?P<name>(?!R[0-9]+(?!{_PART}))[A-Za-z\u0370-\u03ff]{_PART}*)"
    r"|(?P<relation><=|>=|==|!=|[=<>≤≥≠])"
    r"|(?P<symbol>\*\*|[-+*/%^!()\[\]{},;\u00d7\u00b7\u00f7\u2212\u2013\u00b2\u00b3])"
    r"|(?P<blank>[\s\u00a0]+|\$(?=\s{0,9}[.0-9(R]))"
)
_TOKEN = re.compile(f"(?P<number>{_PLAIN})" + _REST)
_THOUSANDS = re.compile(rf"(?P<number>[0-9]{{1,3}}(?:,[0-9]{{3}})+(?![0-9])(?:\.[0-9]+)?|{_PLAIN})" + _REST)
_WRITTEN = {
    "\u00d7": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "\u2013": "-",
    "^": "**",
    "==": "=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class Token(NamedTuple):
    """A token, with its offset in the text."""

    kind: str
    text: str
    at: int


def tokens_of(text: str, *, thousands: bool) -> list[Token]:
    """The tokens of a text, and one for its end.

    Args:
        text: an expression, or several with separators.
        thousands: whether a comma outside brackets may be part of a number.

    Raises:
        MathsError: it is too long, or has a character without a meaning.
    """
    if len(text) > MAX_TEXT:
        raise MathsError(Failure.LIMIT, f"the expression has {len(text)} characters; at most {MAX_TEXT} are read")
    found: list[Token] = []
    # Whether commas separate arguments, for each open bracket.
    lists = [not thousands]
    at = 0
    while at < len(text):
        match = (_TOKEN if lists[-1] else _THOUSANDS).match(text, at)
        if match is None:
            raise MathsError(Failure.SYNTAX, f"the character {text[at]!r} has no meaning in an expression", offset=at)
        kind, symbol = match.lastgroup or "", match[0]
        if kind == SYMBOL:
            if symbol in _OPENING:
                lists.append(bool(found) and found[-1].kind in (NAME, REFERENCE))
            elif symbol in _CLOSING and len(lists) > 1:
                lists.pop()
            symbol = _WRITTEN.get(symbol, symbol)
        elif kind == RELATION:
            symbol = _WRITTEN.get(symbol, symbol)
        if kind != _BLANK:
            found.append(Token(kind, symbol, at))
        at = match.end()
    found.append(Token(END, "", at))
    return found
