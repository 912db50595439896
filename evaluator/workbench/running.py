"""Runs one request: ask the planner, read and check its plan, execute it step by step, and tell each event at once.

The code that asks, reads, checks and executes is that of evaluations. Nothing is scored: there is no gold plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Expected, Planner, PlannerError, PlannerRequest, RequestedTask, offered_tools
from evaluator.core.plans.abstaining import abstains
from evaluator.core.plans.checks import check_plan, execution_order
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError, Step
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.suites.base import Suite
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Value
from evaluator.episodes.parts import is_infrastructure
from evaluator.execution.engine.jobs import Job
from evaluator.execution.engine.pool import Experts
from evaluator.execution.engine.run import Engine
from evaluator.replies.read import read_plan
from evaluator.workbench import events
from evaluator.workbench.events import Ending, Event
from evaluator.workbench.reply import made_in_words

MOST_FILES = 16
"""Files of a request."""
TASK = "request"
"""The id of the request, for the planner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request with its files."""

    text: str
    files: Mapping[str, tuple[ResourceType, Value]]
    """Type and value by name, without the `$`; those of marks included."""
    marks: Mapping[str, JsonValue] = field(default_factory=dict)
    """What was marked in pictures (`evaluator.core.marks.Placed.given`)."""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height of pictures as they were given: larger ones are scaled down."""
    plan: JsonValue | None = None
    """A plan to run instead of asking the planner, in any form that planners may use."""
    history: list[dict[str, JsonValue]] = field(default_factory=list)
    """Earlier requests with what was answered, oldest first."""


@dataclass(frozen=True, slots=True)
class _Ready:
    plan: Plan
    resources: Mapping[str, ArtefactReference]


def load_experts(*, tools: Sequence[str], pool: Experts) -> None:
    """Load the experts of these tools until the memory is full, so that a request does not wait for them."""
    loaded: list[str] = []
    for tool in tools:
        pool.expert(tool)
        loaded.append(tool)
        if not all(map(pool.is_loaded, loaded)):
            return


def run(
    request: RunRequest, *, planner: Planner | None, suite: Suite, offered: frozenset[str], engine: Engine
) -> Iterator[Event]:
    """Run a request.

    Args:
        request: the request.
        planner: answers it; may be None where the request has a plan.
        suite: gives the tools.
        offered: the tools that have an expert, which the planner may call.
        engine: executes. All artefacts that an event names are in its store.

    Yields:
        `given`, `asked`, `plan`, `step` or `skipped` for each step, and `ended`, which is always the last.
    """
    references = {name: engine.keep(value) for name, (_, value) in request.files.items()}
    engine.store.flush()
    files = {name: (str(kind), references[name]) for name, (kind, _) in request.files.items()}
    yield events.given(files, marks=request.marks, sizes=request.sizes)
    catalogue = suite.catalogue.restricted_to(offered)
    context = PlanContext(
        catalogue=catalogue,
        resources={name: kind for name, (kind, _) in request.files.items()},
        expects=None,
        known=suite.catalogue,
        may_abstain=True,
    )
    seconds, tolerated, notes = 0.0, list[str](), dict[str, JsonValue]()
    value: object = request.plan
    further: tuple[object, ...] = ()
    if request.plan is None:
        assert planner is not None, "a request without a plan needs a planner"
        yield events.asked(planner=planner.name, tools=len(catalogue.tools))
        try:
            reply = planner.plan(_message(request, suite=suite, context=context))
        except PlannerError as error:
            ending = Ending.FAILED if is_infrastructure(error.reason) else Ending.NO_PLAN
            yield events.ended(ending=ending, text=f"{error}", received=error.received or "")
            return
        value, seconds, notes = reply.plan, reply.call.seconds, dict(reply.notes)
        further = reply.alternatives
        tolerated = list(reply.tolerated)
        if reply.unreadable:
            text = f"The planner's reply has no plan that can be read: {reply.unreadable}."
            yield events.ended(ending=Ending.NO_PLAN, text=text, received=_text_of(reply.plan))
            return
    try:
        parsed = read_plan(value=value, context=context)
    except PlanSyntaxError as error:
        yield events.ended(ending=Ending.NO_PLAN, text=f"The plan cannot be read: {error}.", received=_text_of(value))
        return
    if abstains(parsed.plan):
        yield events.ended(ending=Ending.DECLINED, text=_declined(parsed))
        return
    yield events.planned(
        plan=parsed.plan, seconds=seconds, tolerated=[*tolerated, *parsed.tolerated], notes=notes,
        edited=request.plan is not None, alternatives=_runnable(further, besides=parsed.plan, context=context),
    )  # fmt: skip
    if problems := check_plan(plan=parsed.plan, context=context):
        yield events.ended(ending=Ending.NO_PLAN, text="The plan cannot run.", problems=problems)
        return
    yield from _executed(_Ready(parsed.plan, references), engine=engine)


def _runnable(values: Sequence[object], *, besides: Plan, context: PlanContext) -> list[Plan]:
    """The plans among a planner's alternatives that can be read and run, without repetitions."""
    found: list[Plan] = []
    for value in values:
        try:
            plan = read_plan(value=value, context=context).plan
        except PlanSyntaxError:
            continue
        if plan not in (besides, *found) and not abstains(plan) and not check_plan(plan=plan, context=context):
            found.append(plan)
    return found


def _executed(ready: _Ready, *, engine: Engine) -> Iterator[Event]:
    """Run the steps one after the other. Each job has the steps up to one, whose results the store has."""
    done: dict[str, StepRun] = {}
    made: dict[str, ArtefactReference] = {f"${name}": ref for name, ref in ready.resources.items()}
    made |= ready.resources
    failed: dict[str, str] = {}
    """By reference that does not exist, the step that failed to make it."""
    order = execution_order(ready.plan)
    for step in order:
        lost = next((failed[value] for value in step.inputs.values() if value in failed), None)
        if lost is not None:
            failed |= dict.fromkeys(step.outputs.values(), lost)
            yield events.skipped(step=step.id, tool=step.tool, why=f"It needs a result of {lost}, which failed.")
            continue
        run = _run_of(step, among=order, ready=ready, engine=engine, wanted=done)
        if run.error is None:
            done[step.id] = run
            made |= {reference: run.outputs[name] for name, reference in step.outputs.items() if name in run.outputs}
        else:
            failed |= dict.fromkeys(step.outputs.values(), step.id)
        yield events.stepped(run)
    answers = [made[answer] for answer in ready.plan.answers if answer in made]
    complete = len(answers) == len(ready.plan.answers)
    ending = Ending.MADE if complete and not failed else Ending.PARTLY if done else Ending.FAILED
    text = made_in_words(plan=ready.plan, done=done, failed=failed, value=engine.value, made=made)
    yield events.ended(ending=ending, text=text, answers=answers)


def _run_of(
    step: Step, *, among: tuple[Step, ...], ready: _Ready, engine: Engine, wanted: Mapping[str, StepRun]
) -> StepRun:
    """The run of a step, after those that it needs."""
    steps = [*(each for each in among if each.id in wanted), step]
    plan = Plan(steps=tuple(steps), answers=tuple(step.outputs.values())[:1])
    job = Job(task=TASK, sample=0, plan=plan, resources=ready.resources)
    (result,) = engine.run([job])
    return next(run for run in result.steps if run.step == step.id)


def _message(request: RunRequest, *, suite: Suite, context: PlanContext) -> PlannerRequest:
    return PlannerRequest(
        suite=suite.slug,
        task=RequestedTask(
            id=TASK,
            request=request.text,
            resources={name: str(kind) for name, (kind, _) in request.files.items()},
            given=dict(request.marks),
        ),
        expects=Expected(type=None),
        tools=list(offered_tools(context.catalogue)),
        history=request.history,
    )


def _declined(parsed: ParsedPlan) -> str:
    return parsed.reason or "The planner says that no plan can meet this request."


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
