"""Reads whole plans in ARC's own forms."""

import json
import re
from collections.abc import Mapping
from typing import cast

from evaluator.arc.candidates import Track, kept_of
from evaluator.arc.helpers.catalogue import HELPERS, Kind
from evaluator.arc.steps import StepError, expressions_of
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.process import literal
from evaluator.core.suites.base import Candidate, Candidates
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import TurnSyntaxError

PROGRAM, STEPS, GRIDS = "Program", "Steps", "Grids"
"""The tools that try a candidate."""
MOST, TRIES = 3, 3
"""Candidates of an answer, and of an episode, as in the paper: three of each."""
_TOOLS = {Track.PROGRAM: PROGRAM, Track.STEPS: STEPS, Track.GRIDS: GRIDS}
_FENCED = re.compile(r"```[\w+#.-]*[ \t]*\n(?P<code>.*?)(?:\n?```|\Z)", re.DOTALL)
_RIGHT = (
    'a plan is {"program": "def transform_grid(grid): ..."}, {"steps": [...]} or {"grids": [[[0, 1], [2, 3]]]}, or '
    "the text of a program, or actions such as R1 = horizontal_flip(INPUT)"
)
_QUOTED = {Kind.COLOUR, Kind.LINE, Kind.PATTERN}


def read_candidate(plan: JsonValue) -> Candidate:
    """A whole plan as the action that tries it.

    Raises:
        PlanSyntaxError: it has none of the forms.
    """
    if isinstance(plan, str):
        return _of_text(plan)
    if isinstance(plan, Mapping):
        named = [track for track in Track if track in plan]
        if len(named) == 1:
            return _READERS[named[0]](plan[named[0]], plan)
        if named:
            raise PlanSyntaxError(f"it has {' and '.join(map(repr, named))}; {_RIGHT}")
    raise PlanSyntaxError(_RIGHT)


def _of_text(text: str) -> Candidate:
    """A program, as it is or between fences, of which the last counts; otherwise JSON, or actions."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise PlanSyntaxError(f"the text begins as JSON and is none; {_RIGHT}") from None
        if isinstance(value, Mapping):
            return read_candidate(cast("JsonValue", value))
        raise PlanSyntaxError(_RIGHT)
    fenced = _FENCED.findall(text)
    code = fenced[-1] if fenced else text
    return Candidate(PROGRAM, code) if "def " in code else _of_actions(code)


def _of_actions(text: str) -> Candidate:
    try:
        actions = read_actions(text=text, tools=tuple(HELPERS)).actions
        return Candidate(STEPS, dumps(list(expressions_of(actions))))
    except (TurnSyntaxError, StepError) as error:
        raise PlanSyntaxError(f"{error}; {_RIGHT}") from None


def _program(value: JsonValue, _: Mapping[str, JsonValue]) -> Candidate:
    if not isinstance(value, str):
        raise PlanSyntaxError("it is no text", where='"program"')
    fenced = _FENCED.findall(value)
    return Candidate(PROGRAM, fenced[-1] if fenced else value)


def _grids(value: JsonValue, _: Mapping[str, JsonValue]) -> Candidate:
    if not isinstance(value, list):
        raise PlanSyntaxError("it is no list with a grid for each test input", where='"grids"')
    try:
        return Candidate(GRIDS, dumps(value))
    except (ValueError, RecursionError):
        raise PlanSyntaxError("it has something other than rows of colours", where='"grids"') from None


def _steps(value: JsonValue, plan: Mapping[str, JsonValue]) -> Candidate:
    """Steps of `plan/1`, or actions as a text. A single step may try a candidate of another form."""
    if isinstance(value, str):
        return _of_actions(value)
    if not isinstance(value, list) or not value:
        raise PlanSyntaxError("it is no list of steps, and no text of actions", where='"steps"')
    if len(value) == 1 and (tried := _tried(value[0])) is not None:
        return tried
    lines = [_line(step, number=number) for number, step in enumerate(value, start=1)]
    names = {reference: f"R{number}" for number, (_, _, made) in enumerate(lines, start=1) for reference in made}
    written = [_action(line, number=number, names=names) for number, line in enumerate(lines, start=1)]
    answers = plan.get("answers")
    last = answers[-1] if isinstance(answers, list) and answers else None
    if isinstance(last, str) and last in names:
        # What the plan does not need is left out with everything after the answer.
        written = written[: int(names[last][1:])]
    return _of_actions("; ".join(written))


def _tried(step: JsonValue) -> Candidate | None:
    """The candidate of a step that calls `Program`, `Steps` or `Grids` with its one input; None for other steps."""
    if not isinstance(step, Mapping) or step.get("tool") not in _TOOLS.values():
        return None
    inputs = step.get("inputs")
    values = list(inputs.values()) if isinstance(inputs, Mapping) else []
    if len(values) != 1 or not isinstance(values[0], str):
        raise PlanSyntaxError(f"{step['tool']} takes one input, a text", where="step 1")
    return Candidate(str(step["tool"]), values[0])


_Line = tuple[str, Mapping[str, JsonValue], tuple[str, ...]]
"""Tool, inputs, and the references of the results of a step."""


def _line(step: JsonValue, *, number: int) -> _Line:
    where = f"step {number}"
    if not isinstance(step, Mapping) or not isinstance(step.get("tool"), str):
        raise PlanSyntaxError('it is no {"id", "tool", "inputs", "outputs"}', where=where)
    inputs, outputs = step.get("inputs", {}), step.get("outputs", {})
    if not isinstance(inputs, Mapping) or not isinstance(outputs, Mapping):
        raise PlanSyntaxError("its inputs and outputs are no objects", where=where)
    tool = str(step["tool"])
    if tool not in HELPERS:
        raise PlanSyntaxError(f"there is no helper {tool[:80]!r}; there are: {', '.join(HELPERS)}", where=where)
    made = [str(one) for one in outputs.values()] or [f"s{number}"]
    identity = step.get("id")
    return tool, inputs, (*made, *([f"{identity}.{name}" for name in outputs] if isinstance(identity, str) else []))


def _action(line: _Line, *, number: int, names: Mapping[str, str]) -> str:
    tool, inputs, _ = line
    kinds = {parameter.name: parameter.kind for parameter in HELPERS[tool].parameters}
    written = [f"{name}={_literal(value, kind=kinds.get(name), names=names)}" for name, value in inputs.items()]
    return f"R{number} = {tool}({', '.join(written)})"


def _literal(value: JsonValue, *, kind: Kind | None, names: Mapping[str, str]) -> str:
    """An input as Python writes it. Texts may be references, the input, colours, or Python themselves."""
    if not isinstance(value, str):
        return _written(value)
    if value in names:
        return names[value]
    if value.lstrip("$") in {"INPUT", "grid"}:
        return "INPUT"
    if kind in _QUOTED and (len(value) == 1 or kind is Kind.LINE):
        return repr(value)
    try:
        return _written(literal(value))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _written(value: object) -> str:
    """A value as Python writes it.

    Raises:
        PlanSyntaxError: it is nested too deeply, or has an integer that is too long.
    """
    try:
        return repr(value)
    except (ValueError, RecursionError):
        raise PlanSyntaxError("an input is too large or nested too deeply", where='"steps"') from None


_READERS = {Track.PROGRAM: _program, Track.STEPS: _steps, Track.GRIDS: _grids}
CANDIDATES = Candidates(
    most=MOST, tries=TRIES, tools=frozenset(_TOOLS.values()), read=read_candidate,
    is_one=lambda value: kept_of(value) is not None,
)  # fmt: skip
