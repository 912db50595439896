"""Plans: what a planner answers, how it is read, and what can be wrong with it."""

from evaluator.plans.canonical import parse_canonical
from evaluator.plans.checks import check_plan, execution_order
from evaluator.plans.comma import parse_comma
from evaluator.plans.controlllm import parse_controlllm
from evaluator.plans.decomposition import Argument, Decomposition, Subtask, parse_decomposition
from evaluator.plans.model import (
    ParsedPlan,
    Plan,
    PlanContext,
    PlanSyntaxError,
    Problem,
    Step,
    plan_to_json,
)
from evaluator.plans.printed import parse_printed
from evaluator.plans.read import read_plan

__all__ = [
    "Argument",
    "Decomposition",
    "ParsedPlan",
    "Plan",
    "PlanContext",
    "PlanSyntaxError",
    "Problem",
    "Step",
    "Subtask",
    "check_plan",
    "execution_order",
    "parse_canonical",
    "parse_comma",
    "parse_controlllm",
    "parse_decomposition",
    "parse_printed",
    "plan_to_json",
    "read_plan",
]
