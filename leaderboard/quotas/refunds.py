"""When an evaluation gives back what it was charged with."""

from leaderboard.evaluations.models import Attempt, EvaluationState
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.evaluations.states import Entered
from leaderboard.quotas.models import EntryReason
from leaderboard.quotas.services import refund

OWN_FAULT = frozenset({EvaluationReason.CANARY_FAILED, EvaluationReason.CANARY_ENDED_WORKERS})
"""Reasons for which an evaluation fails through its planner: everything else that fails is refunded."""
NOT_THE_PLANNERS = frozenset(
    {EvaluationReason.INFRA_FAULTS, EvaluationReason.PLANNER_UNAVAILABLE, EvaluationReason.WORKERS_LOST}
)
"""Reasons for which an evaluation waits for its owner, all of them refunded."""
REFUNDING = frozenset({EvaluationState.ON_HOLD, EvaluationState.FAILED, EvaluationState.CANCELLED})


def refund_reason(*, target: EvaluationState, reason: EvaluationReason, anything_ran: bool) -> EntryReason | None:
    """Why an evaluation that enters `target` is refunded, or None if it is not. Pure."""
    if target == EvaluationState.ON_HOLD and reason in NOT_THE_PLANNERS:
        return EntryReason.NOT_THE_PLANNERS_FAULT
    if target == EvaluationState.FAILED and reason not in OWN_FAULT:
        return EntryReason.NOT_THE_PLANNERS_FAULT
    if target == EvaluationState.CANCELLED and not anything_ran:
        return EntryReason.NOTHING_RAN
    return None


def refund_if_due(event: Entered) -> None:
    """Refund an evaluation if the state that it enters calls for it, within the same transaction."""
    if event.state not in REFUNDING:
        return
    anything_ran = Attempt.objects.filter(shard__evaluation=event.evaluation_id).exists()
    why = refund_reason(target=event.state, reason=event.reason, anything_ran=anything_ran)
    if why is not None:
        refund(evaluation_id=event.evaluation_id, reason=why)
