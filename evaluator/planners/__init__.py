"""Planners: bundled ones, and the client of planner endpoints.

What it exports is imported on first use: processes that import one module below it, such as the inspection of an
uploaded checkpoint, start in a third of the time without all suites and the network client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.planners.bundled import BUNDLED, bundled_names, bundled_planner
    from evaluator.planners.driving import StrategyPlanner, UnfitModelError
    from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
    from evaluator.planners.guarded_connections import EgressRefusedError
    from evaluator.planners.protocol import (
        BatchPlanner,
        Planner,
        PlannerError,
        PlannerReply,
        PlannerRequest,
        PlannerResponse,
        request_for,
    )
    from evaluator.planners.ssrf_guard import check_url

__all__ = [
    "BUNDLED",
    "BatchPlanner",
    "EgressRefusedError",
    "EndpointPlanner",
    "EndpointSettings",
    "Planner",
    "PlannerError",
    "PlannerReply",
    "PlannerRequest",
    "PlannerResponse",
    "StrategyPlanner",
    "UnfitModelError",
    "bundled_names",
    "bundled_planner",
    "check_url",
    "request_for",
]

_MODULES = {
    "bundled": ("BUNDLED", "bundled_names", "bundled_planner"),
    "driving": ("StrategyPlanner", "UnfitModelError"),
    "endpoint": ("EndpointPlanner", "EndpointSettings"),
    "guarded_connections": ("EgressRefusedError",),
    "protocol": ("BatchPlanner", "Planner", "PlannerError", "PlannerReply", "PlannerRequest", "PlannerResponse",
                 "request_for"),
    "ssrf_guard": ("check_url",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    # The next look-up finds it without this function.
    globals()[name] = found
    return found
