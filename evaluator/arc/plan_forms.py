"""Parses whole plans in ARC's own forms."""

import json
import re
from collections.abc import Mapping
from textwrap import dedent
from typing import cast

from evaluator.arc.candidates import Track, candidate_of_value
from evaluator.arc.helpers.catalogue import HELPERS, Kind
from evaluator.arc.steps import StepError, expressions_of
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.process import literal
from evaluator.core.suites.base import Candidate, Candidates
from evaluator.replies.envelope import blocks_of, json_values, unwrapped
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import TurnSyntaxError

PROGRAM, STEPS, GRIDS = "Program", "Steps", "Grids"
"""The tools that try a candidate."""
MOST, TRIES = 3, 3
"""Maximum number of candidates in an answer, and of tries in an episode, as in the paper."""
_TOOLS = (PROGRAM, STEPS, GRIDS)
_RIGHT = (
    'a plan is {"program": "def transform_grid(grid): ..."}, {"steps": [...]} or {"grids": [[[0, 1], [2, 3]]]}, or '
    "the text of a program, or actions such as R1 = horizontal_flip(INPUT)"
)
_TRY = re.compile(rf"^[ \t]*R[0-9]{{1,9}}[ \t]*=[ \t]*(?:{'|'.join(_TOOLS)})[ \t]*\(", re.MULTILINE | re.ASCII)
_PROGRAM = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.MULTILINE)
_QUOTED = {Kind.COLOUR, Kind.LINE, Kind.PATTERN}


def read_candidate(plan: JsonValue) -> Candidate:
    """A whole plan as the action that tries it.

    Raises:
        PlanSyntaxError: the plan has none of the forms.
    """
    if isinstance(plan, str):
        return _of_text(plan)
    if isinstance(plan, Mapping):
        tracks = [track for track in Track if track in plan]
        if len(tracks) > 1:
            raise PlanSyntaxError(f"it has {' and '.join(map(repr, tracks))}; {_RIGHT}")
        if tracks == [Track.PROGRAM]:
            if not isinstance(program := plan[Track.PROGRAM], str):
                raise PlanSyntaxError("it is no text", where='"program"')
            return Candidate(PROGRAM, _code(program))
        if tracks == [Track.GRIDS]:
            if not isinstance(grids := plan[Track.GRIDS], list):
                raise PlanSyntaxError("it is no list with a grid for each test input", where='"grids"')
            try:
                return Candidate(GRIDS, dumps(grids))
            except (ValueError, RecursionError):
                raise PlanSyntaxError("it has something other than rows of colours", where='"grids"') from None
        if tracks == [Track.STEPS]:
            return _of_steps(plan[Track.STEPS], answers=plan.get("answers"))
    raise PlanSyntaxError(_RIGHT)


def _of_text(text: str) -> Candidate:
    """A program, JSON or actions. If several code fences define the program, the last one counts."""
    value = _loaded(text)
    if value is None:
        text = _code(text)
        value = _loaded(text)
    if value is not None:
        return read_candidate(value)
    if text.lstrip()[:1] in {"{", "["}:
        raise PlanSyntaxError(f"the text begins as JSON and is none; {_RIGHT}")
    if (attempt := _TRY.search(text)) is not None:
        return _of_attempt(text[attempt.start() :])
    if _PROGRAM.search(text) is None and (values := json_values(text)):
        plans = [_loaded(written) for written, _ in values]
        if len(plans) > 1 or plans[0] is None:
            raise PlanSyntaxError(f"there are {len(plans)} JSON values in the text, and only one can be the plan")
        return read_candidate(plans[0])
    return Candidate(PROGRAM, text) if "def " in text else _of_actions(text)


def _of_attempt(text: str) -> Candidate:
    """The only action of a text, which tries a candidate: `R1 = Program(...)`."""
    try:
        actions = read_actions(text=text, tools=_TOOLS).actions
    except TurnSyntaxError as error:
        raise PlanSyntaxError(f"{error}; {_RIGHT}") from None
    if len(actions) != 1:
        raise PlanSyntaxError(f"there are {len(actions)} actions, and only one can try the plan")
    return Candidate(str(actions[0].tool), actions[0].raw)


def _loaded(text: str) -> JsonValue:
    if text.lstrip()[:1] != "{":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("JsonValue", value) if isinstance(value, Mapping) else None


def _code(text: str) -> str:
    text, _ = unwrapped(text)
    blocks, _ = blocks_of(text)
    programs = [block for block in blocks if "def " in block.content]
    if programs or len(blocks) == 1:
        return dedent((programs or list(blocks))[-1].content.replace("\r\n", "\n").strip("\n"))
    return text.replace("\r\n", "\n").strip()


def _of_actions(text: str) -> Candidate:
    try:
        actions = read_actions(text=text, tools=tuple(HELPERS)).actions
        return Candidate(STEPS, dumps(list(expressions_of(actions))))
    except (TurnSyntaxError, StepError) as error:
        raise PlanSyntaxError(f"{error}; {_RIGHT}") from None


def _of_steps(steps: JsonValue, *, answers: JsonValue) -> Candidate:
    """Steps of `plan/1`, or actions as text. A single step may try a candidate of another form."""
    if isinstance(steps, str):
        return _of_actions(steps)
    if not isinstance(steps, list) or not steps:
        raise PlanSyntaxError("it is no list of steps, and no text of actions", where='"steps"')
    first = steps[0]
    if len(steps) == 1 and isinstance(first, Mapping) and first.get("tool") in _TOOLS:
        texts = first.get("inputs")
        values = list(texts.values()) if isinstance(texts, Mapping) else []
        if len(values) != 1 or not isinstance(values[0], str):
            raise PlanSyntaxError(f"{first['tool']} takes one input, a text", where="step 1")
        return Candidate(str(first["tool"]), values[0])
    names: dict[str, str] = {}
    calls = []
    for number, step in enumerate(steps, start=1):
        tool, inputs, references = _call(step, number=number)
        calls.append((tool, inputs))
        names |= dict.fromkeys(references, f"R{number}")
    actions = []
    for number, (tool, inputs) in enumerate(calls, start=1):
        kinds = {parameter.name: parameter.kind for parameter in HELPERS[tool].parameters}
        arguments = [f"{name}={_literal(value, kind=kinds.get(name), names=names)}" for name, value in inputs.items()]
        actions.append(f"R{number} = {tool}({', '.join(arguments)})")
    last = answers[-1] if isinstance(answers, list) and answers else None
    if isinstance(last, str) and last in names:
        # Drop the steps after the answer.
        actions = actions[: int(names[last][1:])]
    return _of_actions("; ".join(actions))


def _call(step: JsonValue, *, number: int) -> tuple[str, Mapping[str, JsonValue], tuple[str, ...]]:
    """Tool and inputs of a step, and the references to its results."""
    where = f"step {number}"
    if not isinstance(step, Mapping) or not isinstance(step.get("tool"), str):
        raise PlanSyntaxError('it is no {"id", "tool", "inputs", "outputs"}', where=where)
    inputs, outputs = step.get("inputs", {}), step.get("outputs", {})
    if not isinstance(inputs, Mapping) or not isinstance(outputs, Mapping):
        raise PlanSyntaxError("its inputs and outputs are no objects", where=where)
    tool = str(step["tool"])
    if tool not in HELPERS:
        raise PlanSyntaxError(f"there is no helper {tool[:80]!r}; there are: {', '.join(HELPERS)}", where=where)
    results = [str(output) for output in outputs.values()] or [f"s{number}"]
    identity = step.get("id")
    return tool, inputs, (*results, *([f"{identity}.{name}" for name in outputs] if isinstance(identity, str) else []))


def _literal(value: JsonValue, *, kind: Kind | None, names: Mapping[str, str]) -> str:
    """An input as a Python expression. Strings may be references, the input grid, colours, or Python.

    Raises:
        PlanSyntaxError: the input is nested too deeply, or has an integer that is too long.
    """
    parsed: object = value
    if isinstance(value, str):
        if value in names:
            return names[value]
        if value.lstrip("$") in {"INPUT", "grid"}:
            return "INPUT"
        if kind in _QUOTED and (len(value) == 1 or kind is Kind.LINE):
            return repr(value)
        try:
            parsed = literal(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    try:
        return repr(parsed)
    except (ValueError, RecursionError):
        raise PlanSyntaxError("an input is too large or nested too deeply", where='"steps"') from None


CANDIDATES = Candidates(
    most=MOST, tries=TRIES, tools=frozenset(_TOOLS), read=read_candidate,
    is_one=lambda value: candidate_of_value(value) is not None,
)  # fmt: skip
