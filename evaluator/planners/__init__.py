"""Planners: bundled ones, and the client of planner endpoints."""

from evaluator.planners.bundled import DESCRIPTIONS, bundled_names, bundled_planner
from evaluator.planners.driving import StrategyPlanner, UnfitModelError
from evaluator.planners.egress import EgressRefusedError, check_url
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.protocol import (
    BatchPlanner,
    Planner,
    PlannerError,
    PlannerReply,
    PlannerRequest,
    PlannerResponse,
    request_for,
)

__all__ = [
    "DESCRIPTIONS",
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
