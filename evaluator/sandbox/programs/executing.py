"""Runs one program on its inputs in this process, with results as bounded JSON. Standard library only."""

import ast
import builtins
import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from evaluator.sandbox.programs.checking import check, parse
from evaluator.sandbox.programs.functions import TYPES, Copying, copying, formatting, functions
from evaluator.sandbox.programs.instrumenting import ANSWER, instrument, keep_answer, without_annotations
from evaluator.sandbox.programs.language import FUNCTIONS, MODULE, MOST_ITEMS
from evaluator.sandbox.programs.meter import Meter
from evaluator.sandbox.programs.methods import methods
from evaluator.sandbox.programs.operators import operators, slices
from evaluator.sandbox.programs.wire import Failure, FailureLine, Limits, MeterError, ProgramError

_PROGRAM = "<program>"
_LIBRARY = "<library>"
_MOST_MESSAGE = 200
"""Characters of an exception's message."""
_MOST_DEPTH = 50
"""Levels of nesting of a result."""


@dataclass(frozen=True, slots=True)
class Request:
    """A program and its calls."""

    source: str
    entry: str | None
    calls: tuple[str, ...]
    """The arguments of each call, a JSON array as text, so that calls share no values."""
    tuples: bool = True
    """Whether results may contain tuples."""


class Executor:
    """Runs programs over a library of helpers."""

    def __init__(self, *, library: Sequence[str], limits: Limits, language: bool) -> None:
        """Compile the helpers.

        Args:
            library: their source texts, trusted.
            limits: of a call.
            language: whether programs are checked, counted and bounded; tests disable it.

        Raises:
            Exception: from the source of a helper.
        """
        self._limits = limits
        self._language = language
        self._meter = Meter(steps=limits.steps, memory_bytes=limits.memory_bytes)
        self._functions = functions(self._meter)
        self._module = copying(self._meter)
        self._guards = _guards(self._meter, self._functions, module=self._module)
        self._library = []
        for source in library:
            tree = ast.parse(source)
            if language:
                instrument(tree, trusted=True)
            self._library.append(compile(tree, _LIBRARY, "exec", dont_inherit=True))
        self._helpers = frozenset(self._fresh_helpers())

    def run(self, request: Request, *, write: Callable[[str], object]) -> None:
        """Run all calls of a program; each writes one line of JSON: `{"value": ..., "steps": ...}`, or a failure."""
        try:
            code, entry = self._compiled(request)
        except ProgramError as error:
            line = FailureLine(failure=error.failure, message=error.message, line=error.line).dumps()
            for _ in request.calls:
                write(line)
            return
        for arguments in request.calls:
            write(self._line(code, entry=entry, arguments=arguments, tuples=request.tuples))

    def _line(self, code: CodeType, *, entry: str | None, arguments: str, tuples: bool) -> str:
        self._meter.start()
        try:
            value = self._value(code, entry=entry, arguments=json.loads(arguments))
            answer = encoded(value, most_bytes=self._limits.answer_bytes, tuples=tuples)
        except BaseException as error:  # noqa: BLE001 - whatever the program raises, including SystemExit
            return _failure(error, steps=self._meter.used()).dumps()
        return f'{{"value": {answer}, "steps": {self._meter.used()}}}'

    def _value(self, code: CodeType, *, entry: str | None, arguments: list[Any]) -> Any:
        names = self._fresh_names()
        exec(code, names)  # noqa: S102 - the purpose of this package
        if entry is None:
            return names[ANSWER]
        function = names.get(entry)
        if not isinstance(function, FunctionType):
            raise ProgramError(Failure.ENTRY, f"The program defines no function {entry}.")
        return function(*arguments)

    def _compiled(self, request: Request) -> tuple[CodeType, str | None]:
        """The program's code, and the function to call; None if its last expression is the answer."""
        if self._language:
            tree = without_annotations(parse(request.source))
            check(request.source, tree, helpers=self._helpers)
        else:
            tree = parse(request.source)
        entry = request.entry if request.entry is not None else _entry(tree)
        if self._language:
            instrument(tree)
        try:
            return compile(tree, _PROGRAM, "exec", dont_inherit=True), entry
        except SyntaxError as error:
            words = (error.msg or "invalid syntax")[:_MOST_MESSAGE]
            raise ProgramError(Failure.SYNTAX, f"The program is no Python: {words}.", line=error.lineno) from None
        except (RecursionError, MemoryError, ValueError):
            raise ProgramError(Failure.REFUSED, "The program is nested too deeply.") from None

    def _fresh_names(self) -> dict[str, Any]:
        """The global names of a call, built for each call so that no state is left over."""
        if not self._language:
            return {"__builtins__": builtins, MODULE: copy, **self._fresh_helpers()}
        return {
            "__builtins__": {},
            **self._guards.of_programs,
            **self._functions,
            MODULE: self._module,
            **self._fresh_helpers(),
        }

    def _fresh_helpers(self) -> dict[str, Any]:
        names: dict[str, Any] = {"__builtins__": builtins, "__name__": "library", **self._guards.of_helpers}
        for code in self._library:
            exec(code, names)  # noqa: S102 - trusted
        return {
            name: value
            for name, value in names.items()
            if not name.startswith(("_", "@"))
            and (
                type(value) in {str, int, float}
                or (isinstance(value, FunctionType) and value.__code__.co_filename == _LIBRARY)
            )
        }


@dataclass(frozen=True, slots=True)
class _Guards:
    """The functions that `instrument` inserts into programs and helpers, by name with a leading `@`."""

    of_programs: Mapping[str, Any]
    of_helpers: Mapping[str, Any]


def _guards(meter: Meter, counted: Mapping[str, Callable[..., Any]], *, module: Copying) -> _Guards:
    replaced = {getattr(builtins, name): counted[name] for name in FUNCTIONS if hasattr(builtins, name)}
    replaced |= {copy.copy: module.copy, copy.deepcopy: module.deepcopy}

    def bounded(function: Any) -> Any:
        return replaced.get(function, function)

    def change(operator: Callable[[Any, Any], Any], container: Any, index: Any, item: Any, value: Any) -> None:
        container[index] = operator(item, value)

    def lookup(target: Any, name: str) -> Any:
        value = getattr(target, name)
        return bounded(value) if target is copy else value

    shared = {"step": meter.step, "change": change, **operators(meter), **slices(meter), **formatting(meter)}
    types = {counted[name]: kind for name, kind in TYPES.items()}
    of_programs = {**shared, **methods(meter, module=module, types=types)}
    of_helpers = {**shared, "bounded": bounded, **methods(meter, module=module, types=types, trusted=lookup)}
    return _Guards(
        of_programs={f"@{name}": value for name, value in of_programs.items()},
        of_helpers={f"@{name}": value for name, value in of_helpers.items()},
    )


def _entry(tree: ast.Module) -> str | None:
    """The last function without required arguments; None if the program ends with an expression."""
    if keep_answer(tree):
        return None
    for function in reversed([node for node in tree.body if isinstance(node, ast.FunctionDef)]):
        required = len(function.args.posonlyargs) + len(function.args.args) - len(function.args.defaults)
        if not required and None not in function.args.kw_defaults:
            return function.name
    raise ProgramError(
        Failure.ENTRY, "The program gives no answer; end it with an expression, or define a function without arguments."
    )


def _failure(error: BaseException, *, steps: int) -> FailureLine:
    # The innermost line of the program in the traceback.
    line, place = None, error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename == _PROGRAM:
            line = place.tb_lineno
        place = place.tb_next
    match error:
        case ProgramError() | MeterError():
            failure, message = error.failure, error.message
        case MemoryError():
            failure, message = Failure.MEMORY, "The program used too much memory."
        case RecursionError():
            failure, message = Failure.ERROR, "The program raised RecursionError: functions call each other too deeply."
        case _:
            failure, message = Failure.ERROR, f"The program raised {_described(error)}."
    return FailureLine(failure=failure, message=message, line=line, steps=steps)


def _described(error: BaseException) -> str:
    """The class and message of an exception, without `str`, which may format a value of any size."""
    name = type(error).__name__[:60]
    first = error.args[0] if error.args else None
    if type(first) in {int, float, bool}:
        return f"{name}: {first!r}"[:_MOST_MESSAGE]
    if type(first) is not str or not first:
        return name
    message = first if len(first) <= _MOST_MESSAGE else f"{first[:_MOST_MESSAGE]}..."
    return f"{name}: {repr(message) if isinstance(error, KeyError) else message.rstrip('.')}"


def encoded(value: Any, *, most_bytes: int, tuples: bool = True) -> str:
    """A result as JSON of at most `most_bytes`; with `tuples`, tuples become lists.

    Raises:
        ProgramError: it is not JSON, or too large.
    """
    budget, lists = [MOST_ITEMS], frozenset({list, tuple} if tuples else {list})
    try:
        text = json.dumps(_plain(value, budget=budget, lists=lists, depth=0), allow_nan=False)
    except ValueError:
        raise ProgramError(Failure.RESULT, "The result contains an integer that is too large.") from None
    if len(text) > most_bytes:
        raise ProgramError(Failure.RESULT, f"The result has more than {most_bytes:,} bytes.")
    return text


def _plain(value: Any, *, budget: list[int], lists: frozenset[type], depth: int) -> Any:
    kind = type(value)
    budget[0] -= 1
    if budget[0] < 0:
        raise ProgramError(Failure.RESULT, f"The result has more than {MOST_ITEMS:,} items.")
    if depth > _MOST_DEPTH:
        raise ProgramError(Failure.RESULT, f"The result is nested deeper than {_MOST_DEPTH} levels.")
    if kind is float and not math.isfinite(value):
        raise ProgramError(Failure.RESULT, "The result contains a number that is not finite.")
    if kind in {str, int, float, bool, type(None)}:
        return value
    if kind in lists:
        return [_plain(item, budget=budget, lists=lists, depth=depth + 1) for item in value]
    if kind is dict:
        if any(type(key) is not str for key in value):
            raise ProgramError(Failure.RESULT, "The result contains a dict whose keys are not texts.")
        return {key: _plain(item, budget=budget, lists=lists, depth=depth + 1) for key, item in value.items()}
    if kind is tuple:
        raise ProgramError(Failure.RESULT, "The result contains a tuple where a list is expected.")
    raise ProgramError(Failure.RESULT, f"The result contains a value of type {kind.__name__[:40]}, which is not JSON.")
