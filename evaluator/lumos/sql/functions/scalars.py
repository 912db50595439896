"""MySQL's functions that SQLite lacks or defines differently.

Names with `MY_` are written by the translation for special syntax, such as CAST. The length of a result is checked
before the result is built.
"""

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation

from evaluator.lumos.sql.collation import compare, key
from evaluator.lumos.sql.functions import dates
from evaluator.lumos.sql.outcome import Cell, Reason, StatementError

LONGEST_VALUE = 200_000
"""Maximum size of a value in bytes. A statement with a larger value fails."""
BUILT_IN = frozenset(
    {
        "ABS", "AVG", "COALESCE", "COUNT", "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "IFNULL", "IIF", "LAG",
        "LAST_VALUE", "LEAD", "MAX", "MIN", "NTH_VALUE", "NTILE", "NULLIF", "PERCENT_RANK", "RANK",
        "ROW_NUMBER", "SUM",
    }
)  # fmt: skip
"""SQLite's functions that need no replacement."""
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MOST_DIGITS = 30


def text_of(value: Cell | bytes) -> str:
    """A value in text context, as in MySQL."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def number_of(value: Cell | bytes) -> int | float:
    """A value in numeric context: the leading number of a text, or 0."""
    if isinstance(value, int | float):
        return value
    match = _NUMBER.match(text_of(value)[:400])
    if match is None:
        return 0
    number = float(match[0])
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _whole(value: Cell) -> int:
    number = number_of(value)
    return int(number) if math.isfinite(number) else 0


def _small(length: float) -> int:
    if length > LONGEST_VALUE:
        raise StatementError(Reason.TOO_LARGE, f"a value would be longer than {LONGEST_VALUE} bytes")
    return max(0, int(length))


def _repeated(value: Cell, count: Cell) -> str:
    text, times = text_of(value), max(0, _whole(count))
    _small(times * len(text))
    return text * times


def _whole_number(rounding: Callable[[float], int]) -> Callable[[Cell], Cell]:
    """CEIL or FLOOR."""

    def of(value: Cell) -> Cell:
        number = number_of(value)
        return rounding(number) if math.isfinite(number) and abs(number) < 2**63 else number

    return of


def _concat_ws(separator: Cell, *values: Cell) -> Cell:
    if separator is None:
        return None
    return text_of(separator).join(text_of(value) for value in values if value is not None)


def _substring(value: Cell, start: Cell, length: Cell = None) -> str:
    text, begin = text_of(value), _whole(start)
    begin = begin - 1 if begin > 0 else len(text) + begin
    if _whole(start) == 0 or not 0 <= begin <= len(text):
        return ""
    return text[begin:] if length is None else text[begin : begin + max(0, _whole(length))]


def _substring_index(value: Cell, delimiter: Cell, count: Cell) -> str:
    text, by, number = text_of(value), text_of(delimiter), _whole(count)
    if not by or not number:
        return ""
    parts = text.split(by)
    return by.join(parts[:number] if number > 0 else parts[number:])


def _locate(part: Cell, value: Cell, start: Cell = 1) -> int:
    begin = _whole(start)
    return key(text_of(value) + ".").find(key(text_of(part) + ".")[:-1], begin - 1) + 1 if begin > 0 else 0


def _replace(value: Cell, old: Cell, new: Cell) -> str:
    text, pattern, other = text_of(value), text_of(old), text_of(new)
    if not pattern:
        return text
    _small(len(text) + text.count(pattern) * (len(other) - len(pattern)))
    return text.replace(pattern, other)


def _padded(value: Cell, length: Cell, filling: Cell, *, left: bool) -> Cell:
    text, fill, width = text_of(value), text_of(filling), _small(number_of(length))
    if width <= len(text):
        return text[:width]
    if not fill:
        return None
    padding = (fill * (width // len(fill) + 1))[: width - len(text)]
    return padding + text if left else text + padding


def _trimmed(value: Cell, characters: Cell, side: Cell) -> str:
    text, piece = text_of(value), text_of(characters)
    if not piece:
        return text
    begin, end = 0, len(text)
    while side != "TRAILING" and text.startswith(piece, begin, end):
        begin += len(piece)
    while side != "LEADING" and text.endswith(piece, begin, end):
        end -= len(piece)
    return text[begin:end]


def _rounded(value: Cell, digits: Cell = 0, rounding: str = ROUND_HALF_UP) -> Cell:
    number, places = number_of(value), max(-_MOST_DIGITS, min(_MOST_DIGITS, _whole(digits)))
    if not math.isfinite(number) or (isinstance(number, int) and places >= 0):
        return number
    try:
        exact = Decimal(repr(number)).quantize(Decimal(1).scaleb(-places), rounding=rounding)
    except InvalidOperation:
        return number
    return int(exact) if isinstance(number, int) else float(exact)


def _signed(value: Cell) -> int:
    number = number_of(value)
    if isinstance(value, str) or not math.isfinite(number):
        return _whole(value)
    return int(Decimal(repr(number)).to_integral_value(rounding=ROUND_HALF_UP))


def _mod(value: Cell, by: Cell) -> Cell:
    first, second = number_of(value), number_of(by)
    if not second or not math.isfinite(first):
        return None
    if isinstance(first, int) and isinstance(second, int):
        return int(math.fmod(first, second)) if max(abs(first), abs(second)) < 2**53 else abs(first) % abs(second)
    return math.fmod(first, second)


def _real(function: Callable[..., float]) -> Callable[..., Cell]:
    """A function of real numbers; NULL where it is undefined."""

    def of(*values: Cell) -> Cell:
        try:
            result = function(*(float(number_of(value)) for value in values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return result if math.isfinite(result) else None

    return of


def _log(base: float, value: float | None = None) -> float:
    return math.log(base) if value is None else math.log(value) / math.log(base)


def _order(values: tuple[Cell, ...]) -> Callable[[Cell], int | float | str]:
    if all(isinstance(value, int | float) for value in values):
        return number_of
    return lambda value: key(text_of(value))


def _field(item: Cell, *values: Cell) -> int:
    same = [number for number, value in enumerate(values, start=1) if value is not None and _equal(item, value)]
    return same[0] if item is not None and same else 0


def _equal(first: Cell, second: Cell) -> bool:
    if isinstance(first, int | float) or isinstance(second, int | float):
        return number_of(first) == number_of(second)
    return key(text_of(first)) == key(text_of(second))


def _formatted(value: Cell, digits: Cell) -> str:
    places = max(0, min(_MOST_DIGITS, _whole(digits)))
    return f"{number_of(_rounded(value, places)):,.{places}f}"


STRICT: Mapping[str, tuple[int, Callable[..., Cell]]] = {
    "CONCAT": (-1, lambda *values: "".join(map(text_of, values))),
    "UPPER": (1, lambda value: text_of(value).upper()),
    "UCASE": (1, lambda value: text_of(value).upper()),
    "LOWER": (1, lambda value: text_of(value).lower()),
    "LCASE": (1, lambda value: text_of(value).lower()),
    "LENGTH": (1, lambda value: len(text_of(value).encode())),
    "CHAR_LENGTH": (1, lambda value: len(text_of(value))),
    "CHARACTER_LENGTH": (1, lambda value: len(text_of(value))),
    "LEFT": (2, lambda value, length: text_of(value)[: max(0, _whole(length))]),
    "RIGHT": (2, lambda value, length: text_of(value)[-_whole(length) :] if _whole(length) > 0 else ""),
    "SUBSTRING": (-1, _substring),
    "SUBSTR": (-1, _substring),
    "MID": (3, _substring),
    "SUBSTRING_INDEX": (3, _substring_index),
    "LOCATE": (-1, _locate),
    "INSTR": (2, lambda value, part: _locate(part, value)),
    "REPLACE": (3, _replace),
    "REVERSE": (1, lambda value: text_of(value)[::-1]),
    "REPEAT": (2, _repeated),
    "SPACE": (1, lambda count: " " * _small(number_of(count))),
    "LPAD": (3, lambda value, length, filling: _padded(value, length, filling, left=True)),
    "RPAD": (3, lambda value, length, filling: _padded(value, length, filling, left=False)),
    "LTRIM": (1, lambda value: text_of(value).lstrip(" ")),
    "RTRIM": (1, lambda value: text_of(value).rstrip(" ")),
    "MY_TRIM": (3, _trimmed),
    "ASCII": (1, lambda value: (text_of(value).encode() or b"\0")[0]),
    "FORMAT": (2, _formatted),
    "FIND_IN_SET": (2, lambda item, values: _field(item, *text_of(values).split(","))),
    "STRCMP": (2, lambda first, second: compare(text_of(first), text_of(second))),
    "ROUND": (-1, _rounded),
    "TRUNCATE": (2, lambda value, digits: _rounded(value, digits, ROUND_DOWN)),
    "CEIL": (1, _whole_number(math.ceil)),
    "CEILING": (1, _whole_number(math.ceil)),
    "FLOOR": (1, _whole_number(math.floor)),
    "MOD": (2, _mod),
    "SIGN": (1, lambda value: (number_of(value) > 0) - (number_of(value) < 0)),
    "POW": (2, _real(math.pow)),
    "POWER": (2, _real(math.pow)),
    "SQRT": (1, _real(math.sqrt)),
    "EXP": (1, _real(math.exp)),
    "LN": (1, _real(math.log)),
    "LOG": (-1, _real(_log)),
    "LOG2": (1, _real(math.log2)),
    "LOG10": (1, _real(math.log10)),
    "SIN": (1, _real(math.sin)),
    "COS": (1, _real(math.cos)),
    "TAN": (1, _real(math.tan)),
    "RADIANS": (1, _real(math.radians)),
    "DEGREES": (1, _real(math.degrees)),
    "PI": (0, lambda: math.pi),
    "GREATEST": (-1, lambda *values: max(values, key=_order(values))),
    "LEAST": (-1, lambda *values: min(values, key=_order(values))),
    "MY_TUPLE": (-1, lambda *values: "\x1f".join(key(text_of(value)) for value in values)),
    "ANY_VALUE": (1, lambda value: value),
    "MY_SIGNED": (1, _signed),
    "MY_TEXT": (1, text_of),
    "MY_DECIMAL": (2, lambda value, digits: float(number_of(_rounded(float(number_of(value)), digits)))),
    **dates.FUNCTIONS,
}
LENIENT: Mapping[str, tuple[int, Callable[..., Cell]]] = {
    "CONCAT_WS": (-1, _concat_ws),
    "ISNULL": (1, lambda value: int(value is None)),
    "FIELD": (-1, _field),
}
"""Functions that accept NULL; the others return NULL for it."""
