"""`Desk`, the protocol by which an agent's open turns wait for its answers, and the dispatch of its calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import StopReason
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.planners.agents.calls import NO_TASK, CallRefusedError, ToolResult, response_to, result_in, task_text
from evaluator.planners.agents.tools import NEXT_TASK, PROGRESS, SUBMIT_ANSWER, AgentTool


@dataclass(frozen=True, slots=True)
class Ended:
    """A task is over."""

    text: str
    """The result of the last call, and why the task is over."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """No turn is open."""

    text: str
    """Why, and what to do next."""


class Desk(Protocol):
    """The open turns of one agent. Calls may be concurrent: each turn takes one answer."""

    async def hand_out(self) -> TurnRequest | Nothing:
        """The open turn of the agent's task, or of the next task. Waits a limited time for a turn to open."""
        ...

    async def open_turn(self) -> TurnRequest | None:
        """The open turn of the agent's task, waiting a limited time for it. None: the agent has no task."""
        ...

    async def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        """Answer an open turn. False: another call has answered it already, and nothing changed."""
        ...

    async def following(self, request: TurnRequest) -> TurnRequest | Ended:
        """The next turn of the task after an answered one, or its end."""
        ...

    async def progress(self) -> str:
        """Numbers of finished and remaining tasks, as text for the agent."""
        ...


async def call(*, desk: Desk, tools: Mapping[str, AgentTool], name: str, arguments: Mapping[str, object]) -> ToolResult:
    """Dispatch an agent's call of the tool `name`, with unvalidated arguments."""
    tool = tools.get(name)
    if tool is None:
        return ToolResult(f'There is no tool "{name[:60]}"; there are: {", ".join(tools)}.', is_error=True)
    try:
        if tool.name == NEXT_TASK:
            turn = await desk.hand_out()
            return ToolResult(turn.text if isinstance(turn, Nothing) else task_text(turn, tools=tools))
        if tool.name == PROGRESS:
            return ToolResult(await desk.progress())
        # Concurrent calls are answered in sequence: the loser of the race takes the next turn.
        while (request := await desk.open_turn()) is not None:
            response = response_to(request=request, tool=tool, arguments=arguments)
            if not await desk.answer(request=request, response=response):
                continue
            after = await desk.following(request)
            if isinstance(after, TurnRequest):
                return result_in(after)
            if tool.name == SUBMIT_ANSWER:
                return ToolResult(f"Your answer is recorded. Call {NEXT_TASK} for the next task.")
            return ToolResult(after.text, is_error=after.is_error)
    except CallRefusedError as error:
        return ToolResult(str(error), is_error=True)
    return NO_TASK


_WHY: Mapping[StopReason, str] = MappingProxyType(
    {
        StopReason.ANSWERED: "Your answer is recorded.",
        StopReason.TURN_LIMIT: "The task is over without an answer: no further call was left.",
        StopReason.ACTION_LIMIT: "The task is over without an answer: no further call of a tool was left.",
        StopReason.TIME_LIMIT: "The task is over without an answer: its time has passed.",
        StopReason.UNREADABLE: "The task is over: too many calls in a row could not be read.",
        StopReason.CALL_FAILED: "The task is over: no answer came in time.",
    }
)


def end_of(record: ResultRecord) -> Ended:
    """The result of the last call, if any, and why the task is over. Does not disclose the score."""
    transcript = record.transcripts[-1] if record.transcripts else None
    if transcript is None:
        return Ended(f"This task cannot be run. Call {NEXT_TASK} for the next one.", is_error=True)
    why = f"{_WHY.get(transcript.stop, 'The task is over.')} Call {NEXT_TASK} for the next one."
    last = ""
    if transcript.turns:
        turn = transcript.turns[-1]
        outputs = turn.actions[-1].outputs.items() if turn.actions else ()
        error = turn.actions[-1].error if turn.actions else turn.error
        last = error or "\n".join(f"{name} = {text}" for name, text in outputs)
    return Ended(f"{last}\n\n{why}".strip(), is_error=transcript.stop is not StopReason.ANSWERED)
