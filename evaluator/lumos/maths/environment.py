"""Word problems in turns: exact tools, and answers compared as numbers."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import digest
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import Transcript
from evaluator.episodes.turns.environment import Call, Outcome, ToolFault, TurnScore
from evaluator.lumos.maths.process import ToolProcess
from evaluator.lumos.maths.scoring import VERSION, score_answer
from evaluator.lumos.maths.tools import CODE
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.core.records import Reason
    from evaluator.lumos.maths.code import CodeTool

_TOOLS_VERSION = 4
"""Of the tools' behaviour; raise it when the same action may have another result."""
_REMEMBERED = 100_000


class MathsEnvironment:
    """The tools of word problems. Equal calls of all episodes are computed once, except for programs."""

    def __init__(self, *, programs: bool = True) -> None:
        """Args:
        programs: whether there is `Code`.
        """
        self._others = (CODE,) if programs else ()
        self._known: dict[str, Outcome] = {}
        self._tools = ToolProcess()
        self._code: CodeTool | None = None

    def close(self) -> None:
        """End the processes."""
        self._tools.close()
        if self._code is not None:
            self._code.close()

    def digest(self) -> str:
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
        programs = [call for call in calls if self._is_program(call)]
        made = iter(self._coding().run(programs) if programs else ())
        return [next(made) if self._is_program(call) else self._run(call) for call in calls]

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
        outcome = self._known.get(key)
        if outcome is None:
            outcome = self._tools.run(
                tool=call.tool,
                arguments=call.arguments,
                values=call.values,
                outputs=call.outputs,
                others=self._others,
            )
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if not isinstance(outcome, ToolFault):
                self._known[key] = outcome
        return outcome

    def _is_program(self, call: Call) -> bool:
        return call.tool.strip().lower() in {name.lower() for name in self._others}

    def _coding(self) -> "CodeTool":
        if self._code is None:
            from evaluator.lumos.maths.code import CodeTool

            self._code = CodeTool(self._tools)
        return self._code
