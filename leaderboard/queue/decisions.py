"""The next step of an evaluation, as a pure function of its state."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from uuid import UUID

from leaderboard.evaluations import states
from leaderboard.evaluations.models import EvaluationReason, EvaluationState
from leaderboard.queue import steps


class Action(Enum):
    """Kind of a step."""

    NOTHING = auto()
    LAUNCH = auto()
    """queued -> launching."""
    ENSURE_WORKER = auto()
    """Make sure that a worker runs for the waiting shards."""
    LOSE_ATTEMPTS = auto()
    """Take shards from lost workers."""
    FOLLOW_RELEASE = auto()
    """No worker of this release takes the evaluation: it is measured under today's rules, or fails."""
    GIVE_UP_SHARDS = auto()
    """End shards that are out of tries: their tasks become `infra_fault`."""
    SETTLE_CANARY = auto()
    """The canary has ended: open the other shards or fail."""
    AGGREGATE = auto()
    """launching or running -> aggregating."""
    SUMMARISE = auto()
    """aggregating -> completed or on_hold."""
    WAIT_LONGER = auto()
    """The deadline passed because no worker of the site was free: it is extended by its full length."""
    FAIL = auto()
    """The deadline passed."""
    ABANDON = auto()
    """on_hold -> cancelled, since the owner did not act."""
    SETTLE_VERIFICATION = auto()
    """A verification has ended: apply its verdict to the evaluation that it verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step and its arguments."""

    action: Action
    attempts: tuple[steps.LostAttempt, ...] = ()
    """For LOSE_ATTEMPTS."""
    shards: tuple[int, ...] = ()
    """For GIVE_UP_SHARDS: ids."""
    awaited: EvaluationReason | None = None
    """For ENSURE_WORKER: what the evaluation waits for, if not for a worker of the site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """A live attempt."""

    id: UUID
    expires_at: datetime
    worker_dead: str = ""
    """Why the launcher reports its worker as gone; empty if it does not."""
    disrupted: bool = False
    """Whether the cluster evicted that worker."""
    stalls_at: datetime | None = None
    """Its deadline for progress."""

    def is_gone(self, now: datetime) -> bool:
        """Whether its worker loses the shard."""
        late = self.expires_at <= now or (self.stalls_at is not None and self.stalls_at <= now)
        return bool(self.worker_dead) or late


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Snapshot of an evaluation: the complete input of a decision."""

    now: datetime
    state: EvaluationState
    deadline: datetime | None
    open_shards: int = 0
    """Shards that are not done."""
    pending_shards: int = 0
    """Shards that wait for a worker."""
    exhausted_shards: tuple[int, ...] = ()
    """Ids of the waiting shards that are out of tries."""
    canary_ended: bool = False
    """Whether the canary shards are done and the other shards still held back."""
    live_attempts: tuple[AttemptView, ...] = ()
    lacks_worker: bool = False
    """Whether its shards have waited for minutes, only for a worker of the site."""
    worker_runs: bool = False
    """Whether the launcher knows of a live worker for this evaluation."""
    awaited: EvaluationReason | None = None
    """What its waiting shards wait for, if not for a worker of the site."""
    is_outdated: bool = False
    """Whether it waits for workers under tasks, rules or data that are not those of this release."""
    awaits_runs: bool = False
    """Whether a further run of it has not ended."""
    unsettled: bool = False
    """Whether this is a verification without a verdict."""


def decide(view: View) -> Step:
    """The next step of an evaluation. Pure."""
    if view.state in states.FINAL:
        return Step(action=Action.SETTLE_VERIFICATION if view.unsettled else Action.NOTHING)
    if view.state == EvaluationState.ON_HOLD:
        return Step(action=Action.ABANDON if _overdue(view) else Action.NOTHING)
    if view.state == EvaluationState.AGGREGATING:
        if view.awaits_runs:
            return Step(action=Action.NOTHING)
        return Step(action=Action.FAIL if _overdue(view) else Action.SUMMARISE)
    if view.state == EvaluationState.QUEUED:
        if _overdue(view):
            return Step(action=Action.FAIL)
        return Step(action=Action.FOLLOW_RELEASE if view.is_outdated else Action.LAUNCH)
    gone = [attempt for attempt in view.live_attempts if attempt.is_gone(view.now)]
    if gone:
        lost = tuple(steps.LostAttempt(attempt.id, attempt.worker_dead, attempt.disrupted) for attempt in gone)
        return Step(action=Action.LOSE_ATTEMPTS, attempts=lost)
    if view.exhausted_shards:
        return Step(action=Action.GIVE_UP_SHARDS, shards=view.exhausted_shards)
    if view.canary_ended:
        return Step(action=Action.SETTLE_CANARY)
    if not view.open_shards:
        return Step(action=Action.AGGREGATE)
    if view.is_outdated and not view.live_attempts:
        return Step(action=Action.FOLLOW_RELEASE)
    if _overdue(view):
        return Step(action=Action.WAIT_LONGER if view.lacks_worker else Action.FAIL)
    if view.pending_shards and not view.worker_runs:
        return Step(action=Action.ENSURE_WORKER, awaited=view.awaited)
    return Step(action=Action.NOTHING)


def _overdue(view: View) -> bool:
    return view.deadline is not None and view.deadline <= view.now
