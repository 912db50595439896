"""Which subtasks say something about a text: its title, tags, names, place, mood, or summary."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from evaluator.controlllm.toolbench.goals.parts import Kind
from evaluator.replies.decomposition import Subtask

_TOOL = re.compile(r"`([a-z_]+)`")
ANNOTATING: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.TITLE: "title_generation",
        Kind.TAGS: "text_to_tags",
        Kind.NAMES: "named_entity_recognition",
        Kind.SUMMARISE: "summarization",
        Kind.MOOD: "sentiment_analysis",
        Kind.PLACE: "extract_location",
    }
)
"""The tool for each kind. All take the argument `text`."""
_KINDS = {tool: kind for kind, tool in ANNOTATING.items()}


def tool_named(subtask: Subtask) -> str:
    """The first tool that a description names in backquotes; empty where it names none."""
    found = _TOOL.search(subtask.description)
    return found[1] if found is not None else ""


def annotation_of(subtask: Subtask) -> Kind | None:
    """What a subtask says about a text; None where it does something else, or does not name its tool."""
    return _KINDS.get(tool_named(subtask))
