"""The tool `Code`: short Python programs whose answer is a number, run in the sandbox for untrusted programs.

The argument is a program, or a string literal of one. The answer is the value of its last expression, or the result of
its last function without required arguments. Earlier results are variables: `R1` is an int if it is whole, otherwise a
float, or a list if it has several values.

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
# The step limit is reached before the time limit even on slow machines, so that the outcome is deterministic.
_LIMITS = Limits(steps=1_000_000, cpu_seconds=2)
_TOO_MUCH = frozenset({Failure.STEPS, Failure.SIZE, Failure.MEMORY, Failure.TIME})


def _checked(value: object) -> object:
    numbers = value if isinstance(value, list) else [value]
    if all(type(number) is int or (type(number) is float and math.isfinite(number)) for number in numbers):
        return value
    raise ValueError("it must be a number, or a list of numbers")


_ANSWER: TypeAdapter[Any] = TypeAdapter(Annotated[Any, AfterValidator(_checked)])


class CodeTool:
    """Runs programs. Processes start with the first program. Not thread-safe."""

    def __init__(self, tools: ToolProcess) -> None:
        self._tools = tools
        self._open = ExitStack()
        self._runner: Runner | None = None

    def close(self) -> None:
        """Stop the processes."""
        self._open.close()
        self._runner = None

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """The outcome of each call of `Code`. Programs of all calls run together.

        An unavailable sandbox is a fault of the tool, not of the planner.
        """
        prepared = [self._prepared(call) for call in calls]
        programs = [program for program in prepared if isinstance(program, Program)]
        try:
            support().require()
            if self._runner is None:
                self._runner = self._open.enter_context(Runner(limits=_LIMITS))
            results = iter(self._runner.run(programs, schema=_ANSWER))
        except (UnconfinedError, WorkerError) as error:
            return [ToolFault(str(error)) for _ in calls]
        return [
            _outcome(next(results)[0], outputs=call.outputs) if isinstance(program, Program) else program
            for call, program in zip(calls, prepared, strict=True)
        ]

    def _prepared(self, call: Call) -> Program | Refused | ToolFault:
        text = call.arguments.strip()
        if not text:
            return Refused(ActionProblem.BAD_ARGUMENTS, "Code needs a program.")
        assignments = []
        for name, value in sorted(call.values.items()):
            python = self._tools.literal(value)
            if not isinstance(python, str):
                return python
            assignments.append(f"{name} = {python}")
        try:
            unquoted = literal(text) if text[0] in "\"'" else text
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            unquoted = text
        # Assignments are on one line, which shifts the program's line numbers by one.
        program = unquoted if isinstance(unquoted, str) else text
        return Program(source=f"{'; '.join(assignments) or 'pass'}\n{program}")


def _outcome(result: CallResult, *, outputs: int) -> Outcome:
    if isinstance(result, Failed):
        if result.failure is Failure.UNAVAILABLE:
            return ToolFault(result.message)
        problem = ActionProblem.TOO_MUCH if result.failure in _TOO_MUCH else ActionProblem.TOOL_ERROR
        line = "" if result.line is None or result.line < 2 else f"Line {result.line - 1}: "
        return Refused(problem, f"{line}{result.message}")
    value = result.value
    values = value if isinstance(value, list) else [value]
    if len(values) != outputs or (outputs == 1 and isinstance(value, list)):
        actual = f"a list of {len(value)}" if isinstance(value, list) else "one number"
        expected = "one number" if outputs == 1 else f"a list of {outputs} numbers"
        return Refused(ActionProblem.BAD_ARGUMENTS, f"The program gives {actual}, and the action takes {expected}.")
    try:
        return Made(tuple(bounded(_number(number).text) for number in values))
    except MathsError as error:
        return Refused(ActionProblem.TOO_MUCH, f"{error.message[:1].upper()}{error.message[1:]}.")


def _number(value: float) -> Number:
    if isinstance(value, int):
        return Number(arithmetic.sized(value))
    if value.is_integer() and abs(value) < _EXACT_WHOLE:
        return Number(int(value))
    text = repr(value)
    digits = len(text.partition("e")[0].replace(".", "").strip("-0"))
    number = arithmetic.sized(Fraction(text))
    return Number(number) if digits <= _EXACT_DIGITS else Number(arithmetic.rounded(number), exact=False)
