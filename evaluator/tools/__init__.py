"""Tools: typed signatures that plans may call."""

from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue, ResourceType, Tool

__all__ = ["OPENAGI", "Catalogue", "ResourceType", "Tool"]
