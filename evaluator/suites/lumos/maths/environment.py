"""Word problems in turns: exact tools, and answers compared as numbers."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.canonical_json import digest
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.suites.base import Suite, Task
from evaluator.suites.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.suites.lumos.maths.algebra.values import read_value
from evaluator.suites.lumos.maths.scoring import VERSION, score_answer
from evaluator.suites.lumos.maths.tools import ToolFailure, run
from evaluator.suites.lumos.tasks import TurnTask
from evaluator.transcripts import ActionProblem, Transcript

if TYPE_CHECKING:
    from evaluator.records import Reason

_TOOLS_VERSION = 1
"""Of the tools' behaviour; raise it when the same action may have another result."""
_REMEMBERED = 100_000
_PROBLEMS = MappingProxyType(
    {
        Failure.LIMIT: ActionProblem.TOO_MUCH,
        Failure.DOMAIN: ActionProblem.TOOL_ERROR,
        Failure.UNSOLVED: ActionProblem.TOOL_ERROR,
        Failure.REFERENCE: ActionProblem.BAD_REFERENCE,
        Failure.UNKNOWN_TOOL: ActionProblem.UNKNOWN_TOOL,
        Failure.UNAVAILABLE: ActionProblem.UNAVAILABLE,
    }
)


class MathsEnvironment:
    """The tools of word problems. Equal calls of all episodes are computed once."""

    def __init__(self) -> None:
        self._known: dict[str, Outcome] = {}

    def digest(self) -> str:
        """See `Environment`."""
        return digest({"environment": "maths", "tools": _TOOLS_VERSION, "scoring": VERSION})

    def not_run(self, suite: Suite) -> "Mapping[str, tuple[Reason, str]]":
        """See `Environment`: every task can run."""
        del suite
        return {}

    def scope(self, task: Task) -> str:
        """See `Environment`: the tools act on nothing but their arguments."""
        del task
        return ""

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`."""
        return [self._run(call) for call in calls]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """1 for the right number; `same_text` is LUMOS's comparison of texts."""
        del transcript
        assert isinstance(task, TurnTask)
        found = None if answer is None else score_answer(answer=answer, reference=Fraction(task.answer))
        right = float(found is not None and found.is_equal)
        same = float(found is not None and found.is_same_text)
        return TurnScore(score=right, indicators={"solved": right, "same_text": same}, expected=task.answer)

    def _run(self, call: Call) -> Outcome:
        key = digest(call.identity())
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = _computed(call)
        return self._known[key]


def _computed(call: Call) -> Outcome:
    try:
        values = {name: read_value(text) for name, text in call.values.items()}
    except MathsError as error:
        return Refused(ActionProblem.BAD_REFERENCE, f"An earlier result cannot be used: {error}.")
    found = run(tool=call.tool, arguments=call.arguments, values=values, outputs=call.outputs)
    if isinstance(found, ToolFailure):
        return Refused(_PROBLEMS.get(found.kind, ActionProblem.BAD_ARGUMENTS), _sentence(found))
    return Made(found.texts)


def _sentence(failure: ToolFailure) -> str:
    text = failure.sentence.rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
