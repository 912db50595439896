"""How close many calls of a chat endpoint come to the shortest time in which they could be answered.

The ideal is count / bears * latency: every place of the endpoint is always taken. The endpoint is a process of its own.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from evaluator.benchmarks.chat_server import ChatServer, ServerSettings
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.chat import ChatModel, ChatSettings
from evaluator.planners.language_models.protocol import Ability, Completion, GenerateCall, Message
from evaluator.planners.protocol import Expected, PlannerError, PlannerRequest, RequestedTask
from evaluator.planners.strategies.protocol import Conversation, Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReport:
    """What was measured."""

    count: int
    seconds: float
    ideal_seconds: float
    failed: int
    progress: dict[str, Any]
    """Of the model: `retried`, `highest_limit`, and so on."""
    server: dict[str, Any]

    @property
    def ratio(self) -> float:
        """Measured by ideal time."""
        return self.seconds / self.ideal_seconds

    def to_json(self) -> dict[str, Any]:
        """The report with its ratio."""
        return {**asdict(self), "ratio": self.ratio}


class _AskOnce:
    name = "ask-once"
    needs = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """One call."""
        (answer,) = yield [GenerateCall(messages=(Message(role="user", content=request.task.request),), max_tokens=16)]
        assert isinstance(answer, Completion)
        return Draft(plan=answer.text)


def measure_chat(*, count: int, server: ServerSettings, highest: int) -> ChatReport:
    """Ask a local endpoint for so many plans through the driver of strategies.

    Args:
        count: of requests, with one call each.
        server: how the endpoint behaves.
        highest: calls at once that the client allows itself.
    """
    with serving(server) as url:
        model = ChatModel(ChatSettings(url=url, model="fixed", allow_private=True, highest=highest))
        planner = StrategyPlanner(strategy=_AskOnce(), model=model)
        started = time.monotonic()
        failed = sum(isinstance(end, PlannerError) for _, end in planner.plan_all(map(_request, range(count))))
        seconds = time.monotonic() - started
        progress = dict(model.progress())
        planner.close()
    return ChatReport(
        count=count,
        seconds=seconds,
        ideal_seconds=count / server.bears * server.latency_seconds,
        failed=failed,
        progress=progress,
        server=asdict(server),
    )


@contextmanager
def serving(settings: ServerSettings) -> Iterator[str]:
    """A `ChatServer` in a process of its own; gives its base address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(settings, there), daemon=True)
    process.start()
    try:
        if not here.poll(60.0):
            raise RuntimeError("the endpoint for measuring did not start")
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def _serve(settings: ServerSettings, pipe: Any) -> None:
    async def serve() -> None:
        async with ChatServer(settings) as server:
            pipe.send(server.url)
            await asyncio.Event().wait()

    asyncio.run(serve())


def _request(number: int) -> PlannerRequest:
    task = RequestedTask(id=str(number), request=f"request {number}", resources={})
    return PlannerRequest(suite="openagi", task=task, expects=Expected(type="text"), tools=[])
