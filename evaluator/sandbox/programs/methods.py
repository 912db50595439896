"""Calls of methods: from the allow list and of exact types only, counted and bounded. Standard library only."""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from evaluator.sandbox.programs.functions import Copying
from evaluator.sandbox.programs.language import METHODS
from evaluator.sandbox.programs.meter import Meter

_Handler = Callable[..., Any]
_HASHED: tuple[type, ...] = (set, frozenset, dict)


def methods(
    meter: Meter,
    *,
    module: Copying,
    types: Mapping[Any, type],
    trusted: Callable[[Any, str], Any] | None = None,
) -> Mapping[str, _Handler]:
    """`call` calls a method by name; `attribute` returns it for a later call.

    Args:
        meter: counts.
        module: the module available to programs.
        types: functions that represent types, whose methods take the object as first argument, as in `str.upper`.
        trusted: looks up all other attributes, for helpers.
    """
    handlers = {**_of_lists(meter), **_of_dicts_and_sets(meter), **_of_texts(meter)}

    def call(target: Any, name: str, /, *values: Any, **named: Any) -> Any:
        kind = type(target)
        if name in METHODS.get(kind, ()):
            meter.step(1)
            handler = handlers.get((kind, name))
            return handler(target, *values, **named) if handler else getattr(target, name)(*values, **named)
        if target is module and name in {"copy", "deepcopy"}:
            return getattr(target, name)(*values, **named)
        if method := _unbound(target, name, types=types, call=call):
            return method(*values, **named)
        if trusted:
            return trusted(target, name)(*values, **named)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")

    def attribute(target: Any, name: str, /) -> Any:
        if name in METHODS.get(type(target), ()) or (target is module and name in {"copy", "deepcopy"}):
            return lambda *values, **named: call(target, name, *values, **named)
        if method := _unbound(target, name, types=types, call=call):
            return method
        if trusted:
            return trusted(target, name)
        raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")

    return {"call": call, "attribute": attribute}


def _unbound(target: Any, name: str, *, types: Mapping[Any, type], call: _Handler) -> _Handler | None:
    """The unbound method of a type; None if `target` is not a type, or lacks the method."""
    kind = types.get(target) if type(target) is FunctionType else None
    if kind is None or name not in METHODS.get(kind, ()):
        return None

    def method(first: Any, /, *values: Any, **named: Any) -> Any:
        if type(first) is not kind:
            words = f"for {kind.__name__!r} objects doesn't apply to a {type(first).__name__!r} object"
            raise TypeError(f"descriptor {name!r} {words}")
        return call(first, name, *values, **named)

    return method


def _of_lists(meter: Meter) -> dict[tuple[type, str], _Handler]:
    def counted(name: str) -> _Handler:
        def handle(target: Any, /, *values: Any, **named: Any) -> Any:
            meter.items(len(target))
            return getattr(target, name)(*values, **named)

        return handle

    def index(target: Any, /, value: Any, *bounds: Any) -> Any:
        meter.items(len(target))
        # If the value is missing, Python formats it in the message.
        meter.measure(value)
        return target.index(value, *bounds)

    def append(target: list[Any], value: Any, /) -> None:
        if not len(target) & 1023:
            meter.items(len(target))
        target.append(value)

    def extend(target: list[Any], values: Any, /) -> None:
        meter.items(len(target))
        target.extend(meter.taken(values))

    names = ("insert", "pop", "remove", "count", "sort", "reverse", "copy")
    return {
        **{(list, name): counted(name) for name in names},
        (list, "append"): append,
        (list, "extend"): extend,
        (list, "index"): index,
        (tuple, "index"): index,
        (tuple, "count"): counted("count"),
    }


def _of_dicts_and_sets(meter: Meter) -> dict[tuple[type, str], _Handler]:
    def combining(name: str) -> _Handler:
        def handle(target: Any, /, *others: Any, **named: Any) -> Any:
            # Sized arguments keep their type: the order of a set depends on what it is combined with.
            taken = [meter.at_hand(other) for other in others]
            meter.step((len(target) + sum(map(len, taken))) >> 1)
            return getattr(target, name)(*taken, **named)

        return handle

    return {
        (kind, name): combining(name)
        for kind in _HASHED
        for name in METHODS[kind] & {
            "update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
            "isdisjoint", "copy",
        }
    }  # fmt: skip


def _of_texts(meter: Meter) -> dict[tuple[type, str], _Handler]:
    def counted(name: str) -> _Handler:
        def handle(target: str, /, *values: Any) -> Any:
            meter.characters(len(target))
            return getattr(target, name)(*values)

        return handle

    def split(target: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
        meter.items(len(target))
        return target.split(sep, maxsplit)

    def join(target: str, values: Any, /) -> str:
        parts = list(meter.taken(values))
        meter.characters(len(target) * len(parts) + sum(len(part) for part in parts if type(part) is str))
        return target.join(parts)

    def replace(target: str, old: str, new: str, count: int = -1, /) -> str:
        meter.characters(len(target) + target.count(old) * len(new))
        return target.replace(old, new, count)

    special: dict[str, _Handler] = {"split": split, "join": join, "replace": replace}
    return {(str, name): special.get(name) or counted(name) for name in METHODS[str]}
