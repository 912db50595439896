"""A ReAct module of DSPy as a planner: pip install dspy; python examples/agents/dspy_agent.py

The environment names the model: MODEL, OPENAI_API_KEY, and OPENAI_BASE_URL for other services.
"""

import os

import dspy
from endpoint import RULES, Recorder, serve


def run(recorder: Recorder) -> None:
    model = dspy.LM(
        f"openai/{os.environ['MODEL']}",
        api_base=os.environ.get("OPENAI_BASE_URL"),
        api_key=os.environ["OPENAI_API_KEY"],
    )
    tools = [
        dspy.Tool(tool.call, name=tool.name, desc=tool.description, args=tool.schema["properties"])
        for tool in recorder.tools()
    ]
    signature = dspy.Signature("request -> answer", RULES)
    with dspy.context(lm=model, adapter=dspy.JSONAdapter()):
        dspy.ReAct(signature, tools=tools, max_iters=20)(request=recorder.prompt)


if __name__ == "__main__":
    serve(run)
