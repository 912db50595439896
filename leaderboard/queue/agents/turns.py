"""Agents of evaluations: their presence, on which leases depend, and the turns between a worker and an agent.

A worker opens a turn, the agent answers it, each once. An evaluation has a worker only while its agent is present.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.planners.agents.calls import EPISODE_OVER, episode_of_key
from gpu_jobs.contract import OpenTurn, TaskEnd, TurnAnswer
from leaderboard.evaluations.models import Evaluation, Shard, ShardState
from leaderboard.evaluations.states import FINAL, Entered
from leaderboard.planners.kinds import KINDS
from leaderboard.platform.database import database_now
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
    waiting = Evaluation.runs.filter(waits_for_agent(), pk__in=evaluation_ids)
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


# The worker's side.


def open_turn(*, evaluation_id: UUID, turn: OpenTurn) -> TurnAnswer:
    """Open a turn, or look at one that is open: its answer once it has one.

    Before: the caller holds a live attempt of the evaluation.
    """
    row, _ = AgentTurn.objects.get_or_create(
        evaluation_id=evaluation_id, key=turn.key, defaults={"task": turn.task, "request": turn.request}
    )
    # Episodes come one after the other, and a task may have several: one for each data point.
    others = AgentTurn.objects.filter(evaluation=evaluation_id, end="", answered_at__isnull=False)
    others.exclude(key__startswith=f"{_episode(row)}/").update(end=EPISODE_OVER)
    if row.answered_at is not None:
        since = row.handed_at or row.opened_at
        seconds = max(0.0, (row.answered_at - since).total_seconds())
        return TurnAnswer(response=row.response, seconds=seconds)
    now = database_now()
    seen = AgentPresence.objects.filter(evaluation=evaluation_id).values_list("seen_at", flat=True).first()
    is_away = seen is None or (now - seen).total_seconds() > settings.AGENT_PRESENT_SECONDS
    is_silent = overdue_turns().filter(pk=row.pk).exists()
    kept = 0.0 if row.handed_at is None else (now - row.handed_at).total_seconds()
    return TurnAnswer(seconds=max(0.0, kept), is_away=is_away, is_silent=is_silent)


def end_task(*, evaluation_id: UUID, end: TaskEnd) -> None:
    """Note that a task is over, for the call of the agent that waits for what follows."""
    of_task = AgentTurn.objects.filter(evaluation=evaluation_id, task=end.task, end="")
    of_task.update(end=end.text, end_is_error=end.is_error)


# The agent's side.


def held_turn(evaluation_id: UUID) -> AgentTurn | None:
    """The last turn of the task that the agent has, open or answered; None: it has no task."""
    given = AgentTurn.objects.filter(evaluation=evaluation_id, handed_at__isnull=False).order_by("-handed_at", "-pk")
    latest = given.first()
    last = None if latest is None else _of_episode(latest).order_by("-pk").first()
    return None if last is None or last.end else last


def hand_out(evaluation_id: UUID) -> AgentTurn | None:
    """The open turn of the task that the agent has, or of the next one, noted as given to it. None: none is open."""
    held = held_turn(evaluation_id)
    if held is None:
        held = _open(evaluation_id).order_by("pk").first()
    if held is None or held.answered_at is not None:
        return None
    return held if give(held) else None


def give(turn: AgentTurn) -> bool:
    """Note that the agent gets a turn. Its time counts from here. False: it was answered meanwhile."""
    return bool(AgentTurn.objects.filter(pk=turn.pk, answered_at=None, end="").update(handed_at=Now()))


def answer(*, turn: AgentTurn, response: TurnResponse) -> bool:
    """Answer an open turn. False: another call was faster, and nothing changed."""
    open_turn = AgentTurn.objects.filter(pk=turn.pk, answered_at=None, end="")
    return bool(open_turn.update(answered_at=Now(), response=response.model_dump_json(exclude_defaults=True)))


def following(turn: AgentTurn) -> AgentTurn | None:
    """The turn after one that was answered, noted as given to the agent; the same turn if the task ended with it; None
    as long as neither is known."""
    last = _of_episode(turn).filter(pk__gte=turn.pk).order_by("-pk").first()
    if last is None or last.pk == turn.pk:
        return last if last is None or last.end else None
    if not last.end and last.answered_at is None:
        give(last)
    return last


def request_of(turn: AgentTurn) -> TurnRequest:
    """The request of a turn."""
    return TurnRequest.model_validate_json(turn.request)


def _open(evaluation_id: UUID) -> QuerySet[AgentTurn]:
    return AgentTurn.objects.filter(evaluation=evaluation_id, answered_at=None, end="")


def _of_episode(turn: AgentTurn) -> QuerySet[AgentTurn]:
    return AgentTurn.objects.filter(evaluation=turn.evaluation_id, key__startswith=f"{_episode(turn)}/")


def _episode(turn: AgentTurn) -> str:
    return episode_of_key(turn.key)
