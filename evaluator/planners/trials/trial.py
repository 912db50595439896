"""One test call of an endpoint: sends a request of a suite as a worker would, and reports all that came back."""

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest, request_for
from evaluator.core.plans.abstaining import FORM as ABSTENTION
from evaluator.core.plans.abstaining import WRONGLY, abstains
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanContext, PlanSyntaxError, plan_to_json
from evaluator.core.records import Reason
from evaluator.core.suites.base import Panel, Suite, Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.turns import Role, TurnReply, TurnRequest, first_turn
from evaluator.planners.a2a import endpoint_planner
from evaluator.planners.endpoint import EndpointSettings
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.plan_equality import is_same_plan

_PUNCTUATION = "()[]{},;.'\"` \t\r\n"
_WORDS = "words of the request"


def says_nothing(value: object) -> bool:
    """Whether an unreadable answer is empty: an empty list or object, only brackets and blanks, or no steps."""
    if isinstance(value, dict):
        return bool(value.get("steps", []) == [])
    if isinstance(value, str):
        return not value.strip(_PUNCTUATION)
    return not value


def example_plan(*, context: PlanContext, without: Set[str]) -> JsonValue:
    """A `plan/1` of one step that shows the form without answering the request.

    Args:
        context: the offered tools and the request's resources.
        without: names of the gold plan's tools; the example avoids them if it can.
    """
    resources = {kind: f"${name}" for name, kind in context.resources.items()}
    resources.setdefault(ResourceType.TEXT, _WORDS)
    tools = context.catalogue.tools.values()
    possible = [tool for tool in tools if set(tool.input_types) <= resources.keys()] or list(tools)
    tool = next((tool for tool in possible if tool.name not in without), possible[0])
    output = next(iter(tool.outputs))
    step: dict[str, JsonValue] = {
        "id": "s1",
        "tool": tool.name,
        "inputs": {name: resources.get(kind, f"${name}") for name, kind in tool.inputs.items()},
        "outputs": {output: f"s1.{output}"},
    }
    return {"steps": [step], "answers": [f"s1.{output}"]}


class Verdict(StrEnum):
    """The verdict on the answer to a test call. A closed list; `label` is the sentence for the planner's owner."""

    REFERENCE = "reference"
    VALID = "valid"
    TURN = "turn"
    EMPTY = "empty"
    ABSTAINED = "abstained"
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ANSWER = "missing_answer"
    INVALID = "invalid"
    UNREADABLE = "unreadable"
    FAILED = "failed"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Verdict.REFERENCE: "Correct: the reference plan of this task.",
    Verdict.VALID: "Valid, but not the reference plan of this task.",
    Verdict.TURN: "A valid first turn.",
    Verdict.EMPTY: "Empty plan: the endpoint answers, but its plan has no steps.",
    Verdict.ABSTAINED: "Abstained: the endpoint answers, but says that no tool can meet the request.",
    Verdict.UNKNOWN_TOOL: "Unknown tool: the plan calls a tool that does not exist.",
    Verdict.MISSING_ANSWER: "Missing answer: the plan does not name the results that the request asks for.",
    Verdict.INVALID: "Invalid plan: it was read, but cannot run.",
    Verdict.UNREADABLE: "Unreadable plan.",
    Verdict.FAILED: "No valid response.",
}


def verdict_of_fault(reason: Reason) -> Verdict:
    """The verdict on an answer without a plan."""
    return Verdict.UNREADABLE if reason is Reason.UNPARSABLE_PLAN else Verdict.FAILED


SHOWN_BYTES = 4000
_NO_STEPS = "The plan has no steps."
_EXECUTED = "It would be executed, and scored by what it produces."


MOST_EXCHANGES = 5
"""Calls of a language model that a trial shows."""
SENT_BYTES = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call of a language model, as it was sent, and the answer as it came. Without the secret header."""

    sent: str
    """The beginning of the request's body."""
    sent_bytes: int
    status: int | None
    """HTTP status; None if there was no answer."""
    answer: str
    """The beginning of the answer's body."""
    answer_bytes: int
    """Size of the whole body, as far as it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The request, the response, and the verdict on it."""

    suite: str
    task: str
    """Key of the task whose request was sent."""
    request: PlannerRequest
    seconds: float
    status: int | None = None
    """HTTP status; None if there was no answer."""
    answer: str = ""
    """The beginning of the answer, without the secret header."""
    answer_bytes: int = 0
    """Size of the whole answer, as far as it was read."""
    reason: Reason | None = None
    """Why the answer would not be executed or judged; None if it would."""
    verdict: Verdict = Verdict.FAILED
    judgement: str = ""
    """What a plan that passed would score, as a sentence."""
    problem: str = ""
    """Why the answer did not pass, as a sentence."""
    plan: JsonValue = None
    """The parsed plan, as `plan/1`."""
    tolerated: tuple[str, ...] = ()
    """Deviations from the canonical form that the parser accepted."""
    problems: tuple[str, ...] = ()
    """Errors of the plan."""
    example: JsonValue = None
    """For a plan without steps: a `plan/1` that shows the form without answering the request."""
    exchanges: tuple[Exchange, ...] = ()
    """The first calls of a strategy's language model."""
    adapted: tuple[str, ...] = ()
    """How requests were adapted to what the model accepts, as sentences."""
    alternatives: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def passed(self) -> bool:
        """Whether this answer would be executed or judged, and does something."""
        return self.verdict in {Verdict.REFERENCE, Verdict.VALID, Verdict.TURN}

    @property
    def summary(self) -> str:
        return " ".join(filter(None, (self.verdict.label, self.judgement, self.problem)))


def small_task(suite: Suite) -> Task:
    """The task with the shortest nonempty gold plan, and among those the shortest request."""
    known = [task for task in suite.tasks if task.gold is not None and task.gold.steps]
    return min(known or suite.tasks, key=lambda task: (len(task.gold.steps) if task.gold else 0, len(task.text)))


def try_endpoint(*, suite: Suite, settings: EndpointSettings, offered: Set[str] | None = None) -> Trial:
    """Send one request, once, within the endpoint's timeout. Failures are reported in the trial, never raised.

    Args:
        suite: supplies the request.
        settings: how the endpoint is called; `tries` is ignored.
        offered: names of the tools that a plan may call; None: the suite's whole catalogue.
    """
    task, context, request = trial_request(suite=suite, offered=offered)
    seen: list[tuple[int, bytes]] = []
    planner = endpoint_planner(replace(settings, tries=1), watch=lambda status, body: seen.append((status, body)))
    started = monotonic()
    try:
        end: PlannerReply | TurnReply | PlannerError = (
            planner.turn(request) if isinstance(request, TurnRequest) else planner.plan(request)
        )
    except PlannerError as error:
        end = error
    finally:
        planner.close()
    trial = Trial(suite=suite.slug, task=task.key, request=request, seconds=round(monotonic() - started, 3))
    for status, body in seen:
        text = body[:SHOWN_BYTES].decode("utf-8", errors="replace")
        trial = replace(trial, status=status, answer=text, answer_bytes=len(body))
    if isinstance(end, PlannerError):
        return replace(trial, reason=end.reason, verdict=verdict_of_fault(end.reason), problem=str(end))
    if isinstance(end, TurnReply):
        return _read_turn(trial, reply=end, context=context, suite=suite)
    return read(trial, reply=end, context=context, suite=suite)


def stopped_trial(*, suite: Suite, offered: Set[str] | None, reason: Reason, problem: str) -> Trial:
    """The trial of a call whose process was stopped."""
    task, _, request = trial_request(suite=suite, offered=offered)
    return Trial(suite=suite.slug, task=task.key, request=request, seconds=0.0, reason=reason, problem=problem)


def trial_request(*, suite: Suite, offered: Set[str] | None) -> tuple[Task, PlanContext, PlannerRequest]:
    """The task of a test call, the context for its plan, and the request."""
    task = small_task(suite)
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools if offered is None else offered))
    if Panel.TRANSCRIPT in suite.panels:
        return task, context, first_turn(suite=suite, task=task, context=context)
    return task, context, request_for(suite=suite, task=task, context=context)


def _read_turn(trial: Trial, *, reply: TurnReply, context: PlanContext, suite: Suite) -> Trial:
    """The trial of an episode's first turn, whose actions are read but not run."""
    # Imported here because only suites in turns need it.
    from evaluator.episodes.base import episode_of
    from evaluator.episodes.turns.reading import (
        Abstained,
        Actions,
        Answered,
        Stopped,
        Subgoals,
        UnreadableError,
        read_response,
    )

    trial = replace(
        trial,
        plan=reply.response.model_dump(exclude_defaults=True),
        prompt_tokens=reply.call.prompt_tokens,
        completion_tokens=reply.call.completion_tokens,
    )
    statements = suite.statement_tool_in(context)
    try:
        intent = read_response(
            response=reply.response, role=Role.JOINT, context=context, statement_tool=statements,
            is_typed=suite.named_inputs, candidates=suite.candidates,
        )  # fmt: skip
    except (PlanSyntaxError, UnreadableError) as error:
        sent = (reply.response.plan, reply.response.steps, reply.response.actions, reply.response.text)
        empty = any(says_nothing(part) for part in sent if part is not None)
        verdict = Verdict.EMPTY if empty else Verdict.UNREADABLE
        problem = f"The answer cannot be read: {error}."
        return replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=verdict, problem=problem)
    if isinstance(intent, Abstained):
        problem = f"{WRONGLY} {episode_of(suite.slug).empty_plan(is_fault=True)}"
        return replace(trial, reason=Reason.ABSTAINED, verdict=Verdict.ABSTAINED, problem=problem)
    match intent:
        case Stopped():
            idle = "The planner stopped before its first action: no tool would run."
        case Answered(text=text) if not text.strip():
            idle = "The answer is empty, and no tool would run."
        case Subgoals(texts=texts) if not any(text.strip() for text in texts):
            idle = "The subgoal is empty, and no tool would run."
        case Actions(actions=()):
            idle = "The plan has no steps: no tool would run."
        case _:
            idle = ""
    if idle:
        return replace(trial, verdict=Verdict.EMPTY, problem=idle)
    tools = [action.tool for action in intent.actions] if isinstance(intent, Actions) else []
    known = {*context.catalogue.tools, statements, *(suite.candidates.tools if suite.candidates else ())}
    unknown = tuple(f'there is no tool "{tool[:100]}"' for tool in dict.fromkeys(tools) if tool not in known)
    if unknown:
        problem = "The first turn calls a tool that does not exist."
        return replace(trial, verdict=Verdict.UNKNOWN_TOOL, problem=problem, problems=unknown)
    return replace(trial, verdict=Verdict.TURN)


def read(trial: Trial, *, reply: PlannerReply, context: PlanContext, suite: Suite) -> Trial:
    trial = replace(
        trial,
        alternatives=len(reply.alternatives),
        prompt_tokens=reply.call.prompt_tokens,
        completion_tokens=reply.call.completion_tokens,
    )
    try:
        parsed = read_plan(value=reply.plan, context=context)
    except PlanSyntaxError as error:
        message = f"The plan cannot be read: {error}."
        trial = replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=Verdict.UNREADABLE, problem=message)
        trial = replace(trial, tolerated=(*reply.tolerated, *error.tolerated))
        empty = says_nothing(reply.plan)
        return explained(trial, context=context, suite=suite, verdict=Verdict.EMPTY) if empty else trial
    problems = check_plan(plan=parsed.plan, context=context)
    trial = replace(
        trial,
        plan=plan_to_json(parsed.plan),
        tolerated=(*reply.tolerated, *parsed.tolerated),
        problems=tuple(problem.message for problem in problems),
    )
    if problems:
        codes = {problem.code for problem in problems}
        verdict = Verdict.MISSING_ANSWER if codes == {"answer_count"} else Verdict.INVALID
        if codes & {"unknown_tool", "tool_not_offered"}:
            verdict = Verdict.UNKNOWN_TOOL
        message = "The plan was read, but it is not valid."
        trial = replace(trial, reason=Reason.INVALID_PLAN, verdict=verdict, problem=message)
    if abstains(parsed.plan):
        trial = replace(trial, reason=Reason.ABSTAINED if suite.conditions.experts else None, problems=())
    if not parsed.plan.steps:
        verdict = Verdict.ABSTAINED if parsed.form == ABSTENTION else Verdict.EMPTY
        return explained(trial, context=context, suite=suite, verdict=verdict)
    if problems:
        return trial
    gold = suite.task(trial.task).gold
    is_reference = gold is not None and is_same_plan(plan=parsed.plan, other=gold)
    verdict = Verdict.REFERENCE if is_reference else Verdict.VALID
    return replace(trial, verdict=verdict, judgement=_judged(reply, suite=suite, task=trial.task))


def _judged(reply: PlannerReply, *, suite: Suite, task: str) -> str:
    """What a valid plan would score, as a sentence. A suite that executes plans executes nothing here."""
    if suite.conditions.experts:
        return _EXECUTED
    from evaluator.core.plans_file import GivenPlan, GivenPlans
    from evaluator.episodes.base import Setting, episode_of

    evaluator = episode_of(suite.slug).evaluator(suite=suite, setting=Setting())
    plan, *alternatives = cast(list[JsonValue], [reply.plan, *reply.alternatives])
    planner = GivenPlans({task: GivenPlan(plan, tuple(alternatives))})
    (record,) = evaluator.run(planner=planner, tasks=[task])
    column = next(column for column in suite.metrics if column.primary)
    return "" if record.score is None else f"The judge gives it {record.score:.2f} for {column.label}."


def explained(trial: Trial, *, context: PlanContext, suite: Suite, verdict: Verdict) -> Trial:
    """The trial of an empty plan or an abstention, with its score and an example of a plan."""
    # Imported late: before the call, a process with little memory cannot hold what it loads.
    from evaluator.episodes.base import episode_of

    gold = suite.task(trial.task).gold
    said = WRONGLY if verdict is Verdict.ABSTAINED else _NO_STEPS
    return replace(
        trial,
        verdict=verdict,
        problem=f"{said} {episode_of(suite.slug).empty_plan(is_fault=trial.reason is not None)}",
        example=example_plan(context=context, without={step.tool for step in gold.steps} if gold else set()),
    )
