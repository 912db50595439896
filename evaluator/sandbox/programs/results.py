"""What a program's calls gave, read from a process that may be hostile."""

import json
import signal
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.programs.wire import Failure
from evaluator.sandbox.programs.worker import Ending

MOST_MESSAGE = 1000
_Steps = Annotated[int, Field(ge=0, le=1 << 60)]
_MOST_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Returned:
    """The value of a call."""

    value: Any
    """What the schema made of the JSON value."""
    steps: int
    """That it took; 0 without the layer `language`."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A call without a value."""

    failure: Failure
    message: str
    """One sentence for the program's author."""
    line: int | None
    """Of the program, from 1."""
    steps: int = 0


CallResult = Returned | Failed


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    value: Any
    steps: _Steps


class _Failure(BaseModel):
    model_config = ConfigDict(extra="forbid")

    failure: Failure
    message: Annotated[str, Field(max_length=MOST_MESSAGE, min_length=1)]
    line: Annotated[int, Field(ge=1, le=1 << 20)] | None
    steps: _Steps


def read_results(
    answer: bytes, *, ending: Ending, calls: int, most_bytes: int, schema: TypeAdapter[Any]
) -> tuple[CallResult, ...]:
    """The result of each call.

    Args:
        answer: lines of JSON, as many as calls were finished.
        ending: of the process that wrote them.
        calls: how many were asked for.
        most_bytes: of a line.
        schema: of values.
    """
    complete = answer[: answer.rfind(b"\n") + 1].splitlines()[:calls]
    read = [_read_line(line, most_bytes=most_bytes, schema=schema) for line in complete]
    return (*read, *[_unfinished(ending)] * (calls - len(read)))


def _read_line(line: bytes, *, most_bytes: int, schema: TypeAdapter[Any]) -> CallResult:
    if len(line) > most_bytes:
        return _no_result(f"The result has more than {most_bytes:,} bytes.")
    try:
        found = json.loads(line, parse_constant=_refuse_constant)
        if _depth(found) > _MOST_DEPTH:
            return _no_result("The result is nested too deeply.")
        # Not `1e999` either, which the parser makes infinite.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
        if isinstance(found, dict) and "failure" in found:
            failed = _Failure.model_validate(found)
            message = "".join(letter if letter.isprintable() else "?" for letter in failed.message)
            return Failed(failed.failure, message, failed.line, failed.steps)
        returned = _Value.model_validate(found)
    except (ValueError, RecursionError):
        # A ValidationError and a UnicodeError are values' errors too.
        return _no_result("The result is no valid JSON text.")
    return _conforming(returned.value, steps=returned.steps, schema=schema)


def _conforming(value: JsonValue, *, steps: int, schema: TypeAdapter[Any]) -> CallResult:
    try:
        return Returned(schema.validate_python(value, strict=True), steps)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])[:100]
        words = first["msg"].removeprefix("Value error, ")[:200].rstrip(".")
        return Failed(Failure.RESULT, f"The result{place} is not as expected: {words}.", None, steps)


def _unfinished(ending: Ending) -> Failed:
    """Of a call that the process did not finish."""
    if ending.late or ending.code in {-signal.SIGXCPU, -signal.SIGKILL}:
        return Failed(Failure.TIME, "The program took too much time.", None)
    words = f"signal {-ending.code}" if ending.code < 0 else f"exit code {ending.code}"
    return Failed(Failure.LOST, f"The program ended its process ({words}).", None)


def _no_result(message: str) -> Failed:
    return Failed(Failure.RESULT, message, None)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _depth(value: object) -> int:
    """Levels of nesting, at most one more than allowed."""
    level = [value]
    for depth in range(_MOST_DEPTH + 1):
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return depth
    return _MOST_DEPTH + 1
