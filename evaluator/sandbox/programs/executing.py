"""Runs one program on its inputs, in this process. Standard library only."""

import ast
import builtins
import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from evaluator.sandbox.programs.checking import check, parse
from evaluator.sandbox.programs.encoding import encoded
from evaluator.sandbox.programs.functions import TYPES, Copying, copying, formatting, functions
from evaluator.sandbox.programs.instrumenting import ANSWER, instrument, keep_answer, without_annotations
from evaluator.sandbox.programs.language import FUNCTIONS, MODULE
from evaluator.sandbox.programs.meter import Meter
from evaluator.sandbox.programs.methods import methods
from evaluator.sandbox.programs.operators import operators, slices
from evaluator.sandbox.programs.wire import Failure, FailureLine, Limits, MeterError, ProgramError

_PROGRAM = "<program>"
_LIBRARY = "<library>"
_SHOWN = 200
"""Characters of an exception's message."""


@dataclass(frozen=True, slots=True)
class Request:
    """A program and its calls."""

    source: str
    entry: str | None
    calls: tuple[str, ...]
    """The arguments of each call, a JSON array as text, so that each call gets values of its own."""
    tuples: bool = True
    """Whether results may contain tuples."""


class Executor:
    """Runs programs over a library of helpers."""

    def __init__(self, *, library: Sequence[str], limits: Limits, language: bool) -> None:
        """Compile the helpers.

        Args:
            library: their source texts, trusted.
            limits: of a call.
            language: whether programs are checked, counted and bounded; tests switch it off.

        Raises:
            Exception: a helper's text does not run.
        """
        self._limits = limits
        self._language = language
        self._meter = Meter(steps=limits.steps, memory_bytes=limits.memory_bytes)
        self._functions = functions(self._meter)
        self._module = copying(self._meter)
        self._guards = _guards(self._meter, self._functions, module=self._module)
        self._library = [self._compiled_helpers(source) for source in library]
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
        except BaseException as error:  # noqa: BLE001 - whatever the program raises, SystemExit too
            return _failure(error, steps=self._meter.used()).dumps()
        return f'{{"value": {answer}, "steps": {self._meter.used()}}}'

    def _value(self, code: CodeType, *, entry: str | None, arguments: list[Any]) -> Any:
        names = self._fresh_names()
        exec(code, names)  # noqa: S102 - what this package is for
        if entry is None:
            return names[ANSWER]
        function = names.get(entry)
        if not isinstance(function, FunctionType):
            raise ProgramError(Failure.ENTRY, f"The program defines no function {entry}.")
        return function(*arguments)

    def _compiled(self, request: Request) -> tuple[CodeType, str | None]:
        """The program's code, and the function to call; None: its last expression is the answer."""
        if self._language:
            tree = without_annotations(parse(request.source))
            check(request.source, tree, helpers=self._helpers)
        else:
            tree = parse(request.source)
        entry = _entry(tree, wanted=request.entry)
        if self._language:
            instrument(tree)
        try:
            return compile(tree, _PROGRAM, "exec", dont_inherit=True), entry
        except SyntaxError as error:
            words = (error.msg or "invalid syntax")[:_SHOWN]
            raise ProgramError(Failure.SYNTAX, f"The program is no Python: {words}.", line=error.lineno) from None
        except (RecursionError, MemoryError, ValueError):
            raise ProgramError(Failure.REFUSED, "The program is nested too deeply.") from None

    def _compiled_helpers(self, source: str) -> CodeType:
        tree = ast.parse(source)
        if self._language:
            instrument(tree, trusted=True)
        return compile(tree, _LIBRARY, "exec", dont_inherit=True)

    def _fresh_names(self) -> dict[str, Any]:
        """What a call of a program sees. New for each, so that nothing remains of another."""
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
            if not name.startswith(("_", "@")) and (type(value) in {str, int, float} or _is_helper(value))
        }


@dataclass(frozen=True, slots=True)
class _Guards:
    """The functions that `instrument` writes into programs and helpers, with an `@` before their names."""

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
        found = getattr(target, name)
        return bounded(found) if target is copy else found

    shared = {"step": meter.step, "change": change, **operators(meter), **slices(meter), **formatting(meter)}
    types = {counted[name]: kind for name, kind in TYPES.items()}
    of_programs = {**shared, **methods(meter, module=module, types=types)}
    of_helpers = {**shared, "bounded": bounded, **methods(meter, module=module, types=types, trusted=lookup)}
    return _Guards(
        of_programs={f"@{name}": value for name, value in of_programs.items()},
        of_helpers={f"@{name}": value for name, value in of_helpers.items()},
    )


def _is_helper(value: object) -> bool:
    return isinstance(value, FunctionType) and value.__code__.co_filename == _LIBRARY


def _entry(tree: ast.Module, *, wanted: str | None) -> str | None:
    """The name of the function that gives the answer; None for the last expression."""
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if wanted is not None:
        return wanted
    if keep_answer(tree):
        return None
    for function in reversed(defined):
        required = len(function.args.posonlyargs) + len(function.args.args) - len(function.args.defaults)
        if not required and not [one for one in function.args.kw_defaults if one is None]:
            return function.name
    raise ProgramError(
        Failure.ENTRY, "The program gives no answer; end it with an expression, or define a function without arguments."
    )


def _failure(error: BaseException, *, steps: int) -> FailureLine:
    line = _line_of(error)
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
    """The class and message of an exception. Not by `str`, which may write out a value of any size."""
    name = type(error).__name__[:60]
    first = error.args[0] if error.args else None
    if type(first) in {int, float, bool}:
        return f"{name}: {first!r}"[:_SHOWN]
    if type(first) is not str or not first:
        return name
    shown = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}..."
    return f"{name}: {repr(shown) if isinstance(error, KeyError) else shown.rstrip('.')}"


def _line_of(error: BaseException) -> int | None:
    """The innermost line of the program that the exception passed."""
    line, place = None, error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename == _PROGRAM:
            line = place.tb_lineno
        place = place.tb_next
    return line
