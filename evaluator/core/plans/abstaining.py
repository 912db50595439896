"""Abstaining: the answer that no plan can meet the request.

Grammar (JSON)::

    abstention = null | {"plan": null | [], "reason"?: text | null}

It is read as a plan without steps and answers, and such a plan is an abstention too. An abstention is not an invalid
plan. If no tool can meet the request it is right; otherwise it gets the worst value in every column, like a missing
plan. The reason is free text for people and does not affect any score.
"""

from collections.abc import Mapping

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.literals import kind_of, load_literal
from evaluator.core.plans.model import ParsedPlan, Plan, PlanSyntaxError

FORM = "abstention"
WRONGLY = "The planner abstained, but the tools can meet this request."
"""The outcome of a wrong abstention."""
MAX_REASON = 1000
"""Characters of a reason that are kept."""
_KEYS = frozenset({"plan", "reason"})


def abstention(reason: str = "") -> JsonValue:
    """The answer that no plan can meet the request, as it is stored."""
    return {"plan": None, "reason": reason[:MAX_REASON]} if reason.strip() else None


def is_abstention(value: object) -> bool:
    """Whether a JSON value says that no plan can meet the request."""
    if not isinstance(value, Mapping) or "plan" not in value:
        return value is None
    return value["plan"] is None or (value["plan"] == [] and value.keys() <= _KEYS)


def abstains(plan: Plan) -> bool:
    """Whether a plan says that no plan can meet the request: it has neither steps nor answers."""
    return not plan.steps and not plan.answers


def parse_abstention(value: object) -> ParsedPlan:
    """Read an abstention (`is_abstention`) as a plan without steps and answers.

    Raises:
        PlanSyntaxError: it has other keys, or a reason that is no text.
    """
    reason: object = None
    if isinstance(value, Mapping):
        if unknown := sorted(str(key) for key in value if key not in _KEYS):
            raise PlanSyntaxError(f"unknown key {unknown[0]!r}; beside a null plan there may be a reason", where="plan")
        reason = value.get("reason")
        if reason is not None and not isinstance(reason, str):
            raise PlanSyntaxError(f"must be a text, not {kind_of(reason)}", where="reason")
    said = reason.strip()[:MAX_REASON] if isinstance(reason, str) else ""
    return ParsedPlan(plan=Plan(steps=(), answers=()), form=FORM, reason=said)


def reason_received(received: object) -> str | None:
    """The reason of an abstention, of at most `MAX_REASON` characters; empty if none was given, None if this is none.

    Args:
        received: a planner's answer: a JSON value, or the text of a language model.
    """
    if isinstance(received, str) and received.lstrip().startswith("{"):
        try:
            received, _ = load_literal(received)
        except PlanSyntaxError:
            return None
    if not is_abstention(received):
        return None
    reason = received.get("reason") if isinstance(received, Mapping) else None
    return reason.strip()[:MAX_REASON] if isinstance(reason, str) else ""
