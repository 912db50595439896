"""Agents of evaluations: their presence, on which leases depend, and the turns between a worker and an agent.

A worker opens a turn once, and the agent answers it once. An evaluation has a worker only while its agent is present.
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
"""Kinds of planners that are agents."""
arrived: Hook[UUID] = Hook()
"""Called with the evaluation of an agent that returns after an absence."""


def waits_for_agent() -> Q:
    """Condition on evaluations: no worker is needed, because the agent is absent or has one already.

    After an agent's turn is overdue, a worker is needed to end that task.
    """
    seen_since = Now() - timedelta(seconds=settings.AGENT_PRESENT_SECONDS)
    present = AgentPresence.objects.filter(evaluation=OuterRef("pk"), seen_at__gte=seen_since)
    # A leased shard has a live attempt: a database constraint.
    held = Shard.objects.filter(evaluation=OuterRef("pk"), state=ShardState.LEASED)
    needs_worker = Q(Exists(present)) | Q(Exists(overdue_turns().filter(evaluation=OuterRef("pk"))))
    asks_agent = Q(submission__planner__kind__in=AGENTS, submission__is_regrade=False)
    return asks_agent & (~needs_worker | Q(Exists(held)))


def waiting_for_agent_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """The evaluations among these that wait for their agent, so that no worker is started."""
    waiting = Evaluation.runs.filter(waits_for_agent(), pk__in=evaluation_ids)
    return frozenset(waiting.values_list("pk", flat=True))


def overdue_turns() -> QuerySet[AgentTurn]:
    """Turns that agents have not answered in time."""
    handed_before = Now() - timedelta(seconds=settings.AGENT_SILENCE_SECONDS)
    return AgentTurn.objects.filter(answered_at=None, end="", handed_at__lt=handed_before)


def note_presence(evaluation_id: UUID) -> None:
    """Record that an agent calls. Calls `arrived` if it was absent."""
    known = AgentPresence.objects.filter(evaluation=evaluation_id)
    away_before = Now() - timedelta(seconds=settings.AGENT_PRESENT_SECONDS / 2)
    was_here = known.filter(seen_at__gte=away_before).exists()
    AgentPresence.objects.update_or_create(evaluation_id=evaluation_id, defaults={"seen_at": Now()})
    if not was_here:
        arrived.call(evaluation_id)


def forget_turns(event: Entered) -> None:
    """Delete the turns of an evaluation that has ended: its records contain them."""
    if event.state in FINAL:
        AgentPresence.objects.filter(evaluation=event.evaluation_id).delete()
        AgentTurn.objects.filter(evaluation=event.evaluation_id).delete()


# The worker's side.


def open_turn(*, evaluation_id: UUID, turn: OpenTurn) -> TurnAnswer:
    """Open a turn, or return the state of an open one, with its answer once there is one.

    Before: the caller holds a live attempt of the evaluation.
    """
    row, _ = AgentTurn.objects.get_or_create(
        evaluation_id=evaluation_id, key=turn.key, defaults={"task": turn.task, "request": turn.request}
    )
    # Episodes follow each other, and a task may have several: one for each data point.
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
    elapsed = 0.0 if row.handed_at is None else (now - row.handed_at).total_seconds()
    return TurnAnswer(seconds=max(0.0, elapsed), is_away=is_away, is_silent=is_silent)


def end_task(*, evaluation_id: UUID, end: TaskEnd) -> None:
    """Record that a task has ended, for the agent's call that waits for the next turn."""
    of_task = AgentTurn.objects.filter(evaluation=evaluation_id, task=end.task, end="")
    of_task.update(end=end.text, end_is_error=end.is_error)


# The agent's side.


def held_turn(evaluation_id: UUID) -> AgentTurn | None:
    """The last turn, open or answered, of the agent's current task; None if it has no task."""
    handed = AgentTurn.objects.filter(evaluation=evaluation_id, handed_at__isnull=False).order_by("-handed_at", "-pk")
    latest = handed.first()
    last = None if latest is None else _of_episode(latest).order_by("-pk").first()
    return None if last is None or last.end else last


def hand_out(evaluation_id: UUID) -> AgentTurn | None:
    """The open turn of the agent's current task, or of the next one, marked as handed out. None if none is open."""
    held = held_turn(evaluation_id)
    if held is None:
        unanswered = AgentTurn.objects.filter(evaluation=evaluation_id, answered_at=None, end="")
        held = unanswered.order_by("pk").first()
    if held is None or held.answered_at is not None:
        return None
    return held if give(held) else None


def give(turn: AgentTurn) -> bool:
    """Mark a turn as handed to the agent, whose time starts now. False if it was answered meanwhile."""
    return bool(AgentTurn.objects.filter(pk=turn.pk, answered_at=None, end="").update(handed_at=Now()))


def answer(*, turn: AgentTurn, response: TurnResponse) -> bool:
    """Answer an open turn. False: another call was faster, and nothing changed."""
    open_turn = AgentTurn.objects.filter(pk=turn.pk, answered_at=None, end="")
    return bool(open_turn.update(answered_at=Now(), response=response.model_dump_json(exclude_defaults=True)))


def following(turn: AgentTurn) -> AgentTurn | None:
    """The turn after an answered one, marked as handed out; the same turn if the task ended with it; None while neither
    is known."""
    last = _of_episode(turn).filter(pk__gte=turn.pk).order_by("-pk").first()
    if last is None or last.pk == turn.pk:
        return last if last is None or last.end else None
    if not last.end and last.answered_at is None:
        give(last)
    return last


def request_of(turn: AgentTurn) -> TurnRequest:
    return TurnRequest.model_validate_json(turn.request)


def _of_episode(turn: AgentTurn) -> QuerySet[AgentTurn]:
    return AgentTurn.objects.filter(evaluation=turn.evaluation_id, key__startswith=f"{_episode(turn)}/")


def _episode(turn: AgentTurn) -> str:
    return episode_of_key(turn.key)
