"""The open turns of an agent in this process: an evaluation in one thread asks, and the agent's calls answer."""

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import anyio.to_thread

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.planners.agents.calls import EPISODE_OVER, episode_of
from evaluator.planners.agents.desk import Ended, Nothing

SILENCE_SECONDS = 24 * 3600.0
"""An agent that has a task and makes no call for this long has timed out."""
_HAND_OUT_SECONDS = 20.0
"""A call waits at most this long for a task to open. Many clients give up after 30 or 60 seconds."""


class AgentLeft(BaseException):
    """The agent has disconnected, which stops the evaluation. A `BaseException`, to pass handlers of planner errors."""


class Mailbox:
    """Holds one open turn at a time and returns its answer. Thread-safe."""

    def __init__(
        self,
        *,
        tasks: int,
        silence_seconds: float = SILENCE_SECONDS,
        hand_out_seconds: float = _HAND_OUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        tasks: their total number.
        silence_seconds: how long an agent may hold a turn without answering.
        hand_out_seconds: how long a call waits for a task to open.
        clock: time in seconds.
        """
        self._tasks, self._done = tasks, 0
        self._silence, self._hand_out, self._clock = silence_seconds, hand_out_seconds, clock
        self._changed = threading.Condition()
        self._open: TurnRequest | None = None
        self._reply: TurnReply | None = None
        self._since: float | None = None
        """When the agent received the open turn; None: not yet."""
        self._held = ""
        """The agent's current episode; empty: none."""
        self._last = ""
        """The episode of the last `ask`."""
        self._ends: dict[str, Ended] = {}
        self._over = ""
        """Why no task follows, as a sentence; empty while more may follow."""
        self._is_closed = False

    # The evaluation's side.

    def ask(self, request: TurnRequest) -> TurnReply:
        """Open a turn and wait for its answer.

        Raises:
            PlannerError: the agent held the turn for too long.
            AgentLeft: the agent has disconnected.
        """
        with self._changed:
            episode = episode_of(request)
            if self._held and self._held != episode:
                self._ends[self._held], self._held = Ended(EPISODE_OVER), ""
            self._last = episode
            self._open, self._reply, self._since = request, None, None
            self._changed.notify_all()
            while self._reply is None:
                if self._is_closed:
                    raise AgentLeft
                patience = None if self._since is None else max(0.0, self._since + self._silence - self._clock())
                self._changed.wait(patience)
                silent = 0.0 if self._since is None else self._clock() - self._since
                if self._reply is None and self._since is not None and silent >= self._silence:
                    self._open = None
                    message = f"No answer in time: the agent was silent for {self._silence:g} seconds."
                    call = PlannerCall(seconds=round(silent, 6))
                    raise PlannerError(reason=Reason.PLANNER_TIMEOUT, message=message, call=call)
            reply, self._open = self._reply, None
            return reply

    def ended(self, end: Ended) -> None:
        """Record the end of the task of the last `ask`."""
        with self._changed:
            self._open, self._done = None, self._done + 1
            self._ends[self._last] = end
            self._held = ""
            self._changed.notify_all()

    def finish(self, why: str) -> None:
        """Record that no task follows."""
        with self._changed:
            self._over = why
            self._changed.notify_all()

    def close(self) -> None:
        """Record that the agent has disconnected."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    # The agent's side: see `Desk`.

    def take(self) -> TurnRequest | Nothing:
        def ready() -> TurnRequest | Nothing | None:
            if self._open is not None and self._reply is None:
                return self._received(self._open)
            return Nothing(self._over) if self._over else None

        taken: TurnRequest | Nothing | None = self._wait(ready, seconds=self._hand_out)
        return Nothing("The next task is being prepared: call next_task again.") if taken is None else taken

    def held(self) -> TurnRequest | None:
        def ready() -> tuple[TurnRequest | None] | None:
            if not self._held or self._is_closed:
                return (None,)
            is_open = self._open is not None and self._reply is None and episode_of(self._open) == self._held
            return (self._open,) if is_open else None

        answer: tuple[TurnRequest | None] | None = self._wait(ready, seconds=None)
        return answer[0] if answer else None

    def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        with self._changed:
            if self._open is not request or self._reply is not None or self._since is None:
                return False
            seconds = round(self._clock() - self._since, 6)
            self._reply = TurnReply(response=response, call=PlannerCall(seconds=seconds))
            self._changed.notify_all()
            return True

    def after(self, request: TurnRequest) -> TurnRequest | Ended:
        episode = episode_of(request)

        def ready() -> TurnRequest | Ended | None:
            if episode in self._ends:
                return self._ends[episode]
            if self._open is not None and episode_of(self._open) == episode and self._open is not request:
                return self._received(self._open)
            return Ended(self._over or "The evaluation was stopped.") if self._over or self._is_closed else None

        end: TurnRequest | Ended | None = self._wait(ready, seconds=None)
        assert end is not None
        return end

    def progress(self) -> str:
        with self._changed:
            return f"{self._done} of {self._tasks} tasks are done. {self._over}".strip()

    def _received(self, request: TurnRequest) -> TurnRequest:
        # The time of a turn counts from its last delivery: an agent that reconnects gets the full time.
        self._held, self._since = episode_of(request), self._clock()
        self._changed.notify_all()
        return request

    # `Any`: mypy joins the members of a union that a type variable stands for.
    def _wait(self, ready: Callable[[], Any], *, seconds: float | None) -> Any:
        with self._changed:
            until = None if seconds is None else self._clock() + seconds
            while (value := ready()) is None:
                left = None if until is None else until - self._clock()
                if self._is_closed or (left is not None and left <= 0):
                    return None
                self._changed.wait(left)
            return value


class MailboxDesk:
    """A mailbox as the `Desk` of one connection. Each call waits in its own thread."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    async def hand_out(self) -> TurnRequest | Nothing:
        return await anyio.to_thread.run_sync(self._mailbox.take, abandon_on_cancel=True)

    async def open_turn(self) -> TurnRequest | None:
        return await anyio.to_thread.run_sync(self._mailbox.held, abandon_on_cancel=True)

    async def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        return self._mailbox.answer(request=request, response=response)

    async def following(self, request: TurnRequest) -> TurnRequest | Ended:
        return await anyio.to_thread.run_sync(partial(self._mailbox.after, request), abandon_on_cancel=True)

    async def progress(self) -> str:
        return self._mailbox.progress()


class AgentPlanner:
    """The agent as a planner in turns. Called in the thread of the evaluation, which `AgentLeft` ends."""

    def __init__(self, mailbox: Mailbox, *, name: str = "agent") -> None:
        self.name = name
        self.episodes_at_once = 1
        self.formulation = Formulation.INTEGRATED
        self._mailbox = mailbox

    def plan(self, request: PlannerRequest) -> PlannerReply:  # noqa: ARG002 - the signature of planners
        """Always fails: agents act in turns only."""
        message = "Agents act in turns: this suite asks for a whole plan."
        raise PlannerError(reason=Reason.INTERNAL_ERROR, message=message, call=PlannerCall(seconds=0.0))

    def turn(self, request: TurnRequest) -> TurnReply:
        return self._mailbox.ask(request)

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`. An agent's evaluation has one open task, so `requests` has one turn."""
        replies: list[TurnReply | PlannerError] = []
        for request in requests:
            try:
                replies.append(self._mailbox.ask(request))
            except PlannerError as error:
                replies.append(error)
        return replies
