"""Running actions within limits: plain arithmetic in this process, everything else in a process with a deadline.

The size of sympy's inputs is bounded (`algebra.errors`), but not its running time. The process starts with the first
action that needs it, takes milliseconds for each, and is replaced when an action exceeds a limit.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Made, Outcome, Refused, ToolFault
from evaluator.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.lumos.maths.algebra.values import Alternatives, Number, Relations, Result, read_value
from evaluator.lumos.maths.tools import ToolFailure, run
from evaluator.sandbox.limited_process import LimitExceededError, Limits, Server, serve_many

_LIMITS = Limits(memory_bytes=512 * 1024**2, cpu_seconds=0, wall_seconds=10, most_answer_bytes=2 * 1024**2)
"""Limits of one action, without the second that the process takes to start."""
_TOO_MUCH = "This takes more work than a calculation may; split it into smaller ones."
_LOST = "The process of the maths tools ended without an answer."
_ARITHMETIC = re.compile(r"(?!.*\*\*)[-+*/().,$%\s0-9R]{1,300}", re.DOTALL)
_NUMBER = re.compile(r"(about )?-?[0-9.]{1,1100}(/[0-9]{1,1100})?(e[-+]?[0-9]{1,4})?( \(about [-+.0-9e]{1,40}\))?")
_PROBLEMS = {
    Failure.LIMIT: ActionProblem.TOO_MUCH,
    Failure.DOMAIN: ActionProblem.TOOL_ERROR,
    Failure.UNSOLVED: ActionProblem.TOOL_ERROR,
    Failure.REFERENCE: ActionProblem.BAD_REFERENCE,
    Failure.UNKNOWN_TOOL: ActionProblem.UNKNOWN_TOOL,
}


class ToolProcess:
    """Runs actions one at a time. Not thread-safe."""

    def __init__(self, limits: Limits = _LIMITS) -> None:
        self._server = Server("evaluator.lumos.maths.process", limits=limits)

    def close(self) -> None:
        """Stop the process."""
        self._server.close()

    def run(
        self, *, tool: str, arguments: str, values: Mapping[str, str], outputs: int, others: tuple[str, ...] = ()
    ) -> Outcome:
        """The outcome of one action; see `evaluator.lumos.maths.tools.run`. Values are texts."""
        if (
            tool.strip().lower() == "calculator"
            and _ARITHMETIC.fullmatch(arguments)
            and all(map(_NUMBER.fullmatch, values.values()))
        ):
            return _run(tool=tool, arguments=arguments, values=values, outputs=outputs, others=others)
        answer = self._call(
            {"tool": tool, "arguments": arguments, "values": dict(values), "outputs": outputs, "others": [*others]}
        )
        return Made(tuple(answer["values"])) if isinstance(answer, dict) else answer

    def literal(self, text: str) -> str | Refused | ToolFault:
        """An earlier result as a Python literal: an int, a float, a list of these, or a string."""
        if _NUMBER.fullmatch(text):
            return _python(read_value(text))
        answer = self._call({"literal": text})
        return str(answer["literal"]) if isinstance(answer, dict) else answer

    def _call(self, request: dict[str, Any]) -> dict[str, Any] | Refused | ToolFault:
        try:
            answer: dict[str, Any] = self._server.call(request)
        except LimitExceededError:
            return Refused(ActionProblem.TOO_MUCH, _TOO_MUCH)
        except RuntimeError:
            return ToolFault(_LOST)
        return Refused(ActionProblem(answer["problem"]), answer["message"]) if "problem" in answer else answer


def _run(
    *, tool: str, arguments: str, values: Mapping[str, str], outputs: int, others: Sequence[str]
) -> Made | Refused:
    known: dict[str, Result] = {}
    for name, text in values.items():
        value = _read(text)
        if isinstance(value, Refused):
            return value
        known[name] = value
    outcome = run(tool=tool, arguments=arguments, values=known, outputs=outputs, others=tuple(others))
    if isinstance(outcome, ToolFailure):
        sentence = outcome.sentence.rstrip(".")
        problem = _PROBLEMS.get(outcome.kind, ActionProblem.BAD_ARGUMENTS)
        return Refused(problem, f"{sentence[:1].upper()}{sentence[1:]}.")
    return Made(outcome.texts)


def _read(text: str) -> Result | Refused:
    try:
        return read_value(text)
    except MathsError as error:
        return Refused(ActionProblem.BAD_REFERENCE, f"An earlier result cannot be used: {error}.")


def _python(value: Result) -> str:
    if isinstance(value, Number):
        return repr(int(value.value) if value.value.denominator == 1 else float(Fraction(value.value)))
    if isinstance(value, Alternatives):
        return f"[{', '.join(map(_python, value.items))}]"
    if isinstance(value, Relations) and value.assignments is not None and len(value.assignments) == 1:
        return _python(read_value(next(iter(value.assignments.values()))))
    return repr(value.text)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request of `ToolProcess`."""
    outcome = _read(request["literal"]) if "literal" in request else _run(**request)
    if isinstance(outcome, Refused):
        return {"problem": outcome.problem.value, "message": outcome.message}
    return {"values": list(outcome.values)} if isinstance(outcome, Made) else {"literal": _python(outcome)}


if __name__ == "__main__":
    # Import before the first action, so that its deadline does not include the import.
    import evaluator.lumos.maths.solving  # noqa: F401

    serve_many(_answer)
