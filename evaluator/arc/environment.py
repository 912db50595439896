"""The tools of ARC's suites: helpers, views, and three ways to try a candidate on the demonstrations.

Planners are told how a candidate does on the demonstrations and the sizes of its test outputs.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evaluator.arc.candidates import Kept, Output, Outputs, Track, Wrong, kept_of
from evaluator.arc.grids import Grid, difference, letters_of, size_of
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.plan_forms import GRIDS, PROGRAM, STEPS
from evaluator.arc.scoring import indicators, judged, shown, views_seen
from evaluator.arc.steps import StepError, expression_of, joined, names_in, referred
from evaluator.arc.tasks import ArcTask
from evaluator.arc.tools import TOOLS, VIEW
from evaluator.arc.views import named_view
from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, ActionRun, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, Shown, ToolFault, TurnScore
from evaluator.replies.turns.model import Reference

if TYPE_CHECKING:
    from evaluator.arc.candidates import Outputs, Work
    from evaluator.sandbox.programs.runner import Runner


_MOST_DEPTH = 60
"""Of JSON. Grids have three levels; further ones are for the message that says so."""
_TRACKS = {PROGRAM: Track.PROGRAM, STEPS: Track.STEPS, GRIDS: Track.GRIDS}


def candidate_of(call: Call) -> Kept:
    """The candidate that an action tries.

    Raises:
        StepError: it is none.
    """
    if call.tool == PROGRAM:
        return Kept(Track.PROGRAM, call.arguments)
    if call.tool in _TRACKS:
        try:
            content = json.loads(call.arguments)
        except (ValueError, RecursionError):
            raise StepError(f"{call.tool} takes JSON") from None
        if not isinstance(content, list):
            raise StepError(f"{call.tool} takes a JSON list")
        if call.tool == STEPS and not (content and all(isinstance(line, str) for line in content)):
            raise StepError(f"{call.tool} takes a JSON list of expressions in Python, the last one the output")
        if not _can_be_kept(content):
            raise StepError(f"{call.tool} takes JSON of finite numbers, nested at most {_MOST_DEPTH} levels deep")
        return Kept(_TRACKS[call.tool], content)
    if call.tool not in TOOLS.tools:
        raise StepError(f"there is no tool {call.tool!r}; there are: {', '.join(TOOLS.tools)}")
    names = referred(call.references)
    parts = []
    for name in names:
        kept = kept_of(call.values[name])
        if kept is None or kept.track is not Track.STEPS or not isinstance(kept.content, list):
            raise StepError(f"{name} is no result of a helper")
        parts.append([str(line) for line in kept.content])
    lines, ends = joined(parts)
    last = expression_of(tool=call.tool, arguments=call.arguments, names=dict(zip(names, ends, strict=True)))
    return Kept(Track.STEPS, [*lines, last])


def _can_be_kept(content: list[JsonValue]) -> bool:
    """Whether canonical JSON can write it, also inside other values. `NaN` and `1e999` are read and not written."""
    level: list[JsonValue] = [content]
    for _ in range(_MOST_DEPTH):
        level = [part for one in level if isinstance(one, list) for part in one]
        if not level:
            break
    try:
        dumps(content)
    except (ValueError, RecursionError):
        return False
    return not level


def first_tries(transcript: Transcript) -> tuple[Kept, ...]:
    """The candidates of the first turn in which the planner tried any: nothing was known of a candidate before."""
    for turn in transcript.turns:
        tries = [action for action in turn.actions if action.tool in TOOLS.tools and action.tool != VIEW]
        if tries:
            return tuple(_tried(tries))
    return ()


def _tried(actions: Sequence[ActionRun]) -> Iterable[Kept]:
    results: dict[str, str] = {}
    for action in actions:
        named = names_in(action.arguments, known=results)
        references = tuple(Reference(name, 0, 0) for name in named)
        values = {name: results[name] for name in named}
        try:
            found = candidate_of(
                Call(
                    scope="", tool=action.tool, arguments=action.arguments, references=references, values=values,
                    outputs=1,
                )
            )  # fmt: skip
        except StepError:
            continue
        results |= dict.fromkeys(action.outputs, found.text())
        yield found


_CELLS = 12
"""Wrong cells that are listed."""


def feedback(*, outputs: Outputs, rights: Sequence[Grid]) -> str:
    """A line, or a line and grids, for each demonstration and each test input.

    Args:
        outputs: of the candidate.
        rights: the outputs of the demonstrations.
    """
    lines = [
        _pair(number=number, output=output, right=right)
        for number, (output, right) in enumerate(zip(outputs.demonstrations, rights, strict=False), start=1)
    ]
    lines += [_test(number=number, output=output) for number, output in enumerate(outputs.tests, start=1)]
    return "\n".join(lines)


def passed(*, outputs: Outputs, rights: Sequence[Grid]) -> int:
    """How many demonstrations a candidate gets right."""
    return sum(output == right for output, right in zip(outputs.demonstrations, rights, strict=False))


def _pair(*, number: int, output: Output, right: Grid) -> str:
    name = f"Demonstration {number}"
    if isinstance(output, Wrong):
        return f"{name}: error. {output.sentence()}"
    found = difference(expected=right, actual=output)
    if found.is_equal:
        return f"{name}: ok."
    if found.expected_size != found.actual_size:
        words = f"the output has {_size(found.actual_size)} cells instead of {_size(found.expected_size)}"
    else:
        cells = ", ".join(
            f"({one.row}, {one.column}) is {_letter(one.actual)} instead of {_letter(one.expected)}"
            for one in found.cells[:_CELLS]
        )
        more = "" if len(found.cells) <= _CELLS else ", ..."
        words = f"{len(found.cells)} of {right_cells(right)} cells differ: {cells}{more}"
    return f"{name}: {words}. The output is\n{text_of(output)}"


def _test(*, number: int, output: Output) -> str:
    if isinstance(output, Wrong):
        return f"Test {number}: error. {output.sentence()}"
    return f"Test {number}: a grid of {_size(size_of(output))} cells."


def text_of(grid: Grid) -> str:
    """A grid as lines of letters."""
    return "\n".join("".join(row) for row in letters_of(grid))


def right_cells(grid: Grid) -> int:
    """How many cells a grid has."""
    rows, columns = size_of(grid)
    return rows * columns


def _letter(colour: int) -> str:
    return letters_of(((colour,),))[0][0]


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"


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
        from evaluator.arc.candidates import run_all

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
        from evaluator.arc.candidates import Work

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
