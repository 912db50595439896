"""Why an answer could not be read as a plan: which form it seems to have, and where its reader gave up."""

from collections.abc import Mapping

from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.replies.read import read_plan
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

_TEXTS = (
    ("<Solution>", "decomposition"), ("Action", "printed actions"), ("{", "JSON"), ("[", "JSON"), ("(", "tree"),
    ("```", "text in a code block"),
)  # fmt: skip


def unreadable(*, received: object, context: PlanContext, said: str) -> Finding:
    """The finding for an answer that no reader of plans accepted.

    Args:
        received: what the planner sent; a long text may be cut.
        context: what it was read against.
        said: the record's sentence.
    """
    where, message = "", said
    try:
        read_plan(value=received, context=context)
    except PlanSyntaxError as error:
        where, message = error.where, error.message
    place = f"{form_of(received)}, {where}" if where else form_of(received)
    return Finding(cause=Cause.UNREADABLE, where=shortened(place), given=shortened(message))


def form_of(received: object) -> str:
    """The form that an answer seems to have, in a word or two."""
    if isinstance(received, Mapping):
        if "tool_calls" in received:
            return "tool calls"
        return "a ControlLLM solution" if "solution" in received else "plan/1"
    if isinstance(received, list):
        return _form_of_list(received)
    if not isinstance(received, str):
        return "neither text nor JSON"
    start = received.lstrip()
    return next((form for opening, form in _TEXTS if start.startswith(opening)), "list of tools" if start else "empty")


def _form_of_list(items: list[object]) -> str:
    first = items[0] if items else None
    if isinstance(first, Mapping) and "function" in first:
        return "tool calls"
    return "task list" if isinstance(first, Mapping) and "task" in first else "list of actions"
