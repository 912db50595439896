"""Chat planners with all services of the fakes, whose models answer with the gold plans of `toolmini`."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from evaluator.core.suites.registry import suite_of
from tests.evaluator.planners.strategies.test_json_plan import written
from tests.evaluator.planners.strategies.test_tool_services import gold_calls
from tests.fakes.chat_services import PATHS, Service, serving
from tests.fakes.tool_services import ToolService, serving_tools

SUITE = suite_of("toolmini")
SERVICES = tuple(sorted(PATHS))
NATIVE = "native-tools"
GATEWAY = "gateway"
PRICES = {"prompt_price": 2.0, "completion_price": 10.0, "cached_price": 0.5}


@dataclass(frozen=True)
class ChatEntry:
    """A chat planner to submit, and its running service."""

    service: Service | ToolService
    planner: Mapping[str, str | float]
    """As forms and the API take it."""


@contextmanager
def answering_gold() -> Iterator[Mapping[str, ChatEntry]]:
    """Chat planners by name: one for each service with plans as JSON, and one with native tools."""
    with ExitStack() as stack:
        entries: dict[str, ChatEntry] = {}
        for name in SERVICES:
            service = stack.enter_context(serving(name, gold_json))
            entries[name] = ChatEntry(service, _planner(name, url=service.url, strategy="json-plan"))
        tools = stack.enter_context(serving_tools("chat", gold_calls))
        entries[NATIVE] = ChatEntry(tools, _planner(NATIVE, url=tools.url, strategy=NATIVE))
        yield entries


def gold_json(prompt: str) -> str:
    """The gold plan of the task in a prompt, in a fence after a sentence."""
    asked = [task for task in SUITE.tasks if f"{task.text}\n\nGiven:" in prompt]
    # A request may end with another.
    gold = max(asked, key=lambda task: len(task.text)).gold
    assert gold is not None
    return f"Here is the plan:\n\n```json\n{json.dumps(written(gold), ensure_ascii=False)}\n```\n"


def _planner(name: str, *, url: str, strategy: str) -> dict[str, str | float]:
    return {"kind": "chat", "name": name, "endpoint_url": url, "model_id": "m-1", "strategy": strategy, **PRICES}
