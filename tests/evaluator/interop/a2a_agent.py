"""An agent of Google's a2a-sdk that finishes a task with a plan, on 127.0.0.1: python a2a_agent.py PORT PLAN_JSON

It speaks both versions of the protocol; its card names the one that the third argument wants: 1.0 or 0.3.
"""

import json
import sys

import uvicorn
from a2a.helpers.proto_helpers import get_data_parts, new_data_part, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Planner(AgentExecutor):
    def __init__(self, plan: object) -> None:
        self._plan = plan

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        (request,) = get_data_parts(context.message.parts)
        assert request["version"] == "planner/1"
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await updater.add_artifact([new_data_part({"plan": self._plan})])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def main(port: int, plan: str, version: str) -> None:
    url = f"http://127.0.0.1:{port}/rpc"
    card = AgentCard(
        name="gold", description="Answers with one plan.", version="1", capabilities=AgentCapabilities(),
        default_input_modes=["application/json"], default_output_modes=["application/json"],
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)],
        skills=[AgentSkill(id="plan", name="plan", description="Plans.", tags=["plan"])],
    )  # fmt: skip
    handler = DefaultRequestHandler(Planner(json.loads(plan)), InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
