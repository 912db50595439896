"""What a test call says of a plan without steps: what it would score, and how a plan looks."""

from collections.abc import Set

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.types import ResourceType, Tool

_PUNCTUATION = "()[]{},;.'\"` \t\r\n"
_WORDS = "words of the request"


def says_nothing(value: object) -> bool:
    """Whether an answer that cannot be read as a plan holds nothing: an empty list or object, a text of brackets and
    blanks, or an object with an empty list of steps."""
    if isinstance(value, dict):
        return bool(value.get("steps", []) == [])
    if isinstance(value, str):
        return not value.strip(_PUNCTUATION)
    return not value


def example_plan(*, context: PlanContext, without: Set[str]) -> JsonValue:
    """A plan of one step in the form `plan/1`, to show the form and not an answer to the request.

    Args:
        context: the tools that were offered, and the request's resources.
        without: names of tools that the right plan calls; others are shown if there are any.
    """
    given = {kind: f"${name}" for name, kind in context.resources.items()}
    given.setdefault(ResourceType.TEXT, _WORDS)
    tools = context.catalogue.tools.values()
    possible = [tool for tool in tools if set(tool.input_types) <= given.keys()] or list(tools)
    tool = next((tool for tool in possible if tool.name not in without), possible[0])
    output = next(iter(tool.outputs))
    step: dict[str, JsonValue] = {
        "id": "s1",
        "tool": tool.name,
        "inputs": _inputs(tool, given=given),
        "outputs": {output: f"s1.{output}"},
    }
    return {"steps": [step], "answers": [f"s1.{output}"]}


def _inputs(tool: Tool, *, given: dict[ResourceType, str]) -> dict[str, JsonValue]:
    return {name: given.get(kind, f"${name}") for name, kind in tool.inputs.items()}
