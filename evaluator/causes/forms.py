"""Why an answer could not be read as a plan: which form it seems to have, and where its reader gave up."""

import re
from collections.abc import Mapping

from evaluator.causes.taxonomy import Cause, Finding, shortened
from evaluator.plans import Plan, PlanContext, PlanSyntaxError, read_plan
from evaluator.tools.types import Catalogue

_TEXTS = (
    ("<Solution>", "decomposition"), ("Action", "printed actions"), ("{", "JSON"), ("[", "JSON"), ("(", "tree"),
    ("```", "text in a code block"),
)  # fmt: skip

_NAME = re.compile(r"[A-Za-z]\w*(?:[ \-/]\w+){0,5}")
"""What may be meant as the name of a tool."""


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


def prose_in(received: object, *, plan: Plan, catalogue: Catalogue) -> Finding | None:
    """The finding for a text without any plan in it, which the reader of lists of tools took for names of tools.

    Args:
        received: what the planner sent.
        plan: as it was read.
        catalogue: the tools there are.
    """
    if not isinstance(received, str) or any(step.tool in catalogue for step in plan.steps):
        return None
    other = next((step.tool for step in plan.steps if not _NAME.fullmatch(step.tool)), None)
    if other is None:
        return None
    return Finding(cause=Cause.UNREADABLE, where=form_of(received), given=shortened(other))


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
