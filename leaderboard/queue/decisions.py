"""What is to be done next for an evaluation. Pure: a decision depends on nothing but what was seen."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from uuid import UUID

from leaderboard.evaluations import states
from leaderboard.evaluations.models import EvaluationReason, EvaluationState
from leaderboard.queue import steps


class Do(Enum):
    """What the next step is."""

    NOTHING = auto()
    LAUNCH = auto()
    """queued -> launching."""
    ENSURE_WORKER = auto()
    """See that a worker runs for the waiting shards."""
    LOSE_ATTEMPTS = auto()
    """Take shards from workers that are gone."""
    GIVE_UP_SHARDS = auto()
    """End shards that were tried too often: their tasks become `infra_fault`."""
    SETTLE_CANARY = auto()
    """The canary has ended: open the other shards, or fail."""
    AGGREGATE = auto()
    """launching or running -> aggregating."""
    SUMMARISE = auto()
    """aggregating -> completed or on_hold."""
    WAIT_LONGER = auto()
    """The state lasted too long because no worker of the site came: it gets its full time again."""
    FAIL = auto()
    """The state lasted too long."""
    ABANDON = auto()
    """on_hold -> cancelled, since its owner did nothing."""
    SETTLE_VERIFICATION = auto()
    """A verification has ended: draw the consequences for the evaluation that it verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, with what it is about."""

    do: Do
    attempts: tuple[steps.LostAttempt, ...] = ()
    """For LOSE_ATTEMPTS."""
    shards: tuple[int, ...] = ()
    """For GIVE_UP_SHARDS: ids."""
    awaited: EvaluationReason | None = None
    """For ENSURE_WORKER: what it waits for instead of a worker of the site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """A live attempt."""

    id: UUID
    expires_at: datetime
    worker_dead: str = ""
    """Why its worker is known to be gone, if it is."""
    disrupted: bool = False
    """Whether the cluster took that worker away."""
    stalls_at: datetime | None = None
    """Its deadline for progress."""

    def is_gone(self, now: datetime) -> bool:
        """Whether its tasks are to be taken from its worker."""
        late = self.expires_at <= now or (self.stalls_at is not None and self.stalls_at <= now)
        return bool(self.worker_dead) or late


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where an evaluation stands: all that a decision depends on."""

    now: datetime
    state: EvaluationState
    deadline: datetime | None
    open_shards: int = 0
    """Shards that are not done."""
    pending_shards: int = 0
    """Shards that wait for a worker."""
    exhausted_shards: tuple[int, ...] = ()
    """Ids of the waiting shards that were tried too often."""
    canary_ended: bool = False
    """Whether the shards that may be leased are done while the others wait for what they came to."""
    live_attempts: tuple[AttemptView, ...] = ()
    lacks_worker: bool = False
    """Whether its shards wait, and have for minutes, for nothing but a worker of the site."""
    worker_runs: bool = False
    """Whether the launcher knows of a living worker for this evaluation."""
    awaited: EvaluationReason | None = None
    """What its waiting shards wait for, where that is no worker of the site."""
    unsettled: bool = False
    """Whether this is a verification whose consequences were not drawn yet."""


def decide(view: View) -> Step:
    """The next step of an evaluation. Pure."""
    if view.state in states.FINAL:
        return Step(do=Do.SETTLE_VERIFICATION if view.unsettled else Do.NOTHING)
    if view.state == EvaluationState.ON_HOLD:
        return Step(do=Do.ABANDON if _overdue(view) else Do.NOTHING)
    if view.state == EvaluationState.AGGREGATING:
        return Step(do=Do.FAIL if _overdue(view) else Do.SUMMARISE)
    if view.state == EvaluationState.QUEUED:
        return Step(do=Do.FAIL if _overdue(view) else Do.LAUNCH)
    return _decide_active(view)


def _decide_active(view: View) -> Step:
    """The next step of an evaluation that is launching or running."""
    gone = [attempt for attempt in view.live_attempts if attempt.is_gone(view.now)]
    if gone:
        lost = tuple(steps.LostAttempt(one.id, one.worker_dead, one.disrupted) for one in gone)
        return Step(do=Do.LOSE_ATTEMPTS, attempts=lost)
    if view.exhausted_shards:
        return Step(do=Do.GIVE_UP_SHARDS, shards=view.exhausted_shards)
    if view.canary_ended:
        return Step(do=Do.SETTLE_CANARY)
    if not view.open_shards:
        return Step(do=Do.AGGREGATE)
    if _overdue(view):
        return Step(do=Do.WAIT_LONGER if view.lacks_worker else Do.FAIL)
    if view.pending_shards and not view.worker_runs:
        return Step(do=Do.ENSURE_WORKER, awaited=view.awaited)
    return Step(do=Do.NOTHING)


def _overdue(view: View) -> bool:
    return view.deadline is not None and view.deadline <= view.now
