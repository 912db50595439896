"""Scripted models for `examples/agents`, in the manner of each framework: they call the tools of the gold plan."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.core.suites.base import Suite
from tests.fakes.scripted_chat import Model, Said

FRAMEWORKS = ("openai_agents", "langgraph_agent", "smolagents_agent", "dspy_agent")


def model_of(framework: str, *, suite: Suite) -> Model:
    """The model for an example."""

    def write(conversation: Sequence[Mapping[str, Any]]) -> Said:
        words = "\n".join(_text(message) for message in conversation if message["role"] == "user")
        task = max((task for task in suite.tasks if task.text in words), key=lambda task: len(task.text))
        assert task.gold is not None
        steps = [(step.tool, {name: str(value) for name, value in step.inputs.items()}) for step in task.gold.steps]
        if framework == "dspy_agent":
            return _react(steps, words=words, conversation=conversation)
        made = sum(message["role"] == "assistant" for message in conversation)
        if made < len(steps):
            return [steps[made]]
        return [("final_answer", {"answer": "done"})] if framework == "smolagents_agent" else "done"

    return write


def _react(steps: Sequence[tuple[str, Any]], *, words: str, conversation: Sequence[Mapping[str, Any]]) -> str:
    made = len(set(re.findall(r"observation_[0-9]+", words)))
    if "next_tool_name" not in "\n".join(_text(message) for message in conversation if message["role"] == "system"):
        return json.dumps({"reasoning": "done", "answer": "done"})
    name, arguments = steps[made] if made < len(steps) else ("finish", {})
    return json.dumps({"next_thought": "next", "next_tool_name": name, "next_tool_args": arguments})


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)
