"""Throughput of many concurrent calls of a chat endpoint, relative to the shortest possible time.

The ideal is count / capacity * latency, with every place of the endpoint always taken. The endpoint is its own process.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any

from evaluator.core.language_model import Ability, Completion, GenerateCall, Message
from evaluator.core.planner import Expected, PlannerError, PlannerRequest, RequestedTask
from evaluator.core.strategy import Conversation, Draft
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.language_models.chat.trial_server import ServerSettings, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReport:
    """What was measured."""

    count: int
    seconds: float
    ideal_seconds: float
    cpu_seconds: float
    """Of this process: where it comes near the seconds, the machine is the bound and not the endpoint."""
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
        started, used = time.monotonic(), time.process_time()
        failed = sum(isinstance(end, PlannerError) for _, end in planner.plan_all(map(_request, range(count))))
        seconds, used = time.monotonic() - started, time.process_time() - used
        progress = dict(model.progress())
        planner.close()
    return ChatReport(
        count=count,
        seconds=seconds,
        ideal_seconds=count / server.capacity * server.latency_seconds,
        cpu_seconds=used,
        failed=failed,
        progress=progress,
        server=asdict(server),
    )


def _request(number: int) -> PlannerRequest:
    task = RequestedTask(id=str(number), request=f"request {number}", resources={})
    return PlannerRequest(suite="benchmark", task=task, expects=Expected(type="text"), tools=[])
