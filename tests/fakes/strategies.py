"""Strategies and requests for tests of what drives them."""

from collections.abc import Callable

from evaluator.core.language_model import Ability, GenerateCall, Message
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask
from evaluator.core.strategy import Conversation, Draft


def request(number: int = 0, *, text: str = "") -> PlannerRequest:
    return PlannerRequest(
        suite="openagi",
        task=RequestedTask(id=str(number), request=text or f"request {number}", resources={}),
        expects=Expected(type="text"),
        tools=[],
    )


def generate(text: str, **settings: object) -> GenerateCall:
    return GenerateCall(messages=(Message(role="user", content=text),), **settings)


class FakeStrategy:
    """Converses as a function says."""

    def __init__(
        self,
        converse: Callable[[PlannerRequest], Conversation],
        *,
        needs: frozenset[Ability] = frozenset({Ability.GENERATE}),
    ) -> None:
        self.name = "fake"
        self.needs = needs
        self._converse = converse

    def converse(self, request: PlannerRequest) -> Conversation:
        return self._converse(request)


def asks_once(request: PlannerRequest) -> Conversation:
    """Hands the request to the model, and what the model says on."""
    (answer,) = yield [generate(request.task.request)]
    return Draft(plan=answer.text, notes={"raw": answer.text})
