"""Asking a planner for the plans of many tasks: concurrently, bounded, and so that one bad task stops no other."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from evaluator.planners.protocol import Planner, PlannerError, PlannerReply, request_for
from evaluator.plans import PlanContext
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.suites.model import Suite, Task

PLANNER_CONCURRENCY = 8
FAULT_SCORE = 0.0
"""What a `planner_fault` scores (OpenAGI: an invalid plan gets 0; ControlLLM: it solves nothing)."""

_INFRA_REASONS = frozenset(
    {Reason.ENDPOINT_UNAVAILABLE, Reason.EXPERT_FAILED, Reason.SCORER_FAILED, Reason.INTERNAL_ERROR}
)


def ask_all(
    *, planner: Planner, suite: Suite, tasks: Sequence[Task], context: Callable[[Task], PlanContext]
) -> Iterator[tuple[Task, ResultRecord, PlannerReply | None]]:
    """Ask for the plan of each task and yield it as it comes, in any order.

    Yields:
        The task, its record so far, and the reply; without a reply the record is complete.
    """
    with ThreadPoolExecutor(max_workers=PLANNER_CONCURRENCY, thread_name_prefix="planner") as pool:
        futures = {pool.submit(_ask, planner, suite, task, context(task)): task for task in tasks}
        for future in as_completed(futures):
            task = futures[future]
            try:
                record, reply = future.result()
            except Exception as error:  # noqa: BLE001 - a planner is foreign code; one bad task stops no other
                message = f"Asking the planner failed: {type(error).__name__}: {error}."
                record = faulty(new_record(suite=suite, task=task), reason=Reason.INTERNAL_ERROR, message=message)
                reply = None
            yield task, record, reply


def new_record(*, suite: Suite, task: Task) -> ResultRecord:
    """The record of a task to which nothing has happened yet."""
    return ResultRecord(
        suite=suite.slug, task=task.key, request=task.text, metric=task.metric, outcome=Outcome.CANCELLED
    )


def faulty(record: ResultRecord, *, reason: Reason, message: str) -> ResultRecord:
    """A record of a task that was not scored: whose fault it is follows from the reason."""
    infra = reason in _INFRA_REASONS
    return record.model_copy(
        update={
            "outcome": Outcome.INFRA_FAULT if infra else Outcome.PLANNER_FAULT,
            "reason": reason,
            "reason_text": message,
            "score": None if infra else FAULT_SCORE,
        }
    )


def not_run(record: ResultRecord, *, reason: Reason, message: str) -> ResultRecord:
    """A record of a task that cannot run, whatever the planner."""
    return record.model_copy(update={"outcome": Outcome.NOT_RUN, "reason": reason, "reason_text": message})


def _ask(planner: Planner, suite: Suite, task: Task, context: PlanContext) -> tuple[ResultRecord, PlannerReply | None]:
    record = new_record(suite=suite, task=task)
    try:
        reply = planner.plan(request_for(suite=suite, task=task, context=context))
    except PlannerError as error:
        record = record.model_copy(update={"plan_received": error.received, "planner": error.call})
        return faulty(record, reason=error.reason, message=str(error)), None
    update = {"plan_received": reply.plan, "planner": reply.call, "planner_notes": dict(reply.notes)}
    return record.model_copy(update=update), reply
