"""The tools of ARC's suites: helpers, views, and three ways to try a candidate on the demonstrations."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evaluator.arc.candidates.kept import Kept, kept_of
from evaluator.arc.candidates.steps import StepError
from evaluator.arc.feedback import feedback
from evaluator.arc.grids import Grid
from evaluator.arc.helpers.source import library
from evaluator.arc.scoring import indicators, judged, shown, views_seen
from evaluator.arc.tasks import ArcTask
from evaluator.arc.tools import VIEW
from evaluator.arc.trying import candidate_of, first_tries
from evaluator.arc.views.named import named_view
from evaluator.core import canonical_json
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, Shown, ToolFault, TurnScore

if TYPE_CHECKING:
    from evaluator.arc.candidates.running import Outputs, Work
    from evaluator.sandbox.programs.runner import Runner

_RULES = 2
"""Raise it when the same action may have another result, or the same answer another score."""
_KEPT = 2048
"""Candidates whose outputs are kept: an episode's answer names those that were just tried."""


class ArcEnvironment:
    """Used from one thread at a time. Processes for programs start when the first one runs."""

    def __init__(self, *, tasks: Mapping[str, ArcTask], expected: Callable[[str], tuple[Grid, ...]], data: str) -> None:
        """Args:
        tasks: by key.
        expected: the right outputs of a task's tests.
        data: digest of these outputs.
        """
        self._tasks, self._expected, self._data = tasks, expected, data
        self._open = ExitStack()
        self._runner: Runner | None = None
        self._made: OrderedDict[tuple[str, str], Outputs] = OrderedDict()

    def close(self) -> None:
        """End the processes."""
        self._open.close()
        self._runner = None

    def digest(self) -> str:
        """See `Environment`."""
        parts = {"environment": "arc", "rules": _RULES, "helpers": library(), "outputs": self._data}
        return canonical_json.digest(parts)

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Environment`: nothing runs where nothing confines programs, unless the operator allows it."""
        from evaluator.sandbox.programs.support import UnconfinedError, support

        try:
            support().require()
        except UnconfinedError as error:
            return {task.key: (Reason.UNCONFINED, str(error)) for task in suite.tasks}
        return {}

    def scope(self, task: Task) -> str:
        """See `Environment`."""
        return task.key

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`. Candidates of all calls run together."""
        prepared = [self._prepared(call) for call in calls]
        ready = [(call.scope, one) for call, one in zip(calls, prepared, strict=True) if isinstance(one, Kept)]
        made = iter(self._make(ready))
        return [
            self._tried(one, call=call, outputs=next(made)) if isinstance(one, Kept) else one
            for call, one in zip(calls, prepared, strict=True)
        ]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: 1 if one of up to three candidates gives every test output."""
        assert isinstance(task, ArcTask)
        values = json.loads(answer) if answer else []
        assert isinstance(values, list)
        candidates = [kept for value in values if (kept := kept_of(str(value))) is not None]
        made = self._make([(task.key, candidate) for candidate in candidates])
        right = self._expected(task.key)
        demonstrated = [pair.output for pair in task.demonstrations]
        found = [
            judged(candidate=candidate, outputs=outputs, demonstrated=demonstrated, expected=right)
            for candidate, outputs in zip(candidates, made, strict=True)
        ]
        values_of = indicators(found, tests=len(right), first=first_tries(transcript))
        values_of |= {"views": float(len(views_seen(transcript, tool=VIEW)))}
        expected = canonical_json.dumps([[list(row) for row in grid] for grid in right])
        return TurnScore(
            score=values_of["solved_3"], indicators=values_of, expected=expected, answer=shown(found) if found else None
        )

    def _prepared(self, call: Call) -> "Kept | Made | Refused":
        if call.outputs != 1:
            message = f"{call.tool} has one result, and the action names {call.outputs}."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        if call.tool == VIEW:
            return self._view(call)
        try:
            return candidate_of(call)
        except StepError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, _sentence(error))

    def _view(self, call: Call) -> "Made | Refused":
        try:
            found = named_view(self._tasks[call.scope], call.arguments)
        except LookupError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, _sentence(error))
        return Made((canonical_json.dumps(found),))

    def _tried(self, candidate: Kept, *, call: Call, outputs: "Outputs") -> "Made | Refused | ToolFault":
        if outputs.fault is not None:
            return ToolFault(outputs.fault.message)
        refusal = outputs.refusal
        if refusal is not None:
            return Refused(ActionProblem.BAD_ARGUMENTS, refusal.sentence())
        rights = [pair.output for pair in self._tasks[call.scope].demonstrations]
        return Made((candidate.text(),), shown=(Shown(feedback(outputs=outputs, rights=rights)),))

    def _make(self, wanted: "Sequence[tuple[str, Kept]]") -> "list[Outputs]":
        """What candidates make of the inputs of their tasks, from memory where they ran before."""
        from evaluator.arc.candidates.running import run_all

        keys = [(scope, candidate.text()) for scope, candidate in wanted]
        missing = {key: one for key, one in zip(keys, wanted, strict=True) if key not in self._made}
        if missing:
            works = [self._work(scope, candidate) for scope, candidate in missing.values()]
            self._made |= zip(missing, run_all(works, runner=self._running()), strict=True)
        found = [self._made[key] for key in keys]
        for key, outputs in zip(keys, found, strict=True):
            if outputs.fault is not None:
                self._made.pop(key, None)
        while len(self._made) > max(_KEPT, len(keys)):
            self._made.popitem(last=False)
        return found

    def _work(self, scope: str, candidate: Kept) -> "Work":
        from evaluator.arc.candidates.running import Work

        task = self._tasks[scope]
        return Work(
            candidate=candidate, demonstrations=[pair.input for pair in task.demonstrations], tests=task.test_inputs
        )

    def _running(self) -> "Runner":
        if self._runner is None:
            from evaluator.sandbox.programs.runner import Runner

            self._runner = self._open.enter_context(Runner(library=[library()]))
        return self._runner


def _sentence(error: Exception) -> str:
    return f"{str(error)[:1].upper()}{str(error)[1:]}."
