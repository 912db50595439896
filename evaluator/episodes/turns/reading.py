"""The meaning of an answer to a turn: subgoals, actions, a stop, or an answer. Whole plans are read as actions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.abstaining import is_abstention
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step
from evaluator.core.suites.base import Candidates
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import ActionRun
from evaluator.core.turns import Role, TurnResponse
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.read import read_plan
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import Action, Reference, Stop, TurnSyntaxError
from evaluator.replies.turns.model import Subgoals as ReadSubgoals
from evaluator.replies.turns.scanning import Scan, references_of
from evaluator.replies.turns.subgoals import read_plan_reply


@dataclass(frozen=True, slots=True)
class NamedStep:
    """The inputs and outputs of a step of `plan/1`."""

    inputs: Mapping[str, str]
    """Argument name to a reference or a text."""
    outputs: tuple[str, ...]
    """Names of the tool's outputs, in the order of the action's results; empty: as in the tool's signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An action that is to be run."""

    tool: str
    arguments: str
    """As the planner wrote them."""
    references: tuple[Reference, ...]
    """With offsets in `arguments`."""
    outputs: tuple[str, ...]
    """Under which names later actions take the results; at least one."""
    text: str
    """The whole action."""
    action: Action | None = None
    """As it was read, if it was written in LUMOS's grammar."""
    named: NamedStep | None = None
    """If it was written as a step of `plan/1`, and tools take named inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An action that was run."""

    wanted: Wanted
    run: ActionRun
    values: Mapping[str, str]
    """The results as they are shown, in full, where `run` may have cut them."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Those that the planner is sent as pictures: PNG in base64."""


def references_in(text: str) -> tuple[Reference, ...]:
    """The references in a text that is the arguments of an action."""
    structure = Scan(text)
    for _ in structure.marks_from(0):
        pass
    return references_of(text, structure=structure, start=0, end=len(text))


def wanted_of_actions(actions: Sequence[Action], *, statement_tool: str) -> tuple[Wanted, ...]:
    """Actions as they were read; those without a tool's name are calls of `statement_tool`."""
    return tuple(
        Wanted(
            tool=action.tool or statement_tool, arguments=action.raw, references=action.references,
            outputs=action.outputs, text=str(action), action=action,
        )
        for action in actions
    )  # fmt: skip


def wanted_of_named(plan: Plan) -> tuple[Wanted, ...]:
    """The steps of a plan as actions of tools with named inputs, each after those whose results it takes. Results keep
    their names.

    Raises:
        PlanSyntaxError: steps wait for each other.
    """
    return tuple(map(_wanted_by_name, _in_order(plan.steps)))


def _wanted_by_name(step: Step) -> Wanted:
    arguments = ", ".join(f"{name}={value}" for name, value in step.inputs.items())
    outputs = tuple(step.outputs.values()) or (f"{step.id}.result",)
    return Wanted(
        tool=step.tool, arguments=arguments, references=(), outputs=outputs,
        text=f"{', '.join(outputs)} = {step.tool}({arguments})",
        named=NamedStep(inputs=dict(step.inputs), outputs=tuple(step.outputs)),
    )  # fmt: skip


def wanted_of_plan(
    *, plan: Plan, catalogue: Catalogue, literal: Collection[str] = ()
) -> tuple[tuple[Wanted, ...], str]:
    """The steps of a plan as actions, each after those whose results it takes, and the name of its answer, empty if it
    has none. Results are called `R1`, `R2`, ... in this order unless the plan calls them so. Inputs of the tools in
    `literal` refer to nothing, whatever they contain.

    Raises:
        PlanSyntaxError: steps wait for each other.
    """
    steps = _in_order(plan.steps)
    references = [reference for step in steps for reference in step.outputs.values()]
    free = (name for number in count(1) if (name := f"R{number}") not in references)
    names = {reference: reference if _is_reference(reference) else next(free) for reference in references}
    answer = next((names[reference] for reference in reversed(plan.answers) if reference in names), "")
    wanted = [_wanted(step=step, names=names, spare=free, catalogue=catalogue) for step in steps]
    return tuple(replace(action, references=()) if action.tool in literal else action for action in wanted), answer


def _wanted(*, step: Step, names: Mapping[str, str], spare: Iterator[str], catalogue: Catalogue) -> Wanted:
    tool = catalogue.tools.get(step.tool)
    order = [name for name in (tool.inputs if tool else ()) if name in step.inputs]
    order += [name for name in step.inputs if name not in order]
    arguments = ", ".join(names.get(step.inputs[name], step.inputs[name]) for name in order)
    outputs = tuple(names[reference] for reference in step.outputs.values()) or (next(spare),)
    return Wanted(
        tool=step.tool, arguments=arguments, references=references_in(arguments), outputs=outputs,
        text=f"{', '.join(outputs)} = {step.tool}({arguments})",
    )  # fmt: skip


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps in the order of the plan, except that each comes after those whose results it takes."""
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


def _is_reference(text: str) -> bool:
    references = references_in(text)
    return len(references) == 1 and references[0].start == 0 and references[0].end == len(text)


MAX_SUBGOALS = 64
"""Of one answer."""
LONGEST_ANSWER = 65_536
"""Characters of an answer, a subgoal or a text that are read."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer in words, or the reference of the result that is the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Subgoals:
    """What to do next, in words."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What to run."""

    wanted: tuple[Wanted, ...]
    subgoals: tuple[str, ...] = ()
    is_whole: bool = False
    """Whether this is a whole plan, after which the episode ends."""
    answers: tuple[str, ...] = ()
    """Names of the results that are the answers of a whole plan; empty: the last one."""
    error: str = ""
    """Why what follows these actions cannot be read, as a sentence; empty if nothing follows."""


Intent = Stopped | Answered | Subgoals | Actions


class UnreadableError(ValueError):
    """An answer cannot be read; the message says what is wrong and where."""


def read_response(
    *,
    response: TurnResponse,
    role: Role,
    context: PlanContext,
    statement_tool: str = "",
    is_typed: bool = False,
    candidates: Candidates | None = None,
) -> Intent:
    """Read an answer.

    Args:
        response: the answer.
        role: what was asked for.
        context: what plans and steps are read against.
        statement_tool: the tool of actions without a name and parentheses; empty if there is no such form.
        is_typed: whether tools take named inputs of declared types; whole plans are then read as in suites that
            execute them.
        candidates: how whole plans are candidates, where an answer may be several.

    Raises:
        UnreadableError: it cannot be read.
        PlanSyntaxError: its plan or its steps cannot be read.
    """
    subgoals = _subgoals(response)
    if response.stop:
        return Stopped()
    if response.answer is not None:
        return Answered(_bounded(response.answer, what="the answer"))
    if response.plan is not None and candidates is not None:
        if is_abstention(response.plan):
            return Stopped()
        return _tried([response.plan, *response.alternatives], candidates=candidates)
    if response.plan is not None:
        return _whole(response.plan, context=context, statement_tool=statement_tool, is_typed=is_typed)
    if response.steps is not None:
        literal = candidates.tools if candidates else frozenset[str]()
        wanted = _of_steps(response.steps, context=context, is_typed=is_typed, literal=literal)
        return Actions(wanted=wanted, subgoals=subgoals)
    if response.actions is not None:
        return _actions(response.actions, subgoals=subgoals, context=context, statement_tool=statement_tool)
    if response.text is not None:
        return _of_text(response.text, role=role, context=context, statement_tool=statement_tool)
    return Subgoals(subgoals)


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
        before = wanted_of_actions(error.before, statement_tool=statement_tool)
        if not before:
            raise UnreadableError(f"actions: {error}") from None
        message = f"What follows the last of these actions cannot be read: {error}."
        return Actions(wanted=before, subgoals=subgoals, error=message)
    return Actions(wanted=wanted_of_actions(reply.actions, statement_tool=statement_tool), subgoals=subgoals)


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


def _of_steps(
    steps: Sequence[Mapping[str, JsonValue]], *, context: PlanContext, is_typed: bool, literal: Collection[str]
) -> tuple[Wanted, ...]:
    parsed = parse_canonical(value={"steps": list(steps), "answers": []}, context=context)
    if is_typed:
        return wanted_of_named(parsed.plan)
    return wanted_of_plan(plan=parsed.plan, catalogue=context.catalogue, literal=literal)[0]


def _tried(plans: Sequence[JsonValue], *, candidates: Candidates) -> Actions:
    """Whole plans in a suite's own form: each is an action that tries it. The first must be readable."""
    wanted: list[Wanted] = []
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
        wanted.append(
            Wanted(
                tool=read.tool, arguments=read.arguments, references=(), outputs=(name,),
                text=f"{name} = {read.tool}({read.arguments})",
            )
        )  # fmt: skip
    names = tuple(action.outputs[0] for action in wanted)
    return Actions(wanted=tuple(wanted), is_whole=True, answers=names, error=error)


def _whole(plan: JsonValue, *, context: PlanContext, statement_tool: str, is_typed: bool) -> Actions:
    if not is_typed and isinstance(plan, str) and plan.lstrip()[:1] not in {"{", "[", "("}:
        actions = _actions(plan, subgoals=(), context=context, statement_tool=statement_tool)
        return Actions(wanted=actions.wanted, is_whole=True, error=actions.error)
    read = read_plan(value=plan, context=context).plan
    if is_typed:
        wanted = wanted_of_named(read)
        return Actions(wanted=wanted, subgoals=read.subgoals or (), is_whole=True, answers=read.answers)
    wanted, answer = wanted_of_plan(plan=read, catalogue=context.catalogue)
    answers = (answer,) if answer else ()
    return Actions(wanted=wanted, subgoals=read.subgoals or (), is_whole=True, answers=answers)
