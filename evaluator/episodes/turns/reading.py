"""What an answer to a turn wants: subgoals, actions, to stop, or to give an answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.abstaining import is_abstention
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.suites.base import Candidates
from evaluator.core.turns import Role, TurnResponse
from evaluator.episodes.turns.plans import wanted_of_named, wanted_of_plan
from evaluator.episodes.turns.wanted import Wanted, wanted_of_actions
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.read import read_plan
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import Stop, TurnSyntaxError
from evaluator.replies.turns.model import Subgoals as ReadSubgoals
from evaluator.replies.turns.subgoals import read_plan_reply

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
        found = read_actions(text=text, statements=bool(statement_tool), tools=tuple(context.catalogue.tools))
    except TurnSyntaxError as error:
        before = wanted_of_actions(error.before, statement_tool=statement_tool)
        if not before:
            raise UnreadableError(f"actions: {error}") from None
        message = f"What follows the last of these actions cannot be read: {error}."
        return Actions(wanted=before, subgoals=subgoals, error=message)
    return Actions(wanted=wanted_of_actions(found.actions, statement_tool=statement_tool), subgoals=subgoals)


def _of_text(text: str, *, role: Role, context: PlanContext, statement_tool: str) -> Intent:
    if role is not Role.PLAN:
        return _actions(text, subgoals=(), context=context, statement_tool=statement_tool)
    try:
        found = read_plan_reply(text)
    except TurnSyntaxError as error:
        raise UnreadableError(f"text: {error}") from None
    if isinstance(found, Stop):
        return Stopped()
    assert isinstance(found, ReadSubgoals)
    return Subgoals(tuple(one.text for one in found.subgoals))


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
    names = tuple(one.outputs[0] for one in wanted)
    return Actions(wanted=tuple(wanted), is_whole=True, answers=names, error=error)


def _whole(plan: JsonValue, *, context: PlanContext, statement_tool: str, is_typed: bool) -> Actions:
    if not is_typed and isinstance(plan, str) and plan.lstrip()[:1] not in {"{", "[", "("}:
        found = _actions(plan, subgoals=(), context=context, statement_tool=statement_tool)
        return Actions(wanted=found.wanted, is_whole=True, error=found.error)
    read = read_plan(value=plan, context=context).plan
    if is_typed:
        wanted = wanted_of_named(read)
        return Actions(wanted=wanted, subgoals=read.subgoals or (), is_whole=True, answers=read.answers)
    wanted, answer = wanted_of_plan(plan=read, catalogue=context.catalogue)
    answers = (answer,) if answer else ()
    return Actions(wanted=wanted, subgoals=read.subgoals or (), is_whole=True, answers=answers)
