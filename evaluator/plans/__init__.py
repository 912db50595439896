"""Plans: what a planner answers, how it is read and printed, and what can be wrong with it."""

from evaluator.plans.canonical import parse_canonical
from evaluator.plans.checks import check_plan, execution_order
from evaluator.plans.comma import parse_comma
from evaluator.plans.controlllm import parse_controlllm
from evaluator.plans.decomposition import Argument, Decomposition, Subtask, parse_decomposition
from evaluator.plans.hugginggpt import parse_hugginggpt
from evaluator.plans.lumos import parse_lumos
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
from evaluator.plans.printing import (
    UnprintableError,
    plan_to_actions,
    plan_to_comma,
    plan_to_lumos,
    plan_to_printed,
    plan_to_tree,
)
from evaluator.plans.read import read_plan
from evaluator.plans.tool_calls import parse_tool_calls
from evaluator.plans.tree import parse_tree

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
    "UnprintableError",
    "check_plan",
    "execution_order",
    "parse_canonical",
    "parse_comma",
    "parse_controlllm",
    "parse_decomposition",
    "parse_hugginggpt",
    "parse_lumos",
    "parse_printed",
    "parse_tool_calls",
    "parse_tree",
    "plan_to_actions",
    "plan_to_comma",
    "plan_to_json",
    "plan_to_lumos",
    "plan_to_printed",
    "plan_to_tree",
    "read_plan",
]
