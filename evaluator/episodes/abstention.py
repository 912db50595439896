"""Plans that say that no tool can meet the request: they have neither steps nor answers."""

from dataclasses import replace

from evaluator.episodes.parts import Planned, faulty
from evaluator.plans.model import Plan
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.suites.base import ABSTENTION, Task

_WRONGLY = "The planner abstained, but the tools can meet this request."


def abstention_judged(item: ResultRecord | Planned) -> ResultRecord | Planned:
    """Score a valid plan where nothing needs to be executed.

    Returns:
        The scored record where no tool can meet the request: 1 for a plan without steps, 0 for any other. A plan that
        abstains although tools can meet the request hands back what is given, as if it had said so.
    """
    if isinstance(item, ResultRecord):
        return item
    plan = item.plan.plan
    if item.task.metric == ABSTENTION:
        return item.record.model_copy(update={"outcome": Outcome.SCORED, "score": 0.0 if plan.steps else 1.0})
    if plan.steps or plan.answers:
        return item
    handed_back = hands_back(item.task)
    if handed_back is None:
        return faulty(item.record, reason=Reason.INVALID_PLAN, message=_WRONGLY)
    return replace(item, plan=replace(item.plan, plan=handed_back))


def hands_back(task: Task) -> Plan | None:
    """The plan that gives back an input as the answer; None if no input has the type of the answer."""
    same = [f"${name}" for name, kind in task.resources.items() if kind is task.expects]
    return Plan(steps=(), answers=(same[0],)) if same else None
