"""Duration of many concurrent calls of a chat endpoint, relative to the shortest possible one.

The ideal is count / capacity * latency, with the endpoint always at capacity. The endpoint is a separate process.
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
    """The result of the benchmark."""

    count: int
    seconds: float
    ideal_seconds: float
    cpu_seconds: float
    """CPU time of this process; if close to `seconds`, the machine is the bottleneck and not the endpoint."""
    failed: int
    progress: dict[str, Any]
    """Counters of the model: `retried`, `highest_limit`, and others."""
    server: dict[str, Any]

    @property
    def ratio(self) -> float:
        """Measured time divided by ideal time."""
        return self.seconds / self.ideal_seconds

    def to_json(self) -> dict[str, Any]:
        """The report with its ratio."""
        return {**asdict(self), "ratio": self.ratio}


class _AskOnce:
    name = "ask-once"
    needs = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        (answer,) = yield [GenerateCall(messages=(Message(role="user", content=request.task.request),), max_tokens=16)]
        assert isinstance(answer, Completion)
        return Draft(plan=answer.text)


def measure_chat(*, count: int, server: ServerSettings, highest: int) -> ChatReport:
    """Request plans from a local endpoint through the driver of strategies.

    Args:
        count: number of requests, with one call each.
        server: behaviour of the endpoint.
        highest: most concurrent calls of the client.
    """

    def request(number: int) -> PlannerRequest:
        task = RequestedTask(id=str(number), request=f"request {number}", resources={})
        return PlannerRequest(suite="benchmark", task=task, expects=Expected(type="text"), tools=[])

    with serving(server) as url:
        model = ChatModel(ChatSettings(url=url, model="fixed", allow_private=True, highest=highest))
        planner = StrategyPlanner(strategy=_AskOnce(), model=model)
        started, used = time.monotonic(), time.process_time()
        failed = sum(isinstance(end, PlannerError) for _, end in planner.plan_all(map(request, range(count))))
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
