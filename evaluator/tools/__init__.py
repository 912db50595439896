"""Tools: typed signatures that plans may call."""

from evaluator.tools.controlllm import CONTROLLLM
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue, ResourceType, Tool

__all__ = ["CONTROLLLM", "OPENAGI", "Catalogue", "ResourceType", "Tool"]
