"""What a suite knows of the plans that are sufficient for a task."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import EXACT, Suite, Task

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RightPlans:
    """Sufficient plans of a task, as near to a planner's plan as they can be."""

    plans: tuple[Plan, ...]
    """The most natural one first. Texts are the planner's where they say what is wanted. None: no right plan is
    known."""
    harmless: frozenset[str] = frozenset()
    """Tools that a plan may call besides without being worse for it."""
    is_sufficient: bool = False
    """Whether the planner's plan is known to be a sufficient one, whatever it differs in."""
    with_answers: bool = True
    """Whether it matters which results the plan names as its answers."""
    in_written_order: bool = False
    """Whether steps are read as they are written, so that a step may only take results of steps above it."""


def right_plans_of(*, suite: Suite, record: "ResultRecord", plan: Plan) -> RightPlans:
    """The sufficient plans of a record's task: the suite's hook knows them, or else there is the gold plan.

    Args:
        suite: as planners were asked.
        record: of one of its tasks.
        plan: the record's plan.

    Raises:
        LookupError: the suite has no such task.
    """
    task = suite.task(record.task)
    if suite.right_plans is not None:
        return suite.right_plans(task, record, plan)
    return gold_alone(task=task, record=record)


def gold_alone(*, task: Task, record: "ResultRecord") -> RightPlans:
    """The gold plan as the only sufficient one that is known."""
    plans = () if task.gold is None else (task.gold,)
    return RightPlans(plans=plans, is_sufficient=record.indicators.get(EXACT) == 1.0)
