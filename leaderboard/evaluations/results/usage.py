"""What planners take to answer: time and tokens, from each task's record to the mean of an evaluation."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from evaluator.core.records import PlannerCall

_MOST_TOKENS = 2**31 - 1
"""What the column holds."""


class TaskUsage(Protocol):
    """What one task took; None where it is not known. `TaskResult` is one."""

    planning_seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None


def usage_fields(call: PlannerCall | None) -> dict[str, Any]:
    """The fields of a task's row, from how its planner was asked; none are known if it was not."""
    if call is None:
        return {}
    return {
        "planning_seconds": call.seconds,
        "prompt_tokens": _counted(call.prompt_tokens),
        "completion_tokens": _counted(call.completion_tokens),
    }


def _counted(tokens: int | None) -> int | None:
    """The number that a planner told, if it can be one: it is the planner's word, and must not cost a result."""
    return tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None


def usage_of(results: Iterable[TaskUsage]) -> dict[str, Any]:
    """Means per task, each over the tasks that it is known of: `{"seconds": {"mean", "tasks"}, "prompt_tokens": ...,
    "completion_tokens": ...}`. What no task tells is left out."""
    found = list(results)
    means = {
        "seconds": _mean([one.planning_seconds for one in found]),
        "prompt_tokens": _mean([one.prompt_tokens for one in found]),
        "completion_tokens": _mean([one.completion_tokens for one in found]),
    }
    return {name: mean for name, mean in means.items() if mean is not None}


def _mean(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    return {"mean": sum(known) / len(known), "tasks": len(known)} if known else None
