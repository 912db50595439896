"""The built-in functions of programs, counted and bounded. Standard library only."""

from collections.abc import Callable, Mapping
from typing import Any

from evaluator.programs.meter import Meter
from evaluator.programs.operators import operators, power

_MOST_DIGITS = 400
"""Of `round`, on either side of the point: more than a float has."""
_TYPES = {"list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset, "int": int, "float": float,
          "str": str, "bool": bool}  # fmt: skip


class Copying:
    """The module `copy`, as programs see it."""

    __slots__ = ("copy", "deepcopy")

    def __init__(self, *, copy: Callable[[Any], Any], deepcopy: Callable[[Any], Any]) -> None:
        self.copy = copy
        self.deepcopy = deepcopy


def functions(meter: Meter) -> Mapping[str, Callable[..., Any]]:
    """The functions of `language.FUNCTIONS` by their names."""
    found = {**_containers(meter), **_reading(meter), **_numbers(), **_lazy()}
    found["str"] = lambda value="": text(value, meter=meter)
    types = {found[name]: kind for name, kind in _TYPES.items()}

    def is_instance(value: Any, kinds: Any) -> bool:
        several = kinds if type(kinds) is tuple else (kinds,)
        if not all(kind in types for kind in several):
            raise TypeError(f"isinstance takes these types: {', '.join(_TYPES)}")
        return any(isinstance(value, types[kind]) for kind in several)

    return {**found, "isinstance": is_instance}


def text(value: Any, *, meter: Meter) -> str:
    """`str` of a value, bounded."""
    if type(value) is not str:
        meter.measure(value)
    return str(value)


def formatting(meter: Meter) -> Mapping[str, Callable[[Any], Any]]:
    """What f-strings apply to their values: `text`, `measured` before a conversion, `formatted` before a format."""

    def measured(value: Any) -> Any:
        meter.measure(value)
        return value

    def formatted(value: Any) -> Any:
        if type(value) not in {int, float, str, bool}:
            raise TypeError(f"a value of type {type(value).__name__} has no format")
        return measured(value)

    return {"text": lambda value: text(value, meter=meter), "measured": measured, "formatted": formatted}


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


def _numbers() -> dict[str, Callable[..., Any]]:
    def rounded(number: Any, ndigits: Any = None) -> Any:
        if isinstance(ndigits, int) and abs(ndigits) > _MOST_DIGITS:
            raise ValueError(f"round to at most {_MOST_DIGITS} digits")
        return round(number, ndigits)

    return {
        "abs": lambda number, /: abs(number),
        "round": rounded,
        "int": lambda *values: int(*values),
        "float": lambda *values: float(*values),
        "bool": lambda *values: bool(*values),
        "divmod": lambda number, divisor, /: divmod(number, divisor),
        "pow": power,
        "chr": lambda number, /: chr(number),
        "ord": lambda letter, /: ord(letter),
    }


def _lazy() -> dict[str, Callable[..., Any]]:
    """Functions whose results are counted where they are read. Not the types themselves, which have attributes."""
    return {
        "range": lambda *bounds: range(*bounds),
        "enumerate": lambda values, start=0: enumerate(values, start),
        "zip": lambda *values, strict=False: zip(*values, strict=strict),
        "map": lambda function, /, *values: map(function, *values),
        "filter": lambda function, values, /: filter(function, values),
        "reversed": lambda values, /: reversed(values),
    }


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
            return value
        if id(value) in known:
            return known[id(value)]
        meter.step(1)
        meter.items(len(value))
        if kind is list:
            made: Any = known.setdefault(id(value), [])
            made.extend(deep(item, known) for item in value)
        elif kind is dict:
            made = known.setdefault(id(value), {})
            made.update((key, deep(item, known)) for key, item in value.items())
        else:
            made = known[id(value)] = kind(deep(item, known) for item in value)
        return made

    return Copying(copy=copy, deepcopy=lambda value, /: deep(value, {}))
