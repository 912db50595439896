"""The open turns of an agent in this process: an evaluation in one thread asks, the agent's calls answer."""

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
"""After which an agent that has a task and says nothing has given no answer."""
_HAND_OUT_SECONDS = 20.0
"""How long a call waits for a task to open. Many clients give up a call after 30 or 60 seconds."""


class AgentLeft(BaseException):
    """The agent is gone and the evaluation is to stop. No error of a planner, so `except Exception` lets it pass."""


class Mailbox:
    """Takes one open turn at a time, and gives its answer back. All methods may be called from any thread."""

    def __init__(
        self,
        *,
        tasks: int,
        silence_seconds: float = SILENCE_SECONDS,
        hand_out_seconds: float = _HAND_OUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        tasks: how many there are in all.
        silence_seconds: how long an agent may keep a turn that it was given.
        hand_out_seconds: how long a call waits for a task to open.
        clock: the time in seconds.
        """
        self._tasks, self._done = tasks, 0
        self._silence, self._hand_out, self._clock = silence_seconds, hand_out_seconds, clock
        self._changed = threading.Condition()
        self._open: TurnRequest | None = None
        self._reply: TurnReply | None = None
        self._since: float | None = None
        """Since when the agent has the open turn; None: it has not been given it."""
        self._held = ""
        """The episode that the agent has; empty: none."""
        self._last = ""
        """The episode that was asked for last."""
        self._ends: dict[str, Ended] = {}
        self._over = ""
        """Why no task follows, as a sentence; empty as long as some may."""
        self._is_closed = False

    # The evaluation's side.

    def ask(self, request: TurnRequest) -> TurnReply:
        """Open a turn and wait for its answer.

        Raises:
            PlannerError: the agent had the turn for too long.
            AgentLeft: it is gone.
        """
        with self._changed:
            self._begin(episode_of(request))
            self._open, self._reply, self._since = request, None, None
            self._changed.notify_all()
            while self._reply is None:
                if self._is_closed:
                    raise AgentLeft
                self._changed.wait(self._patience())
                self._refuse_silence()
            reply, self._open = self._reply, None
            return reply

    def ended(self, end: Ended) -> None:
        """The task that was asked for last is over."""
        with self._changed:
            self._open, self._done = None, self._done + 1
            self._ends[self._last] = end
            self._held = ""
            self._changed.notify_all()

    def _begin(self, episode: str) -> None:
        if self._held and self._held != episode:
            self._ends[self._held], self._held = Ended(EPISODE_OVER), ""
        self._last = episode

    def finish(self, why: str) -> None:
        """No task follows."""
        with self._changed:
            self._over = why
            self._changed.notify_all()

    def close(self) -> None:
        """The agent is gone."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _patience(self) -> float | None:
        return None if self._since is None else max(0.0, self._since + self._silence - self._clock())

    def _refuse_silence(self) -> None:
        if self._reply is None and self._since is not None and self._clock() - self._since >= self._silence:
            call = PlannerCall(seconds=round(self._clock() - self._since, 6))
            self._open = None
            message = f"No answer in time: the agent was silent for {self._silence:g} seconds."
            raise PlannerError(reason=Reason.PLANNER_TIMEOUT, message=message, call=call)

    # The agent's side.

    def take(self) -> TurnRequest | Nothing:
        """See `Desk.hand_out`."""

        def found() -> TurnRequest | Nothing | None:
            if self._open is not None and self._reply is None:
                return self._given(self._open)
            return Nothing(self._over) if self._over else None

        taken: TurnRequest | Nothing | None = self._wait(found, seconds=self._hand_out)
        return Nothing("The next task is being prepared: call next_task again.") if taken is None else taken

    def held(self) -> TurnRequest | None:
        """See `Desk.open_turn`."""

        def found() -> tuple[TurnRequest | None] | None:
            if not self._held or self._is_closed:
                return (None,)
            is_open = self._open is not None and self._reply is None and episode_of(self._open) == self._held
            return (self._open,) if is_open else None

        answer: tuple[TurnRequest | None] | None = self._wait(found, seconds=None)
        return answer[0] if answer else None

    def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        """See `Desk.answer`."""
        with self._changed:
            if self._open is not request or self._reply is not None or self._since is None:
                return False
            seconds = round(self._clock() - self._since, 6)
            self._reply = TurnReply(response=response, call=PlannerCall(seconds=seconds))
            self._changed.notify_all()
            return True

    def after(self, request: TurnRequest) -> TurnRequest | Ended:
        """See `Desk.following`."""
        episode = episode_of(request)

        def found() -> TurnRequest | Ended | None:
            if episode in self._ends:
                return self._ends[episode]
            if self._open is not None and episode_of(self._open) == episode and self._open is not request:
                return self._given(self._open)
            return Ended(self._over or "The evaluation was stopped.") if self._over or self._is_closed else None

        end: TurnRequest | Ended | None = self._wait(found, seconds=None)
        assert end is not None
        return end

    def progress(self) -> str:
        """See `Desk.progress`."""
        with self._changed:
            return f"{self._done} of {self._tasks} tasks are done. {self._over}".strip()

    def _given(self, request: TurnRequest) -> TurnRequest:
        """The time of a turn counts from when its agent last got it: one that went away and comes back starts anew."""
        self._held, self._since = episode_of(request), self._clock()
        self._changed.notify_all()
        return request

    # `Any`: mypy joins the members of a union that a type variable stands for.
    def _wait(self, found: Callable[[], Any], *, seconds: float | None) -> Any:
        with self._changed:
            until = None if seconds is None else self._clock() + seconds
            while (value := found()) is None:
                left = None if until is None else until - self._clock()
                if self._is_closed or (left is not None and left <= 0):
                    return None
                self._changed.wait(left)
            return value


class MailboxDesk:
    """A mailbox as the desk of the calls of one connection. Each call waits in a thread of its own."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    async def hand_out(self) -> TurnRequest | Nothing:
        """See `Desk`."""
        return await anyio.to_thread.run_sync(self._mailbox.take, abandon_on_cancel=True)

    async def open_turn(self) -> TurnRequest | None:
        """See `Desk`."""
        return await anyio.to_thread.run_sync(self._mailbox.held, abandon_on_cancel=True)

    async def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        """See `Desk`."""
        return self._mailbox.answer(request=request, response=response)

    async def following(self, request: TurnRequest) -> TurnRequest | Ended:
        """See `Desk`."""
        return await anyio.to_thread.run_sync(partial(self._mailbox.after, request), abandon_on_cancel=True)

    async def progress(self) -> str:
        """See `Desk`."""
        return self._mailbox.progress()


class AgentPlanner:
    """The agent as a planner in turns. It is asked in the thread of the evaluation, so that `AgentLeft` ends that."""

    def __init__(self, mailbox: Mailbox, *, name: str = "agent") -> None:
        self.name = name
        self.episodes_at_once = 1
        self.formulation = Formulation.INTEGRATED
        self._mailbox = mailbox

    def plan(self, request: PlannerRequest) -> PlannerReply:  # noqa: ARG002 - the signature of planners
        """Agents are asked turn by turn only."""
        message = "Agents act in turns: this suite asks for a whole plan."
        raise PlannerError(reason=Reason.INTERNAL_ERROR, message=message, call=PlannerCall(seconds=0.0))

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        return self._mailbox.ask(request)

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`. An evaluation for an agent has one task open at a time, so this is one turn."""
        return [self._turn_or_error(request) for request in requests]

    def _turn_or_error(self, request: TurnRequest) -> TurnReply | PlannerError:
        try:
            return self._mailbox.ask(request)
        except PlannerError as error:
            return error
