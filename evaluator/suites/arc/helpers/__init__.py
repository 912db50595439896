"""The functions that ARC programs may call: their source for the sandbox, and their signatures for planners."""

from evaluator.suites.arc.helpers.catalogue import TOOLS
from evaluator.suites.arc.helpers.helper import Helper, Kind, Parameter
from evaluator.suites.arc.helpers.listing import HELPERS, NAMES
from evaluator.suites.arc.helpers.source import library

__all__ = ["HELPERS", "NAMES", "TOOLS", "Helper", "Kind", "Parameter", "library"]
