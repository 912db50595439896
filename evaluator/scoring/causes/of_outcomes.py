"""From the reason of a task without a measured score to a finding. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

_CAUSES: Mapping[Reason, Cause] = MappingProxyType(
    {
        Reason.INVALID_RESPONSE: Cause.NO_RESPONSE,
        Reason.RESPONSE_TOO_LARGE: Cause.LARGE_RESPONSE,
        Reason.PLANNER_TIMEOUT: Cause.TIMEOUT,
        Reason.REFUSED_BY_ENDPOINT: Cause.REFUSED,
        Reason.PROMPT_TOO_LONG: Cause.PROMPT_TOO_LONG,
        Reason.ADDRESS_REFUSED: Cause.ADDRESS_REFUSED,
        Reason.UNPARSABLE_PLAN: Cause.UNREADABLE,
        Reason.INVALID_PLAN: Cause.INVALID,
        Reason.ABSTAINED: Cause.ABSTAINED,
        Reason.NO_PLAN: Cause.NO_PLAN,
        Reason.LIMIT_EXCEEDED: Cause.LIMIT_EXCEEDED,
        Reason.UNFIT_INPUT: Cause.UNFIT_INPUT,
        Reason.MODEL_UNUSABLE: Cause.MODEL_UNUSABLE,
        Reason.ENDED_WORKER: Cause.ENDED_WORKER,
        Reason.ENDPOINT_UNAVAILABLE: Cause.UNAVAILABLE,
        Reason.MODEL_UNAVAILABLE: Cause.SITE_FAULT,
        Reason.EXPERT_FAILED: Cause.SITE_FAULT,
        Reason.SCORER_FAILED: Cause.SITE_FAULT,
        Reason.WORKER_LOST: Cause.SITE_FAULT,
        Reason.INTERNAL_ERROR: Cause.SITE_FAULT,
    }
)
EXPLAINED = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes of tasks that ran. The others say nothing about a planner."""


def of_fault(record: ResultRecord) -> Finding:
    """The finding for a task that ended with a fault, by its reason alone."""
    is_planners = record.outcome is Outcome.PLANNER_FAULT
    unknown = Cause.INVALID if is_planners else Cause.SITE_FAULT
    cause = unknown if record.reason is None else _CAUSES.get(record.reason, unknown)
    return Finding(cause=cause, given=shortened(record.reason_text) if record.reason_text else None)
