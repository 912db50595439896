"""The results of a program's calls, read from an untrusted process."""

import json
import signal
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evaluator.sandbox.programs.wire import Failure
from evaluator.sandbox.programs.worker import Ending

MOST_MESSAGE = 1000
_Steps = Annotated[int, Field(ge=0, le=1 << 60)]
_MOST_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Returned:
    """The value of a call."""

    value: Any
    """The JSON value after validation by the schema."""
    steps: int
    """Steps of the call; 0 without the layer `language`."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A call without a value."""

    failure: Failure
    message: str
    """One sentence for the program's author."""
    line: int | None
    """Line of the program, from 1."""
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
        answer: a line of JSON for each finished call.
        ending: of the process that wrote them.
        calls: number of calls requested.
        most_bytes: of a line.
        schema: of values.
    """
    complete = answer[: answer.rfind(b"\n") + 1].splitlines()[:calls]
    results = [_read_line(line, most_bytes=most_bytes, schema=schema) for line in complete]
    if ending.late or ending.code in {-signal.SIGXCPU, -signal.SIGKILL}:
        unfinished = Failed(Failure.TIME, "The program took too much time.", None)
    else:
        words = f"signal {-ending.code}" if ending.code < 0 else f"exit code {ending.code}"
        unfinished = Failed(Failure.LOST, f"The program ended its process ({words}).", None)
    return (*results, *[unfinished] * (calls - len(results)))


def _read_line(line: bytes, *, most_bytes: int, schema: TypeAdapter[Any]) -> CallResult:
    if len(line) > most_bytes:
        return Failed(Failure.RESULT, f"The result has more than {most_bytes:,} bytes.", None)
    try:
        content = json.loads(line)
        if _is_too_deep(content):
            return Failed(Failure.RESULT, "The result is nested too deeply.", None)
        # Refuses NaN, infinity (which `1e999` becomes too) and lone surrogates.
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        if isinstance(content, dict) and "failure" in content:
            failed = _Failure.model_validate(content)
            message = "".join(letter if letter.isprintable() else "?" for letter in failed.message)
            return Failed(failed.failure, message, failed.line, failed.steps)
        returned = _Value.model_validate(content)
    except (ValueError, RecursionError):
        # ValidationError and UnicodeError are subclasses of ValueError.
        return Failed(Failure.RESULT, "The result is no valid JSON text.", None)
    try:
        return Returned(schema.validate_python(returned.value, strict=True), returned.steps)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])[:100]
        words = first["msg"].removeprefix("Value error, ")[:200].rstrip(".")
        return Failed(Failure.RESULT, f"The result{place} is not as expected: {words}.", None, returned.steps)


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(_MOST_DEPTH + 1):
        level = [
            item
            for parent in level
            if isinstance(parent, list | dict)
            for item in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True
