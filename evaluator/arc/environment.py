"""The tools of ARC's suites: helpers, views, and three ways to try a candidate on the demonstrations.

Feedback on a candidate covers its results on the demonstrations, and only the sizes of its test outputs.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evaluator.arc.candidates import (
    ArcCandidate,
    Output,
    Outputs,
    Track,
    Work,
    Wrong,
    candidate_of_value,
    run_all,
    sentence,
)
from evaluator.arc.grids import LETTERS, Grid, difference, letters_of, size_of
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.plan_forms import GRIDS, PROGRAM, STEPS
from evaluator.arc.scoring import answer_text, indicators, judged, views_seen
from evaluator.arc.steps import StepError, expression_of, joined
from evaluator.arc.tasks import ArcTask
from evaluator.arc.tools import TOOLS, VIEW
from evaluator.arc.views import named_view
from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, Shown, ToolFault, TurnScore
from evaluator.replies.turns.model import Reference

if TYPE_CHECKING:
    from evaluator.sandbox.programs.runner import Runner

_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_DEPTH = 60
"""Maximum nesting of JSON. Grids need three levels."""
_TRACKS = {PROGRAM: Track.PROGRAM, STEPS: Track.STEPS, GRIDS: Track.GRIDS}
_MOST_CELLS = 12
"""Maximum number of wrong cells in feedback."""


def candidate_of(call: Call) -> ArcCandidate:
    """The candidate that an action submits.

    Raises:
        StepError: the action submits no candidate.
    """
    if call.tool == PROGRAM:
        return ArcCandidate(Track.PROGRAM, call.arguments)
    if call.tool in _TRACKS:
        try:
            content = json.loads(call.arguments)
        except (ValueError, RecursionError):
            raise StepError(f"{call.tool} takes JSON") from None
        if not isinstance(content, list):
            raise StepError(f"{call.tool} takes a JSON list")
        if call.tool == STEPS and not (content and all(isinstance(line, str) for line in content)):
            raise StepError(f"{call.tool} takes a JSON list of expressions in Python, the last one the output")
        if not _is_writable(content):
            raise StepError(f"{call.tool} takes JSON of finite numbers, nested at most {_MOST_DEPTH} levels deep")
        return ArcCandidate(_TRACKS[call.tool], content)
    if call.tool not in TOOLS.tools:
        raise StepError(f"there is no tool {call.tool!r}; there are: {', '.join(TOOLS.tools)}")
    names = tuple(dict.fromkeys(reference.name for reference in call.references))
    parts = []
    for name in names:
        value = candidate_of_value(call.values[name])
        if value is None or value.track is not Track.STEPS or not isinstance(value.content, list):
            raise StepError(f"{name} is no result of a helper")
        parts.append([str(line) for line in value.content])
    lines, ends = joined(parts)
    last = expression_of(tool=call.tool, arguments=call.arguments, names=dict(zip(names, ends, strict=True)))
    return ArcCandidate(Track.STEPS, [*lines, last])


def _is_writable(content: list[JsonValue]) -> bool:
    """Whether canonical JSON can write the content nested in other values. `NaN` and `1e999` parse but cannot be
    written."""
    level: list[JsonValue] = [content]
    for _ in range(_MOST_DEPTH):
        level = [part for value in level if isinstance(value, list) for part in value]
        if not level:
            break
    try:
        canonical_json.dumps(content)
    except (ValueError, RecursionError):
        return False
    return not level


def first_tries(transcript: Transcript) -> tuple[ArcCandidate, ...]:
    """The candidates of the first turn in which the planner tried any, that is, before any feedback."""
    tools = TOOLS.tools.keys() - {VIEW}
    turns = ([action for action in turn.actions if action.tool in tools] for turn in transcript.turns)
    results: dict[str, str] = {}
    candidates = []
    for action in next(filter(None, turns), ()):
        words = set(_WORD.findall(action.arguments))
        values = {name: value for name, value in results.items() if name in words}
        references = tuple(Reference(name, 0, 0) for name in values)
        try:
            candidate = candidate_of(
                Call(
                    scope="", tool=action.tool, arguments=action.arguments, references=references, values=values,
                    outputs=1,
                )
            )  # fmt: skip
        except StepError:
            continue
        results |= dict.fromkeys(action.outputs, candidate.text())
        candidates.append(candidate)
    return tuple(candidates)


def feedback(*, outputs: Outputs, rights: Sequence[Grid]) -> str:
    """The planner's feedback on a candidate: a line, or a line and a grid, per demonstration and test input.

    Expected test outputs are not an argument, so feedback cannot leak them.

    Args:
        outputs: of the candidate.
        rights: the expected outputs of the demonstrations.
    """
    pairs = zip(outputs.demonstrations, rights, strict=False)
    lines = [
        f"Demonstration {number}: {_comparison(output=output, right=right)}"
        for number, (output, right) in enumerate(pairs, start=1)
    ]
    for number, output in enumerate(outputs.tests, start=1):
        words = f"error. {output.sentence()}" if isinstance(output, Wrong) else f"a grid of {_size(output)} cells."
        lines.append(f"Test {number}: {words}")
    return "\n".join(lines)


def _comparison(*, output: Output, right: Grid) -> str:
    if isinstance(output, Wrong):
        return f"error. {output.sentence()}"
    if output == right:
        return "ok."
    if size_of(output) != size_of(right):
        words = f"the output has {_size(output)} cells instead of {_size(right)}"
    else:
        wrong = difference(expected=right, actual=output).cells
        cells = ", ".join(
            f"({cell.row}, {cell.column}) is {LETTERS[cell.actual]} instead of {LETTERS[cell.expected]}"
            for cell in wrong[:_MOST_CELLS]
        )
        more = "" if len(wrong) <= _MOST_CELLS else ", ..."
        words = f"{len(wrong)} of {len(right) * len(right[0])} cells differ: {cells}{more}"
    rows = "\n".join("".join(row) for row in letters_of(output))
    return f"{words}. The output is\n{rows}"


def _size(grid: Grid) -> str:
    rows, columns = size_of(grid)
    return f"{rows} x {columns}"


_RULES = 2
"""Version of results and scores; increase it when the same action or answer may yield a different one."""
_MOST_CACHED = 2048
"""Candidates whose outputs are cached: an episode's answer repeats candidates that were just tried."""


class ArcEnvironment:
    """Not thread-safe. The processes that run programs start with the first program."""

    def __init__(self, *, tasks: Mapping[str, ArcTask], expected: Callable[[str], tuple[Grid, ...]], data: str) -> None:
        """Args:
        tasks: by key.
        expected: returns the expected test outputs of a task.
        data: digest of these outputs.
        """
        self._tasks, self._expected, self._data = tasks, expected, data
        self._open = ExitStack()
        self._runner: Runner | None = None
        self._cache: OrderedDict[tuple[str, str], Outputs] = OrderedDict()

    def close(self) -> None:
        """Stop the processes."""
        self._open.close()
        self._runner = None

    def digest(self) -> str:
        parts = {"environment": "arc", "rules": _RULES, "helpers": library(), "outputs": self._data}
        return canonical_json.digest(parts)

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Environment`. Without a sandbox no task runs, unless the operator allows it."""
        from evaluator.sandbox.programs.support import UnconfinedError, support

        try:
            support().require()
        except UnconfinedError as error:
            return {task.key: (Reason.UNCONFINED, str(error)) for task in suite.tasks}
        return {}

    def scope(self, task: Task) -> str:
        return task.key

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`. Candidates of all calls run together."""
        pairs = [(call, self._prepared(call)) for call in calls]
        ready = [(call.scope, value) for call, value in pairs if isinstance(value, ArcCandidate)]
        outputs = iter(self._outputs(ready))
        return [
            self._outcome(value, call=call, outputs=next(outputs)) if isinstance(value, ArcCandidate) else value
            for call, value in pairs
        ]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: 1 if one of up to three candidates gives every test output."""
        assert isinstance(task, ArcTask)
        values = json.loads(answer) if answer else []
        assert isinstance(values, list)
        candidates = list(filter(None, (candidate_of_value(str(value)) for value in values)))
        right = self._expected(task.key)
        demonstrated = [pair.output for pair in task.demonstrations]
        outputs = self._outputs([(task.key, candidate) for candidate in candidates])
        judgements = [
            judged(candidate=candidate, outputs=made, demonstrated=demonstrated, expected=right)
            for candidate, made in zip(candidates, outputs, strict=True)
        ]
        scores = indicators(judgements, tests=len(right), first=first_tries(transcript))
        scores["views"] = float(len(views_seen(transcript, tool=VIEW)))
        return TurnScore(
            score=scores["solved_3"], indicators=scores,
            expected=canonical_json.dumps([[list(row) for row in grid] for grid in right]),
            answer=answer_text(judgements) if judgements else None,
        )  # fmt: skip

    def _prepared(self, call: Call) -> ArcCandidate | Made | Refused:
        if call.outputs != 1:
            message = f"{call.tool} has one result, and the action names {call.outputs}."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        if call.tool == VIEW:
            try:
                view = named_view(self._tasks[call.scope], call.arguments)
            except LookupError as error:
                return Refused(ActionProblem.BAD_ARGUMENTS, sentence(error))
            return Made((canonical_json.dumps(view),))
        try:
            return candidate_of(call)
        except StepError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, sentence(error))

    def _outcome(self, candidate: ArcCandidate, *, call: Call, outputs: Outputs) -> Outcome:
        if outputs.fault is not None:
            return ToolFault(outputs.fault.message)
        if outputs.refusal is not None:
            return Refused(ActionProblem.BAD_ARGUMENTS, outputs.refusal.sentence())
        rights = [pair.output for pair in self._tasks[call.scope].demonstrations]
        return Made((candidate.text(),), shown=(Shown(feedback(outputs=outputs, rights=rights)),))

    def _outputs(self, candidates: Sequence[tuple[str, ArcCandidate]]) -> list[Outputs]:
        """The candidates' outputs for the inputs of their tasks, cached."""
        keys = [(scope, candidate.text()) for scope, candidate in candidates]
        missing = {key: pair for key, pair in zip(keys, candidates, strict=True) if key not in self._cache}
        if missing:
            if self._runner is None:
                from evaluator.sandbox.programs.runner import Runner

                self._runner = self._open.enter_context(Runner(library=[library()]))
            works = [
                Work(
                    candidate=candidate,
                    demonstrations=[pair.input for pair in self._tasks[scope].demonstrations],
                    tests=self._tasks[scope].test_inputs,
                )
                for scope, candidate in missing.values()
            ]
            self._cache |= zip(missing, run_all(works, runner=self._runner), strict=True)
        results = [self._cache[key] for key in keys]
        for key, outputs in zip(keys, results, strict=True):
            if outputs.fault is not None:
                self._cache.pop(key, None)
        while len(self._cache) > max(_MOST_CACHED, len(keys)):
            self._cache.popitem(last=False)
        return results
