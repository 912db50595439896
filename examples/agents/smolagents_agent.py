"""A tool calling agent of smolagents as a planner: python examples/agents/smolagents_agent.py [--port 9000]

It needs smolagents[openai].
The environment names the model: MODEL, OPENAI_API_KEY, and OPENAI_BASE_URL for other services.
"""

import os

from endpoint import RULES, Recorder, serve
from endpoint import Tool as OfferedTool
from smolagents import OpenAIModel, Tool, ToolCallingAgent


class RecordedTool(Tool):
    """A tool of the request."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, tool: OfferedTool) -> None:
        self.name, self.description, self._call = tool.name, tool.description, tool.call
        self.inputs = {name: {"type": "string", "description": kind} for name, kind in tool.arguments.items()}
        super().__init__()

    def forward(self, **arguments: str) -> str:
        return self._call(**arguments)


def run(recorder: Recorder) -> None:
    model = OpenAIModel(
        model_id=os.environ["MODEL"],
        api_base=os.environ.get("OPENAI_BASE_URL"),
        api_key=os.environ["OPENAI_API_KEY"],
    )
    tools = [RecordedTool(tool) for tool in recorder.tools()]
    ToolCallingAgent(tools=tools, model=model, instructions=RULES, max_steps=20, verbosity_level=0).run(recorder.prompt)


if __name__ == "__main__":
    serve(run)
