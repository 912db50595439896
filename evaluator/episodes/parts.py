"""Building blocks of evaluators: query a planner, parse its plan, and end a task without a score.

Planners are queried for many tasks concurrently, within bounds; a failing task does not stop the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest, request_for
from evaluator.core.plans.abstaining import WRONGLY, abstains
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError, plan_to_json
from evaluator.core.records import FAULT_SCORE, Outcome, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.suites.samples import SampleSource
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.rule_names import RULE_NAMES, VARIATION

if TYPE_CHECKING:
    from evaluator.execution.experts.profile import Profile

PLANNER_CONCURRENCY = 8

_INFRA_REASONS = frozenset(
    {
        Reason.ENDPOINT_UNAVAILABLE,
        Reason.MODEL_UNAVAILABLE,
        Reason.EXPERT_FAILED,
        Reason.SCORER_FAILED,
        Reason.INTERNAL_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A task with its parsed plan and its record so far."""

    record: ResultRecord
    task: Task
    plan: ParsedPlan
    reply: PlannerReply


def plan_all(
    *, planner: Planner, suite: Suite, tasks: Sequence[Task], context: Callable[[Task], PlanContext]
) -> Iterator[ResultRecord | Planned]:
    """Request and parse the plan of each task, in any order.

    Yields:
        The plan, or the complete record of a task without a readable plan. The defects of a plan are in `problems` of
        its record.
    """
    for task, record, reply in ask_all(planner=planner, suite=suite, tasks=tasks, context=context):
        yield record if reply is None else planned_of(record, task=task, reply=reply, context=context(task))


def measured(records: Iterable[ResultRecord], *, suite: Suite) -> Iterator[ResultRecord]:
    """Add the values of the suite's optional columns to finished records."""
    for record in records:
        found = {} if suite.measures is None else suite.measures(suite.task(record.task), record)
        if not found:
            yield record
            continue
        update = {
            "indicators": {**record.indicators, **{key: own.value for key, own in found.items()}},
            "explanations": {**record.explanations, **{key: own.why for key, own in found.items()}},
        }
        yield record.model_copy(update=update)


def without_invalid(item: ResultRecord | Planned) -> ResultRecord | Planned:
    """Turn a plan with problems, or an abstention from a feasible request, into the record of a planner fault."""
    if isinstance(item, ResultRecord):
        return item
    if abstains(item.plan.plan) and item.task.metric != ABSTENTION:
        # The missing answer is the point of an abstention, not a defect.
        return faulty(item.record.model_copy(update={"problems": []}), reason=Reason.ABSTAINED, message=WRONGLY)
    if not item.record.problems:
        return item
    problems = item.record.problems
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    message = problems[0].message
    message = f"{message[:1].upper()}{message[1:]}{more}."
    return faulty(item.record, reason=Reason.INVALID_PLAN, message=message)


def not_run_records(
    *, suite: Suite, tasks: Sequence[Task], reasons: Mapping[str, tuple[Reason, str]]
) -> Iterator[ResultRecord]:
    """The records of the tasks that cannot run with any planner."""
    for task in tasks:
        if task.key in reasons:
            reason, message = reasons[task.key]
            yield not_run(new_record(suite=suite, task=task), reason=reason, message=message)


def planned_of(
    record: ResultRecord, *, task: Task, reply: PlannerReply, context: PlanContext
) -> ResultRecord | Planned:
    """The parsed plan of a reply, or the complete record of a task whose plan cannot be read."""
    try:
        parsed = read_plan(value=reply.plan, context=context)
    except PlanSyntaxError as error:
        record = record.model_copy(update={"tolerated": [*reply.tolerated, *error.tolerated]})
        return faulty(record, reason=Reason.UNPARSABLE_PLAN, message=f"The plan cannot be read: {error}.")
    update = {
        "plan": plan_to_json(parsed.plan),
        "tolerated": [*reply.tolerated, *parsed.tolerated],
        "problems": list(check_plan(plan=parsed.plan, context=context)),
    }
    return Planned(record=record.model_copy(update=update), task=task, plan=parsed, reply=reply)


def ask_all(
    *, planner: Planner, suite: Suite, tasks: Sequence[Task], context: Callable[[Task], PlanContext]
) -> Iterator[tuple[Task, ResultRecord, PlannerReply | None]]:
    """Request the plan of each task and yield it on arrival, in any order.

    Yields:
        The task, its record so far, and the reply; without a reply the record is complete.
    """
    if isinstance(planner, BatchPlanner):
        yield from _ask_together(planner=planner, suite=suite, tasks=tasks, context=context)
        return
    pool = ThreadPoolExecutor(max_workers=PLANNER_CONCURRENCY, thread_name_prefix="planner")
    try:
        futures = {pool.submit(_ask, planner, suite, task, context(task)): task for task in tasks}
        for future in as_completed(futures):
            task = futures[future]
            try:
                record, reply = future.result()
            except Exception as error:  # noqa: BLE001 - a planner is foreign code; one bad task stops no other
                record, reply = _defective(suite=suite, task=task, error=error), None
            yield task, record, reply
    finally:
        # Only after an interruption is a call still open; it may never return.
        pool.shutdown(wait=False, cancel_futures=True)


def _ask_together(
    *, planner: BatchPlanner, suite: Suite, tasks: Sequence[Task], context: Callable[[Task], PlanContext]
) -> Iterator[tuple[Task, ResultRecord, PlannerReply | None]]:
    requested: list[Task] = []
    broken: list[tuple[Task, Exception]] = []
    answered: set[int] = set()

    def requests() -> Iterator[PlannerRequest]:
        # Generated lazily: the requests of thousands of tasks would fill the memory.
        for task in tasks:
            try:
                request = request_for(suite=suite, task=task, context=context(task))
            except Exception as error:  # noqa: BLE001 - one bad task stops no other
                broken.append((task, error))
            else:
                requested.append(task)
                yield request

    problem = Exception("the planner neither answered nor failed")
    try:
        for index, end in planner.plan_all(requests()):
            answered.add(index)
            yield requested[index], *_recorded(new_record(suite=suite, task=requested[index]), end=end)
    except Exception as error:  # noqa: BLE001 - a planner is foreign code; what it answered is kept
        problem = error
    ended = {task.key for task in [requested[index] for index in answered] + [task for task, _ in broken]}
    for task, defect in [*broken, *((task, problem) for task in tasks if task.key not in ended)]:
        yield task, _defective(suite=suite, task=task, error=defect), None


def new_record(*, suite: Suite, task: Task) -> ResultRecord:
    """The record of a task before its planner is queried."""
    return ResultRecord(
        suite=suite.slug, task=task.key, request=task.text, metric=task.metric, outcome=Outcome.CANCELLED
    )


def is_infrastructure(reason: Reason) -> bool:
    """Whether a task that ended for this reason is an infrastructure fault."""
    return reason in _INFRA_REASONS


def faulty(record: ResultRecord, *, reason: Reason, message: str) -> ResultRecord:
    """The record of a task without a score; the reason decides between planner and infrastructure fault, and a task
    whose recorded answers do not fit is `not_run`."""
    if reason is Reason.NOT_IN_RUN:
        return not_run(record, reason=reason, message=message)
    infra = is_infrastructure(reason)
    return record.model_copy(
        update={
            "outcome": Outcome.INFRA_FAULT if infra else Outcome.PLANNER_FAULT,
            "reason": reason,
            "reason_text": message,
            "score": None if infra else FAULT_SCORE,
            # Columns define the values of a fault, whatever a judge found before the execution.
            "indicators": {},
            "explanations": {},
            "pairs": [],
        }
    )


def not_run(record: ResultRecord, *, reason: Reason, message: str) -> ResultRecord:
    """The record of a task that cannot run with any planner."""
    return record.model_copy(update={"outcome": Outcome.NOT_RUN, "reason": reason, "reason_text": message})


def _ask(planner: Planner, suite: Suite, task: Task, context: PlanContext) -> tuple[ResultRecord, PlannerReply | None]:
    end: PlannerReply | PlannerError
    try:
        end = planner.plan(request_for(suite=suite, task=task, context=context))
    except PlannerError as error:
        end = error
    return _recorded(new_record(suite=suite, task=task), end=end)


def _recorded(record: ResultRecord, *, end: PlannerReply | PlannerError) -> tuple[ResultRecord, PlannerReply | None]:
    if isinstance(end, PlannerError):
        record = record.model_copy(update={"plan_received": end.received, "planner": end.call})
        return faulty(record, reason=end.reason, message=str(end)), None
    update = {"plan_received": end.plan, "planner": end.call, "planner_notes": dict(end.notes)}
    record = record.model_copy(update=update)
    if end.unreadable:
        message = f"The plan cannot be read: {end.unreadable}."
        record = record.model_copy(update={"tolerated": list(end.tolerated)})
        return faulty(record, reason=Reason.UNPARSABLE_PLAN, message=message), None
    return record, end


def _defective(*, suite: Suite, task: Task, error: Exception) -> ResultRecord:
    message = f"Asking the planner failed: {type(error).__name__}: {error}."
    return faulty(new_record(suite=suite, task=task), reason=Reason.INTERNAL_ERROR, message=message)


def not_run_reasons(*, suite: Suite, profile: "Profile", samples: SampleSource) -> dict[str, tuple[Reason, str]]:
    """The tasks that cannot run in a profile, with reason and sentence. Depends on suite, profile and data only."""
    reasons: dict[str, tuple[Reason, str]] = {}
    scores = {*profile.scorers, *RULE_NAMES, *([VARIATION] if "ViT" in profile.scorers else [])}
    for task in suite.tasks:
        if task.gold is None:
            reasons[task.key] = (Reason.NO_GOAL, "No right plan is known for this request.")
            continue
        missing = [tool for tool in dict.fromkeys(task.gold.tools()) if tool not in profile.experts]
        if task.metric == ABSTENTION:
            continue
        no_data = next(filter(None, (samples.missing(task=answer) for answer in task.answers)), None)
        unscored = [name for answer in task.answers if (name := answer.metric) not in scores]
        if missing:
            why = " ".join(profile.unavailable[tool] for tool in missing if tool in profile.unavailable)
            sentence = f"Profile {profile.name} has no expert for {', '.join(missing)}."
            reasons[task.key] = (Reason.NO_EXPERT, f"{sentence} {why}".strip())
        elif unscored:
            reasons[task.key] = (Reason.NO_EXPERT, f"Profile {profile.name} has no scorer for the {unscored[0]} score.")
        elif no_data is not None:
            reasons[task.key] = (Reason.NO_DATA, no_data)
    return reasons
