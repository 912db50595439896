"""One test call of an endpoint: a request of a suite is sent as a worker would, and all that came of it is shown."""

from collections.abc import Set
from dataclasses import dataclass, replace
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
from evaluator.core.turns import Role, TurnReply, TurnRequest, first_turn
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.trials.empty_plans import example_plan, says_nothing
from evaluator.planners.trials.verdicts import Verdict, verdict_of_fault, verdict_of_plan, verdict_of_problems
from evaluator.replies.read import read_plan

SHOWN_BYTES = 4000
_NO_STEPS = "The plan has no steps."
_EXECUTED = "It would be executed, and scored by what it produces."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was sent, what came back, and how it was read."""

    suite: str
    task: str
    """Key of the task whose request was sent."""
    request: PlannerRequest
    seconds: float
    status: int | None = None
    """HTTP status; None if nothing was answered."""
    answer: str = ""
    """The beginning of what was answered, without the secret header."""
    answer_bytes: int = 0
    """Of the whole answer, as far as it was read."""
    reason: Reason | None = None
    """Why the answer would not be executed or judged; None if it would."""
    verdict: Verdict = Verdict.FAILED
    judgement: str = ""
    """Of a plan that passed: what it would score, as a sentence."""
    problem: str = ""
    """Why it did not pass, as a sentence."""
    plan: JsonValue = None
    """The answer as it was read, `plan/1`."""
    tolerated: tuple[str, ...] = ()
    """What was read although it was not canonical."""
    problems: tuple[str, ...] = ()
    """What is wrong with the plan."""
    example: JsonValue = None
    """Where the plan has no steps: a plan, `plan/1`, that shows the form and does not answer the request."""
    alternatives: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def passed(self) -> bool:
        """Whether this answer would be executed or judged, and has a plan with steps."""
        return self.verdict.passes

    @property
    def summary(self) -> str:
        """The verdict and what follows from it, in sentences."""
        return " ".join(filter(None, (self.verdict.label, self.judgement, self.problem)))


def small_task(suite: Suite) -> Task:
    """The task whose right plan has the fewest steps but at least one, and of these the one with the shortest
    request."""
    known = [task for task in suite.tasks if task.gold is not None and task.gold.steps]
    return min(known or suite.tasks, key=lambda task: (len(task.gold.steps) if task.gold else 0, len(task.text)))


def try_endpoint(*, suite: Suite, settings: EndpointSettings, offered: Set[str] | None = None) -> Trial:
    """Send one request, once, within the endpoint's timeout. Never fails: what went wrong is what there is to show.

    Args:
        suite: whose request is sent.
        settings: how the endpoint is called; it is not called again if it is away.
        offered: names of the tools that a plan may call; None: all of the suite's catalogue.
    """
    task, context, request = asked(suite=suite, offered=offered)
    seen: list[tuple[int, bytes]] = []
    planner = EndpointPlanner(replace(settings, tries=1), watch=lambda status, body: seen.append((status, body)))
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
    task, _, request = asked(suite=suite, offered=offered)
    return Trial(suite=suite.slug, task=task.key, request=request, seconds=0.0, reason=reason, problem=problem)


def asked(*, suite: Suite, offered: Set[str] | None) -> tuple[Task, PlanContext, PlannerRequest]:
    """The task whose request is sent, what its plan is read against, and the request."""
    task = small_task(suite)
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools if offered is None else offered))
    if Panel.TRANSCRIPT in suite.panels:
        return task, context, first_turn(suite=suite, task=task, context=context)
    return task, context, request_for(suite=suite, task=task, context=context)


def _read_turn(trial: Trial, *, reply: TurnReply, context: PlanContext, suite: Suite) -> Trial:
    """The trial of the first turn of an episode, whose actions are read and not run."""
    # Only now: other suites do not need it.
    from evaluator.episodes.turns.reading import Actions, UnreadableError, read_response
    from evaluator.planners.trials.first_turns import nothing_done, unknown_tools

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
        empty = any(says_nothing(one) for one in sent if one is not None)
        verdict = Verdict.EMPTY if empty else Verdict.UNREADABLE
        problem = f"The answer cannot be read: {error}."
        return replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=verdict, problem=problem)
    if sentence := nothing_done(intent):
        return replace(trial, verdict=Verdict.EMPTY, problem=sentence)
    tools = [wanted.tool for wanted in intent.wanted] if isinstance(intent, Actions) else []
    others = {statements, *(suite.candidates.tools if suite.candidates else ())}
    if unknown := unknown_tools(tools, context=context, others=others):
        problem = "The first turn calls a tool that does not exist."
        return replace(trial, verdict=Verdict.UNKNOWN_TOOL, problem=problem, problems=unknown)
    return replace(trial, verdict=Verdict.TURN)


def read(trial: Trial, *, reply: PlannerReply, context: PlanContext, suite: Suite) -> Trial:
    """The trial with its plan and the verdict on it."""
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
        verdict, message = verdict_of_problems(problems), "The plan was read, but it is not valid."
        trial = replace(trial, reason=Reason.INVALID_PLAN, verdict=verdict, problem=message)
    if abstains(parsed.plan):
        trial = replace(trial, reason=Reason.ABSTAINED if suite.conditions.experts else None, problems=())
    if not parsed.plan.steps:
        verdict = Verdict.ABSTAINED if parsed.form == ABSTENTION else Verdict.EMPTY
        return explained(trial, context=context, suite=suite, verdict=verdict)
    if problems:
        return trial
    verdict = verdict_of_plan(plan=parsed.plan, gold=suite.task(trial.task).gold)
    return replace(trial, verdict=verdict, judgement=_judged(reply, suite=suite, task=trial.task))


def _judged(reply: PlannerReply, *, suite: Suite, task: str) -> str:
    """What a valid plan would score, as a sentence. Where plans are executed, nothing is executed for that."""
    if suite.conditions.experts:
        return _EXECUTED
    from evaluator.core.plans_file import GivenPlan
    from evaluator.episodes.base import Setting, episode_of
    from evaluator.planners.given import GivenPlans

    evaluator = episode_of(suite.slug).evaluator(suite=suite, setting=Setting())
    plan, *alternatives = cast(list[JsonValue], [reply.plan, *reply.alternatives])
    given = GivenPlans({task: GivenPlan(plan, tuple(alternatives))})
    (record,) = evaluator.run(planner=given, tasks=[task])
    column = next(column for column in suite.metrics if column.primary)
    return "" if record.score is None else f"The judge gives it {record.score:.2f} for {column.label}."


def explained(trial: Trial, *, context: PlanContext, suite: Suite, verdict: Verdict) -> Trial:
    """The trial of an empty plan or an abstention, with what it would score and how a plan looks."""
    # Only now, since it loads more than a process with little memory can hold before it has called.
    from evaluator.episodes.base import episode_of

    gold = suite.task(trial.task).gold
    said = WRONGLY if verdict is Verdict.ABSTAINED else _NO_STEPS
    return replace(
        trial,
        verdict=verdict,
        problem=f"{said} {episode_of(suite.slug).empty_plan(is_fault=trial.reason is not None)}",
        example=example_plan(context=context, without={step.tool for step in gold.steps} if gold else set()),
    )
