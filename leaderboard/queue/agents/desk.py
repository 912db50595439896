"""The turns of an evaluation as the `Desk` of its agent. Waiting polls the database and occupies no thread."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection

from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.planners.agents.desk import Ended, Nothing
from evaluator.planners.agents.tools import NEXT_TASK
from leaderboard.evaluations.models import Evaluation, Shard, ShardState, TaskResult
from leaderboard.evaluations.states import FINAL
from leaderboard.queue.agents import turns
from leaderboard.queue.agents.turns import note_presence
from leaderboard.queue.further_runs import may_be_asked_again
from leaderboard.queue.models import AgentTurn

WAIT_SECONDS = 25.0
"""Longest wait of a call: many clients and proxies give up after 30 seconds."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_NO_WORKER = f"No worker is free yet. Your call is recorded: call {NEXT_TASK}, which gives the task with its result."
T = TypeVar("T")


async def in_database(function: Callable[[], T]) -> T:
    """Run a function with queries in a thread, and close its connection, as no Django request ends to do so."""

    def run() -> T:
        try:
            return function()
        finally:
            connection.close()

    result: T = await sync_to_async(run, thread_sensitive=False)()
    return result


@dataclass(slots=True)
class DatabaseDesk:
    """The turns of one evaluation, for one call."""

    evaluation_id: UUID
    wait_seconds: float = WAIT_SECONDS
    _rows: dict[str, AgentTurn] = field(default_factory=dict)
    """By key of the request."""

    async def hand_out(self) -> TurnRequest | Nothing:
        """See `Desk`."""
        row = await self._wait(lambda: turns.hand_out(self.evaluation_id) or self._over())
        if isinstance(row, AgentTurn):
            return self._noted(row)
        waiting = f"No worker is free yet, or the task is being prepared: call {NEXT_TASK} again."
        return Nothing(row or waiting)

    async def open_turn(self) -> TurnRequest | None:
        """See `Desk`."""

        def unanswered() -> AgentTurn | str | None:
            held = turns.held_turn(self.evaluation_id)
            if held is None:
                return "none"
            return held if held.answered_at is None else None

        row = await self._wait(unanswered)
        return self._noted(row) if isinstance(row, AgentTurn) else None

    async def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        """See `Desk`."""
        row = self._rows[request.key]
        return await in_database(lambda: turns.answer(turn=row, response=response))

    async def following(self, request: TurnRequest) -> TurnRequest | Ended:
        """See `Desk`."""
        row = self._rows[request.key]
        after = await self._wait(lambda: turns.following(row) or self._over())
        if isinstance(after, AgentTurn):
            return self._noted(after) if after.pk != row.pk else Ended(after.end, is_error=after.end_is_error)
        return Ended(after or _NO_WORKER)

    async def progress(self) -> str:
        """See `Desk`."""

        def counted() -> str:
            evaluation = Evaluation.runs.get(pk=self.evaluation_id)
            done = TaskResult.objects.filter(evaluation=evaluation, outcome__gt="").count()
            return f"{done} of {evaluation.tasks_total} tasks are done. {evaluation.reason_text}".strip()

        return await in_database(counted)

    def _over(self) -> str:
        """Why no task follows, as a sentence; empty while some may."""
        evaluation = Evaluation.runs.get(pk=self.evaluation_id)
        if may_be_asked_again(evaluation):
            return ""
        if evaluation.state in {final.value for final in FINAL}:
            return f"All tasks are done: the evaluation is {evaluation.state}. There is nothing left to do."
        open_shards = Shard.objects.filter(evaluation=self.evaluation_id).exclude(state=ShardState.DONE)
        if not open_shards.exists():
            return "All tasks are done, and their scores are being computed. There is nothing left to do."
        return ""

    def _noted(self, row: AgentTurn) -> TurnRequest:
        request = turns.request_of(row)
        self._rows[request.key] = row
        return request

    async def _wait(self, query: Callable[[], AgentTurn | str | None]) -> AgentTurn | str | None:
        """The first result of `query`; None if there is none in time. The agent counts as present meanwhile."""
        until, pause = time.monotonic() + self.wait_seconds, _FIRST_PAUSE
        while True:
            value = await in_database(query)
            if value or time.monotonic() >= until:
                if time.monotonic() >= until - self.wait_seconds / 2:
                    await in_database(lambda: note_presence(self.evaluation_id))
                return value
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
