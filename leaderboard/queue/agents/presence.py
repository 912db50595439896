"""Which agent-driven evaluations a worker may be given: those whose agents are there, one worker each."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from leaderboard.evaluations.models import Evaluation, Shard, ShardState
from leaderboard.evaluations.states import Entered
from leaderboard.evaluations.transitions import FINAL
from leaderboard.planners.kinds import KINDS
from leaderboard.platform.hooks import Hook
from leaderboard.queue.models import AgentPresence, AgentTurn

AGENTS = tuple(name for name, kind in KINDS.items() if kind.is_agent)
"""Kinds of planners that an agent answers for."""
arrived: Hook[UUID] = Hook()
"""Called with an evaluation whose agent comes back after a while."""


def waits_for_agent() -> Q:
    """A condition on evaluations: no worker is wanted, because the agent is away, or one works for it already.

    An agent that has kept a turn for too long is waited for no more: a worker then ends that task.
    """
    seen_since = Now() - timedelta(seconds=settings.AGENT_PRESENT_SECONDS)
    present = AgentPresence.objects.filter(evaluation=OuterRef("pk"), seen_at__gte=seen_since)
    # Held by a live attempt: the database sees to that.
    held = Shard.objects.filter(evaluation=OuterRef("pk"), state=ShardState.LEASED)
    is_wanted = Q(Exists(present)) | Q(Exists(overdue_turns().filter(evaluation=OuterRef("pk"))))
    return Q(submission__planner__kind__in=AGENTS) & (~is_wanted | Q(Exists(held)))


def waiting_for_agent_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these evaluations for which no worker is to be started, because their agent is away."""
    waiting = Evaluation.objects.filter(waits_for_agent(), pk__in=evaluation_ids)
    return frozenset(waiting.values_list("pk", flat=True))


def overdue_turns() -> QuerySet[AgentTurn]:
    """Turns that agents have kept for too long."""
    handed_before = Now() - timedelta(seconds=settings.AGENT_SILENCE_SECONDS)
    return AgentTurn.objects.filter(answered_at=None, end="", handed_at__lt=handed_before)


def note_presence(evaluation_id: UUID) -> None:
    """Note that an agent calls. Says so to whoever starts workers if it was away."""
    known = AgentPresence.objects.filter(evaluation=evaluation_id)
    away_before = Now() - timedelta(seconds=settings.AGENT_PRESENT_SECONDS / 2)
    was_here = known.filter(seen_at__gte=away_before).exists()
    AgentPresence.objects.update_or_create(evaluation_id=evaluation_id, defaults={"seen_at": Now()})
    if not was_here:
        arrived.call(evaluation_id)


def forget_turns(event: Entered) -> None:
    """Delete what lies between agent and worker of an evaluation that has ended: its records say all of it."""
    if event.state in FINAL:
        AgentPresence.objects.filter(evaluation=event.evaluation_id).delete()
        AgentTurn.objects.filter(evaluation=event.evaluation_id).delete()
