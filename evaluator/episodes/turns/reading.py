"""Parses the answer to a turn into subgoals, actions, a stop, or an answer. Whole plans become actions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.abstaining import FORM as ABSTENTION
from evaluator.core.plans.abstaining import abstains, abstention, is_abstention
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step
from evaluator.core.suites.base import Candidates
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import ActionRun
from evaluator.core.turns import Role, TurnResponse
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.envelope import json_values, opened, unwrapped
from evaluator.replies.messages import text_of_message
from evaluator.replies.read import read_plan
from evaluator.replies.turns.actions import has_action, read_actions
from evaluator.replies.turns.model import Action, Reference, Stop, TurnSyntaxError
from evaluator.replies.turns.model import Subgoals as ReadSubgoals
from evaluator.replies.turns.scanning import Scan, references_of
from evaluator.replies.turns.subgoals import read_plan_reply


@dataclass(frozen=True, slots=True)
class NamedStep:
    """The inputs and outputs of a step of `plan/1`."""

    inputs: Mapping[str, str]
    """By input name, a reference or a text."""
    outputs: tuple[str, ...]
    """Names of the tool's outputs, in the order of the action's results; empty: as in its signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """An action to run."""

    tool: str
    arguments: str
    """As written by the planner."""
    references: tuple[Reference, ...]
    """With offsets in `arguments`."""
    outputs: tuple[str, ...]
    """Names of the results for later actions; at least one."""
    text: str
    """The whole action."""
    action: Action | None = None
    """The parsed action, if written in LUMOS's grammar."""
    named: NamedStep | None = None
    """Inputs and outputs by name, if written as a step of `plan/1` for tools with named inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAction:
    """An action with its results."""

    planned: PlannedAction
    run: ActionRun
    values: Mapping[str, str]
    """The displayed results in full, which `run` may truncate."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """PNGs in base64 of the results that the planner receives as pictures."""


def references_in(text: str) -> tuple[Reference, ...]:
    """The references in the arguments of an action."""
    structure = Scan(text)
    for _ in structure.marks_from(0):
        pass
    return references_of(text, structure=structure, start=0, end=len(text))


def planned_actions(actions: Sequence[Action], *, statement_tool: str) -> tuple[PlannedAction, ...]:
    """The parsed actions; those without a tool's name call `statement_tool`."""
    return tuple(
        PlannedAction(
            tool=action.tool or statement_tool, arguments=action.raw, references=action.references,
            outputs=action.outputs, text=str(action), action=action,
        )
        for action in actions
    )  # fmt: skip


def actions_with_names(plan: Plan) -> tuple[PlannedAction, ...]:
    """The steps of a plan as actions with named inputs, in order of execution. Results keep their names.

    Raises:
        PlanSyntaxError: steps depend on each other.
    """
    actions: list[PlannedAction] = []
    for step in _in_order(plan.steps):
        arguments = ", ".join(f"{name}={value}" for name, value in step.inputs.items())
        outputs = tuple(step.outputs.values()) or (f"{step.id}.result",)
        actions.append(
            PlannedAction(
                tool=step.tool, arguments=arguments, references=(), outputs=outputs,
                text=f"{', '.join(outputs)} = {step.tool}({arguments})",
                named=NamedStep(inputs=dict(step.inputs), outputs=tuple(step.outputs)),
            )
        )  # fmt: skip
    return tuple(actions)


def actions_of_plan(
    *, plan: Plan, catalogue: Catalogue, literal: Collection[str] = ()
) -> tuple[tuple[PlannedAction, ...], str]:
    """The steps of a plan as actions in order of execution, and the name of its answer; empty: no answer.

    Results are named `R1`, `R2`, ... in this order, except those with such a name in the plan. Inputs of the tools in
    `literal` never contain references.

    Raises:
        PlanSyntaxError: steps depend on each other.
    """
    steps = _in_order(plan.steps)
    references = [reference for step in steps for reference in step.outputs.values()]
    free = (name for number in count(1) if (name := f"R{number}") not in references)
    names: dict[str, str] = {}
    for reference in references:
        within = references_in(reference)
        is_name = len(within) == 1 and (within[0].start, within[0].end) == (0, len(reference))
        names[reference] = reference if is_name else next(free)
    answer = next((names[reference] for reference in reversed(plan.answers) if reference in names), "")
    actions = [_action_of_step(step, names=names, free_names=free, catalogue=catalogue) for step in steps]
    return tuple(replace(action, references=()) if action.tool in literal else action for action in actions), answer


def _action_of_step(
    step: Step, *, names: Mapping[str, str], free_names: Iterator[str], catalogue: Catalogue
) -> PlannedAction:
    tool = catalogue.tools.get(step.tool)
    order = [name for name in (tool.inputs if tool else ()) if name in step.inputs]
    order += [name for name in step.inputs if name not in order]
    arguments = ", ".join(names.get(step.inputs[name], step.inputs[name]) for name in order)
    outputs = tuple(names[reference] for reference in step.outputs.values()) or (next(free_names),)
    return PlannedAction(
        tool=step.tool, arguments=arguments, references=references_in(arguments), outputs=outputs,
        text=f"{', '.join(outputs)} = {step.tool}({arguments})",
    )  # fmt: skip


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps in the order of the plan, but each one after the steps that it depends on."""
    made_by: Mapping[str, int] = {
        reference: place for place, step in enumerate(steps) for reference in step.outputs.values()
    }
    needs = [{made_by[value] for value in step.inputs.values() if value in made_by} for step in steps]
    order: list[int] = []
    remaining = list(range(len(steps)))
    while remaining:
        free = next((place for place in remaining if needs[place] <= set(order)), None)
        if free is None:
            raise PlanSyntaxError("it waits for its own result", where=f"step {steps[remaining[0]].id!r}")
        order.append(free)
        remaining.remove(free)
    return [steps[place] for place in order]


MAX_SUBGOALS = 64
LONGEST_ANSWER = 65_536
"""Characters of an answer or a subgoal."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The planner stops."""


@dataclass(frozen=True, slots=True)
class Abstained:
    """The planner says that the request cannot be met."""

    said: JsonValue
    """The abstention (`evaluator.core.plans.abstaining`)."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer in words, or the name of the result that is the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Subgoals:
    """The next goals, in words."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """Actions to run."""

    actions: tuple[PlannedAction, ...]
    subgoals: tuple[str, ...] = ()
    is_whole: bool = False
    """Whether the actions form a whole plan, which ends the episode."""
    answers: tuple[str, ...] = ()
    """Names of the results that are the answers of a whole plan; empty: the last result."""
    error: str = ""
    """Why the text after these actions cannot be read, as a sentence; empty if there is none."""


Intent = Stopped | Abstained | Answered | Subgoals | Actions


class UnreadableError(ValueError):
    """An unreadable answer; the message names the error and its place."""


def read_response(
    *,
    response: TurnResponse,
    role: Role,
    context: PlanContext,
    statement_tool: str = "",
    is_typed: bool = False,
    candidates: Candidates | None = None,
) -> Intent:
    """Parse the answer to a turn.

    Args:
        response: the answer.
        role: the requested role.
        context: the context for parsing plans and steps.
        statement_tool: the tool of actions without a name and parentheses; empty: there is no such form.
        is_typed: whether tools take named, typed inputs; whole plans are then parsed as in suites that execute them.
        candidates: the form of whole plans, if an answer may consist of several.

    Raises:
        UnreadableError: the answer cannot be read.
        PlanSyntaxError: its plan or its steps cannot be read.
    """
    subgoals = _subgoals(response)
    if response.stop:
        return Stopped()
    if response.answer is not None:
        return Answered(_bounded(response.answer, what="the answer"))
    if response.plan is not None and (abstained := _abstention(response.plan, context=context)) is not None:
        return abstained
    if response.plan is not None and candidates is not None:
        plans = [cast("JsonValue", text_of_message(plan)) for plan in (response.plan, *response.alternatives)]
        try:
            return _candidate_actions(plans, candidates=candidates)
        except PlanSyntaxError:
            if _is_empty(response.plan, context=context):
                return Abstained(abstention())
            raise
    if response.plan is not None:
        return _whole(response.plan, context=context, statement_tool=statement_tool, is_typed=is_typed)
    if response.steps is not None:
        plan = parse_canonical(value={"steps": list(response.steps), "answers": []}, context=context).plan
        if is_typed:
            return Actions(actions=actions_with_names(plan), subgoals=subgoals)
        literal = candidates.tools if candidates else frozenset[str]()
        actions, _ = actions_of_plan(plan=plan, catalogue=context.catalogue, literal=literal)
        return Actions(actions=actions, subgoals=subgoals)
    if response.actions is not None:
        return _actions(response.actions, subgoals=subgoals, context=context, statement_tool=statement_tool)
    if response.text is not None:
        return _of_text(response.text, role=role, context=context, statement_tool=statement_tool)
    return Subgoals(subgoals)


def _abstention(plan: JsonValue, *, context: PlanContext) -> Abstained | None:
    """An abstention in place of a whole plan, perhaps in an envelope; None for anything else.

    Raises:
        PlanSyntaxError: a null plan with more than a reason.
    """
    if isinstance(plan, str) and "null" not in plan:
        return None
    if not isinstance(plan, str) and not is_abstention(plan):
        return None
    try:
        parsed = read_plan(value=plan, context=context)
    except PlanSyntaxError:
        if isinstance(plan, str):
            return None
        raise
    return Abstained(abstention(parsed.reason)) if parsed.form == ABSTENTION else None


def _is_empty(plan: JsonValue, *, context: PlanContext) -> bool:
    """Whether a whole plan has neither steps nor answers."""
    with suppress(PlanSyntaxError):
        return abstains(read_plan(value=plan, context=context).plan)
    return False


def _subgoals(response: TurnResponse) -> tuple[str, ...]:
    texts = response.subgoals if response.subgoals is not None else [response.subgoal] if response.subgoal else []
    if len(texts) > MAX_SUBGOALS:
        raise UnreadableError(f"subgoals: there are {len(texts)}, and at most {MAX_SUBGOALS} are read")
    return tuple(_bounded(text, what=f"subgoal {number}") for number, text in enumerate(texts, start=1))


def _bounded(text: str, *, what: str) -> str:
    if len(text) > LONGEST_ANSWER:
        raise UnreadableError(f"{what} has {len(text)} characters, and at most {LONGEST_ANSWER} are read")
    return text


def _actions(text: str, *, subgoals: tuple[str, ...], context: PlanContext, statement_tool: str) -> Actions:
    try:
        reply = read_actions(text=text, statements=bool(statement_tool), tools=tuple(context.catalogue.tools))
    except TurnSyntaxError as error:
        before = planned_actions(error.before, statement_tool=statement_tool)
        if not before:
            raise UnreadableError(f"actions: {error}") from None
        message = f"What follows the last of these actions cannot be read: {error}."
        return Actions(actions=before, subgoals=subgoals, error=message)
    return Actions(actions=planned_actions(reply.actions, statement_tool=statement_tool), subgoals=subgoals)


def _of_text(text: str, *, role: Role, context: PlanContext, statement_tool: str) -> Intent:
    if role is not Role.PLAN:
        return _actions(text, subgoals=(), context=context, statement_tool=statement_tool)
    try:
        reply = read_plan_reply(text)
    except TurnSyntaxError as error:
        raise UnreadableError(f"text: {error}") from None
    if isinstance(reply, Stop):
        return Stopped()
    assert isinstance(reply, ReadSubgoals)
    return Subgoals(tuple(subgoal.text for subgoal in reply.subgoals))


def _candidate_actions(plans: Sequence[JsonValue], *, candidates: Candidates) -> Actions:
    """One action to try each of several whole plans in the suite's own form. The first must be readable."""
    actions: list[PlannedAction] = []
    error = ""
    for number, plan in enumerate(plans[: candidates.most]):
        try:
            read = candidates.read(plan)
        except PlanSyntaxError as problem:
            if not number:
                raise
            error = error or f"Alternative {number} cannot be read: {problem}."
            continue
        name = f"R{number + 1}"
        actions.append(
            PlannedAction(
                tool=read.tool, arguments=read.arguments, references=(), outputs=(name,),
                text=f"{name} = {read.tool}({read.arguments})",
            )
        )  # fmt: skip
    names = tuple(action.outputs[0] for action in actions)
    return Actions(actions=tuple(actions), is_whole=True, answers=names, error=error)


_BRACKETS = frozenset({"{", "[", "("})
"""Beginnings of plans that are no actions."""


def _are_actions(text: str) -> bool:
    """Whether a whole plan is written as actions and not as JSON, which may be in an envelope."""
    if text.lstrip()[:1] in _BRACKETS:
        return False
    try:
        bare = unwrapped(text)[0]
        if has_action(bare):
            return bare.lstrip()[:1] not in _BRACKETS
        content = opened(text)[0]
        return content.lstrip()[:1] not in _BRACKETS and not json_values(content)
    except PlanSyntaxError:
        return True


def _whole(plan: JsonValue, *, context: PlanContext, statement_tool: str, is_typed: bool) -> Actions:
    written = plan if is_typed else text_of_message(plan)
    if not is_typed and isinstance(written, str) and _are_actions(written):
        parsed = _actions(written, subgoals=(), context=context, statement_tool=statement_tool)
        return replace(parsed, is_whole=True)
    read = read_plan(value=plan, context=context).plan
    if is_typed:
        actions = actions_with_names(read)
        return Actions(actions=actions, subgoals=read.subgoals or (), is_whole=True, answers=read.answers)
    actions, answer = actions_of_plan(plan=read, catalogue=context.catalogue)
    answers = (answer,) if answer else ()
    return Actions(actions=actions, subgoals=read.subgoals or (), is_whole=True, answers=answers)
