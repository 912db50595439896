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
"""Version of the tools; increase it when the same action may have another result."""
_MOST_CACHED = 100_000


class MathsEnvironment:
    """The tools of word problems. Results are cached across episodes, except for programs."""

    def __init__(self, *, programs: bool = True) -> None:
        """Args:
        programs: whether to offer `Code`.
        """
        self._others = (CODE,) if programs else ()
        self._cache: dict[str, Outcome] = {}
        self._tools = ToolProcess()
        self._code: CodeTool | None = None

    def close(self) -> None:
        """Stop the processes."""
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
        """See `Environment`: the tools have no state."""
        del task
        return ""

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        programs = [call for call in calls if self._is_program(call)]
        if programs and self._code is None:
            from evaluator.lumos.maths.code import CodeTool

            self._code = CodeTool(self._tools)
        outcomes = iter(self._code.run(programs) if programs and self._code else ())
        return [next(outcomes) if self._is_program(call) else self._run(call) for call in calls]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """1 for the right number; `same_text` is LUMOS's comparison of texts."""
        del transcript
        assert isinstance(task, TurnTask)
        score = None if answer is None else score_answer(answer=answer, reference=Fraction(task.answer))
        right = float(score is not None and score.is_equal)
        same = float(score is not None and score.is_same_text)
        return TurnScore(score=right, indicators={"solved": right, "same_text": same}, expected=task.answer)

    def _run(self, call: Call) -> Outcome:
        key = digest(call.identity())
        outcome = self._cache.get(key)
        if outcome is None:
            outcome = self._tools.run(
                tool=call.tool, arguments=call.arguments, values=call.values, outputs=call.outputs, others=self._others,
            )  # fmt: skip
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            if not isinstance(outcome, ToolFault):
                self._cache[key] = outcome
        return outcome

    def _is_program(self, call: Call) -> bool:
        return call.tool.strip().lower() in {name.lower() for name in self._others}
