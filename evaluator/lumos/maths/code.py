"""The tool `Code`: short Python programs whose answer is a number, run where hostile programs are.

The argument is a program, or a text in quotes that is one. The value of its last expression is the answer, or what its
last function without required arguments returns. Earlier results are variables: `R1` is an int where it is whole, a
float where it is another number, a list where it has several values.

Ints are exact, and so are floats of at most 12 significant digits and whole ones below 2^53; others are `about` a
number.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter

from evaluator.core.process import literal
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, ToolFault
from evaluator.lumos.maths.algebra import arithmetic
from evaluator.lumos.maths.algebra.errors import MathsError
from evaluator.lumos.maths.algebra.values import Number, bounded
from evaluator.lumos.maths.process import ToolProcess
from evaluator.sandbox.programs.results import CallResult, Failed
from evaluator.sandbox.programs.runner import Program, Runner
from evaluator.sandbox.programs.support import UnconfinedError, support
from evaluator.sandbox.programs.wire import Failure, Limits
from evaluator.sandbox.programs.worker import WorkerError

_EXACT_DIGITS = 12
_EXACT_WHOLE = 2**53
# The steps run out before the time does on slow machines too, so that the sentence is the same everywhere.
_LIMITS = Limits(steps=1_000_000, cpu_seconds=2)
_TOO_MUCH = frozenset({Failure.STEPS, Failure.SIZE, Failure.MEMORY, Failure.TIME})


def _checked(value: object) -> object:
    """A number, or a list of numbers."""
    numbers = value if isinstance(value, list) else [value]
    if all(type(one) is int or (type(one) is float and math.isfinite(one)) for one in numbers):
        return value
    raise ValueError("it must be a number, or a list of numbers")


_ANSWER: TypeAdapter[Any] = TypeAdapter(Annotated[Any, AfterValidator(_checked)])


class CodeTool:
    """Starts its processes with the first program. Used from one thread at a time."""

    def __init__(self, tools: ToolProcess) -> None:
        self._tools = tools
        self._open = ExitStack()
        self._runner: Runner | None = None

    def close(self) -> None:
        """End the processes."""
        self._open.close()
        self._runner = None

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """The outcome of each call of `Code`. Programs of all calls run together.

        A machine that does not confine programs, and is not allowed to run them all the same, is nobody's fault.
        """
        prepared = [self._prepared(call) for call in calls]
        programs = [one for one in prepared if isinstance(one, Program)]
        try:
            support().require()
            made = iter(self._running().run(programs, schema=_ANSWER))
        except (UnconfinedError, WorkerError) as error:
            return [ToolFault(str(error)) for _ in calls]
        return [
            _outcome(next(made)[0], outputs=call.outputs) if isinstance(one, Program) else one
            for call, one in zip(calls, prepared, strict=True)
        ]

    def _prepared(self, call: Call) -> Program | Refused | ToolFault:
        text = call.arguments.strip()
        if not text:
            return Refused(ActionProblem.BAD_ARGUMENTS, "Code needs a program.")
        assignments = []
        for name, value in sorted(call.values.items()):
            literal = self._tools.literal(value)
            if not isinstance(literal, str):
                return literal
            assignments.append(f"{name} = {literal}")
        # On one line, so that the lines of the program are one further down.
        return Program(source=f"{'; '.join(assignments) or 'pass'}\n{_unquoted(text)}")

    def _running(self) -> Runner:
        if self._runner is None:
            self._runner = self._open.enter_context(Runner(limits=_LIMITS))
        return self._runner


def _unquoted(text: str) -> str:
    """The program in a text literal, or the text itself."""
    try:
        found = literal(text) if text[0] in "\"'" else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return found if isinstance(found, str) else text


def _outcome(result: CallResult, *, outputs: int) -> Outcome:
    if isinstance(result, Failed):
        return _failed(result)
    value = result.value
    values = value if isinstance(value, list) else [value]
    if len(values) != outputs or (outputs == 1 and isinstance(value, list)):
        there = f"a list of {len(value)}" if isinstance(value, list) else "one number"
        wanted = "one number" if outputs == 1 else f"a list of {outputs} numbers"
        return Refused(ActionProblem.BAD_ARGUMENTS, f"The program gives {there}, and the action takes {wanted}.")
    try:
        return Made(tuple(bounded(_number(one).text) for one in values))
    except MathsError as error:
        return Refused(ActionProblem.TOO_MUCH, f"{error.message[:1].upper()}{error.message[1:]}.")


def _failed(failed: Failed) -> Outcome:
    if failed.failure is Failure.UNAVAILABLE:
        return ToolFault(failed.message)
    problem = ActionProblem.TOO_MUCH if failed.failure in _TOO_MUCH else ActionProblem.TOOL_ERROR
    line = "" if failed.line is None or failed.line < 2 else f"Line {failed.line - 1}: "
    return Refused(problem, f"{line}{failed.message}")


def _number(value: float) -> Number:
    if isinstance(value, int):
        return Number(arithmetic.sized(value))
    if value.is_integer() and abs(value) < _EXACT_WHOLE:
        return Number(int(value))
    text = repr(value)
    digits = len(text.partition("e")[0].replace(".", "").strip("-0"))
    found = arithmetic.sized(Fraction(text))
    return Number(found) if digits <= _EXACT_DIGITS else Number(arithmetic.rounded(found), exact=False)
