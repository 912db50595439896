"""An agent of the OpenAI Agents SDK as a planner: pip install openai-agents; python examples/agents/openai_agents.py

The environment names the model: MODEL, OPENAI_API_KEY, and OPENAI_BASE_URL for other services.
"""

import asyncio
import json
import os
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from endpoint import RULES, Recorder, Tool, serve
from openai import AsyncOpenAI


def as_function(tool: Tool) -> FunctionTool:
    async def invoke(context: Any, arguments: str) -> str:
        del context
        return tool.call(**json.loads(arguments))

    return FunctionTool(
        name=tool.name, description=tool.description, params_json_schema=tool.schema, on_invoke_tool=invoke
    )


async def run(recorder: Recorder) -> None:
    async with AsyncOpenAI() as client:
        agent = Agent(
            name="planner",
            instructions=RULES,
            tools=[as_function(tool) for tool in recorder.tools()],
            model=OpenAIChatCompletionsModel(model=os.environ["MODEL"], openai_client=client),
        )
        await Runner.run(agent, recorder.prompt, max_turns=20)


if __name__ == "__main__":
    set_tracing_disabled(True)
    serve(lambda recorder: asyncio.run(run(recorder)))
