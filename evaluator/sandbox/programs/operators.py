"""Operators and slices with bounded results. Standard library only."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from evaluator.sandbox.programs.language import MOST_BITS
from evaluator.sandbox.programs.meter import Meter
from evaluator.sandbox.programs.wire import Failure, MeterError

_LARGE_BITS = 64
_LARGE = 1 << _LARGE_BITS
_SEQUENCES = frozenset({list, tuple})
_SETS = frozenset({set, frozenset, dict, type({}.keys()), type({}.items())})
_WHOLE = frozenset({int, bool})
_CHANGING: Mapping[str, Callable[[Any, Any], Any]] = {
    "BitOr": operator.ior, "BitAnd": operator.iand, "BitXor": operator.ixor, "Sub": operator.isub,
}  # fmt: skip
_SLICED = frozenset({list, tuple, range})


def operators(meter: Meter) -> Mapping[str, Callable[..., Any]]:
    """The functions that replace operators: by their `ast` names, `in-place Add` and so on, and `contains`."""
    binary = {**_arithmetic(meter), **_of_quotients_and_powers(meter), **_of_bits(meter)}
    in_place = {f"in-place {name}": _in_place(name, function, meter=meter) for name, function in binary.items()}
    bounded = bounding(meter)
    unary = {"USub": lambda value: bounded(-value), "Invert": lambda value: bounded(~value)}

    def contains(item: Any, values: Any) -> bool:
        kind = type(values)
        if kind is str:
            meter.characters(len(values))
        elif kind in _SEQUENCES:
            meter.items(len(values))
        elif (kind is range and type(item) not in _WHOLE) or not hasattr(kind, "__contains__"):
            # Python would compare item by item, or explain why it cannot.
            return item in (meter.taken(values) if hasattr(kind, "__iter__") else values)
        return item in values

    return {**binary, **in_place, **unary, "contains": contains}


def slices(meter: Meter) -> Mapping[str, Callable[..., Any]]:
    """`take` reads a slice, `put` assigns one, `spread` and `spread mapping` unpack."""

    def take(values: Any, start: Any, stop: Any, step: Any) -> Any:
        part = slice(start, stop, step)
        if type(values) in _SLICED:
            meter.items(len(range(*part.indices(len(values)))))
        elif type(values) is str:
            meter.characters(len(range(*part.indices(len(values)))))
        elif type(values) in _SETS:
            raise TypeError(f"{type(values).__name__} has no slices")
        return values[part]

    def put(new: Any, values: Any, start: Any, stop: Any, step: Any) -> None:
        if type(values) is list and hasattr(type(new), "__iter__"):
            new = meter.at_hand(new)
            meter.items(len(values) + len(new))
        values[start:stop:step] = new

    def spread_mapping(values: Any) -> dict[Any, Any]:
        if type(values) is not dict:
            raise TypeError("** needs a dict")
        meter.step(len(values) >> 1)
        return values

    return {"take": take, "put": put, "spread": meter.at_hand, "spread mapping": spread_mapping}


def bounding(meter: Meter) -> Callable[[Any], Any]:
    """A function that returns its argument; large integers count steps by size, or are refused."""

    def bounded(value: Any) -> Any:
        if type(value) is int and not -_LARGE < value < _LARGE:
            _need(value.bit_length())
            meter.step(value.bit_length() >> 8)
        return value

    return bounded


def _need(bits: int) -> None:
    if bits > MOST_BITS:
        raise MeterError(Failure.SIZE, f"An integer of more than {MOST_BITS:,} bits.")


def _arithmetic(meter: Meter) -> dict[str, Callable[..., Any]]:
    bounded = bounding(meter)

    def add(left: Any, right: Any) -> Any:
        kind = type(left)
        if kind is int:
            return bounded(left + right)
        if kind is type(right):
            if kind is str:
                meter.characters(len(left) + len(right))
            elif kind in _SEQUENCES:
                meter.items(len(left) + len(right))
        return left + right

    def subtract(left: Any, right: Any) -> Any:
        if type(left) is int:
            return bounded(left - right)
        if type(left) in _SETS:
            meter.step(len(left) >> 1)
        return left - right

    def multiply(left: Any, right: Any) -> Any:
        if type(left) is int and type(right) is int:
            _need(left.bit_length() + right.bit_length())
            return bounded(left * right)
        for values, times in ((left, right), (right, left)):
            if isinstance(times, int):
                if type(values) is str:
                    meter.characters(len(values) * max(0, times))
                elif type(values) in _SEQUENCES:
                    meter.items(len(values) * max(0, times))
        return left * right

    return {"Add": add, "Sub": subtract, "Mult": multiply}


def _of_quotients_and_powers(meter: Meter) -> dict[str, Callable[..., Any]]:
    bounded = bounding(meter)

    def modulo(left: Any, right: Any) -> Any:
        if type(left) is str:
            raise TypeError("% does not format texts here; use an f-string or str")
        return bounded(left % right)

    def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            if isinstance(exponent, int) and isinstance(modulus, int):
                meter.step(exponent.bit_length() * (modulus.bit_length() >> 6) ** 2 >> 5)
            return bounded(pow(base, exponent, modulus))
        if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and not -2 < base < 2:
            # Each factor contributes at least its length minus one bit.
            _need((base.bit_length() - 1) * exponent)
        result = base**exponent
        if type(result) is complex:
            raise ValueError("a root of a negative number")
        return bounded(result)

    return {"Mod": modulo, "Pow": power, "FloorDiv": lambda left, right: bounded(left // right)}


def _of_bits(meter: Meter) -> dict[str, Callable[[Any, Any], Any]]:
    bounded = bounding(meter)

    def shift(left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            _need(left.bit_length() + max(0, right))
        return bounded(left << right)

    def count(left: Any, right: Any) -> None:
        if type(left) in _SETS:
            meter.step(len(left) >> 1)
            if type(right) in _SETS:
                meter.step(len(right) >> 1)

    def unite(left: Any, right: Any) -> Any:
        count(left, right)
        return bounded(left | right)

    def intersect(left: Any, right: Any) -> Any:
        count(left, right)
        return bounded(left & right)

    def differ(left: Any, right: Any) -> Any:
        count(left, right)
        return bounded(left ^ right)

    return {
        "LShift": shift,
        "RShift": lambda left, right: bounded(left >> right),
        "BitOr": unite,
        "BitAnd": intersect,
        "BitXor": differ,
    }


def _in_place(name: str, binary: Callable[[Any, Any], Any], *, meter: Meter) -> Callable[[Any, Any], Any]:
    """The operator of an augmented assignment: lists, sets and dicts are changed in place."""

    def extend(left: Any, right: Any) -> Any:
        if type(left) is list:
            meter.items(len(left))
            left.extend(meter.taken(right))
            return left
        return binary(left, right)

    def repeat(left: Any, right: Any) -> Any:
        if type(left) is list and isinstance(right, int):
            meter.items(len(left) * max(0, right))
            left *= right
            return left
        return binary(left, right)

    def combine(left: Any, right: Any) -> Any:
        if type(left) not in {set, dict}:
            return binary(left, right)
        # Use Python's operator: the order of a set depends on the operations that created it.
        right = meter.at_hand(right) if type(left) is dict else right
        meter.step((len(left) + (len(right) if type(right) in _SETS else 0)) >> 1)
        return _CHANGING[name](left, right)

    special = {"Add": extend, "Mult": repeat, **dict.fromkeys(_CHANGING, combine)}
    return special.get(name, binary)
