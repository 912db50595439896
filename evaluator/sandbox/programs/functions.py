"""The built-in functions for programs, counted and bounded. Standard library only."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from evaluator.sandbox.programs.meter import Meter
from evaluator.sandbox.programs.operators import bounding, operators

_MOST_DIGITS = 400
"""For `round`, on either side of the decimal point: more than a float has."""
TYPES: Final[Mapping[str, type]] = {
    "list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset, "int": int, "float": float,
    "str": str, "bool": bool,
}  # fmt: skip
"""The types that conversion functions represent."""
_ATOMS = frozenset({str, int, float, bool, type(None)})
_SHARED = _ATOMS | {frozenset, range, FunctionType, BuiltinFunctionType}
"""Types whose values copies share."""
_LAZY = frozenset({map, zip, filter, enumerate})
_NARROW = 64
"""Number of iterables up to which `zip` and `map` do not count each of them."""


class Copying:
    """The module `copy`, as programs see it."""

    __slots__ = ("copy", "deepcopy")

    def __init__(self, *, copy: Callable[[Any], Any], deepcopy: Callable[[Any], Any]) -> None:
        self.copy = copy
        self.deepcopy = deepcopy


def functions(meter: Meter) -> Mapping[str, Callable[..., Any]]:
    """The functions of `language.FUNCTIONS` by their names."""
    named = {**_containers(meter), **_reading(meter), **_numbers(meter), **_lazy(meter)}
    named["str"] = lambda value="": text(value, meter=meter)
    types = {named[name]: kind for name, kind in TYPES.items()}

    def is_instance(value: Any, kinds: Any) -> bool:
        several = kinds if type(kinds) is tuple else (kinds,)
        if not all(kind in types for kind in several):
            raise TypeError(f"isinstance takes these types: {', '.join(TYPES)}")
        return any(isinstance(value, types[kind]) for kind in several)

    return {**named, "isinstance": is_instance}


def text(value: Any, *, meter: Meter) -> str:
    """`str` of a value, bounded."""
    if type(value) is str:
        meter.characters(len(value))
    else:
        meter.measure(value)
    return str(value)


def formatting(meter: Meter) -> Mapping[str, Callable[[Any], Any]]:
    """The functions for f-strings: `text` for values, `measured` before a conversion, `formatted` before a format, and
    `joined` for the whole."""

    def measured(value: Any) -> Any:
        meter.measure(value)
        return value

    def formatted(value: Any) -> Any:
        if type(value) not in {int, float, str, bool}:
            raise TypeError(f"a value of type {type(value).__name__} has no format")
        return measured(value)

    def joined(value: str) -> str:
        meter.characters(len(value))
        return value

    return {
        "text": lambda value: text(value, meter=meter),
        "measured": measured,
        "formatted": formatted,
        "joined": joined,
    }


def _containers(meter: Meter) -> dict[str, Callable[..., Any]]:
    def hashed(kind: Callable[..., Any]) -> Callable[..., Any]:
        def make(*values: Any, **named: Any) -> Any:
            made = kind(*map(meter.taken, values), **named)
            meter.step(len(made) >> 1)
            return made

        return make

    return {
        "list": lambda values=(): list(meter.taken(values)),
        "tuple": lambda values=(): tuple(meter.taken(values)),
        "set": hashed(set),
        "frozenset": hashed(frozenset),
        "dict": hashed(dict),
        "sorted": lambda values, /, *, key=None, reverse=False: sorted(meter.taken(values), key=key, reverse=reverse),
    }


def _reading(meter: Meter) -> dict[str, Callable[..., Any]]:
    add = operators(meter)["Add"]

    def total(values: Any, /, start: Any = 0) -> Any:
        if type(start) is str:
            raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
        for value in meter.taken(values):
            start = add(start, value)
        return start

    def extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(*values: Any, **options: Any) -> Any:
            return choose(*(map(meter.taken, values) if len(values) == 1 else values), **options)

        return chosen

    return {
        "len": lambda values, /: len(values),
        "sum": total,
        "max": extreme(max),
        "min": extreme(min),
        "all": lambda values, /: all(meter.taken(values)),
        "any": lambda values, /: any(meter.taken(values)),
    }


def _numbers(meter: Meter) -> dict[str, Callable[..., Any]]:
    bounded, power = bounding(meter), operators(meter)["Pow"]

    def integer(*values: Any, **named: Any) -> Any:
        if values and type(values[0]) is str:
            meter.characters(len(values[0]))
        return bounded(int(*values, **named))

    def rounded(number: Any, ndigits: Any = None) -> Any:
        if isinstance(ndigits, int) and abs(ndigits) > _MOST_DIGITS:
            raise ValueError(f"round to at most {_MOST_DIGITS} digits")
        return bounded(round(number, ndigits))

    return {
        "abs": lambda number, /: bounded(abs(number)),
        "round": rounded,
        "int": integer,
        "float": lambda *values: float(*values),
        "bool": lambda *values: bool(*values),
        "divmod": lambda number, divisor, /: tuple(map(bounded, divmod(number, divisor))),
        "pow": lambda base, exp, mod=None: power(base, exp, mod),
        "chr": lambda number, /: chr(number),
        "ord": lambda letter, /: ord(letter),
    }


def _lazy(meter: Meter) -> dict[str, Callable[..., Any]]:
    """Functions whose results are counted when read. Not the types themselves, which have attributes."""

    def source(values: Any) -> Any:
        # Nested C iterators call each other without a recursion check, and would overflow the stack.
        return _each(values) if type(values) in _LAZY else values

    def rows(values: Any, *, width: int) -> Any:
        return values if width <= _NARROW else _each(values, step=partial(meter.step, width >> 3))

    return {
        "range": lambda *bounds: range(*bounds),
        "enumerate": lambda iterable, start=0: enumerate(source(iterable), start),
        "zip": lambda *values, strict=False: rows(zip(*map(source, values), strict=strict), width=len(values)),
        "map": lambda function, /, *values: rows(map(function, *map(source, values)), width=len(values)),
        "filter": lambda function, values, /: filter(function, source(values)),
        "reversed": lambda values, /: reversed(values),
    }


def _each(values: Any, *, step: Callable[[], object] | None = None) -> Iterator[Any]:
    for value in values:
        if step:
            step()
        yield value


def copying(meter: Meter) -> Copying:
    """`copy.copy` and `copy.deepcopy`, counted."""

    def copy(value: Any, /) -> Any:
        if type(value) not in {list, dict, set}:
            return value
        meter.items(len(value))
        return value.copy()

    def deep(value: Any, known: dict[int, Any]) -> Any:
        kind = type(value)
        if kind not in {list, tuple, dict, set}:
            if kind not in _SHARED:
                raise TypeError(f"cannot pickle {kind.__name__!r} object")
            return value
        if id(value) in known:
            return known[id(value)]
        meter.step(1 + (len(value) >> 2))
        meter.items(len(value))
        if kind is list:
            made: Any = known.setdefault(id(value), [])
            made.extend(item if type(item) in _ATOMS else deep(item, known) for item in value)
        elif kind is dict:
            made = known.setdefault(id(value), {})
            made.update((key, deep(item, known)) for key, item in value.items())
        else:
            made = known[id(value)] = kind(deep(item, known) for item in value)
        return made

    return Copying(copy=copy, deepcopy=lambda value, /: deep(value, {}))
