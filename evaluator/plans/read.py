"""Choosing the parser for what a planner sent."""

from collections.abc import Mapping

from evaluator.plans.canonical import parse_canonical
from evaluator.plans.comma import parse_comma
from evaluator.plans.controlllm import parse_controlllm
from evaluator.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.plans.printed import parse_printed


def read_plan(*, value: object, context: PlanContext) -> ParsedPlan:
    """Read a plan in any accepted form: `plan/1` as object or text, action lists, or a comma sequence.

    Raises:
        PlanSyntaxError: it is in none of the forms.
    """
    if isinstance(value, Mapping):
        return parse_canonical(value=value, context=context)
    if isinstance(value, list):
        return parse_controlllm(value=value, context=context)
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            return parse_canonical(value=value, context=context)
        if value.lstrip("[ \n").startswith("Action("):
            return parse_printed(text=value, context=context)
        if value.lstrip().startswith("["):
            return parse_controlllm(value=value, context=context)
        return parse_comma(text=value, context=context)
    raise PlanSyntaxError("a plan is a JSON object (plan/1) or a text with a comma sequence of tool names")
