"""Tools: typed signatures that plans may call."""

from evaluator.tools.controlllm import CONTROLLLM
from evaluator.tools.graph import ToolGraph, tool_graph, tools_graph_svg
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue, ResourceType, Tool

__all__ = ["CONTROLLLM", "OPENAGI", "Catalogue", "ResourceType", "Tool", "ToolGraph", "tool_graph", "tools_graph_svg"]
