"""Differences between a plan and the gold plan, in steps and data flow. Pure.

The gold plan is one right way of several: differences are shown, and never scored.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from leaderboard.evaluations.web.tasks.plan_reading import EXTRA, MISSING


class Differences(NamedTuple):
    """A plan beside the gold plan."""

    extra: Mapping[int, str]
    """Marks of the plan's steps that the gold plan does not have, by their places."""
    missing: Mapping[int, str]
    """Marks of the gold plan's steps that the plan does not have, by their places."""
    sentences: tuple[str, ...]
    """The same in words."""


def differences(*, plan: Mapping[str, Any], gold: Mapping[str, Any], resources: Mapping[str, str]) -> Differences:
    """Compare two plans as multisets of tools and, where these agree, of what flows from tool to tool.

    If one plan calls a tool more often than the other, the last calls count as extra or missing.

    Args:
        plan: `plan/1`, possibly invalid.
        gold: `plan/1`.
        resources: those of the request, by name.
    """
    mine, theirs = _tools(plan), _tools(gold)
    extra, missing = _beyond(mine, theirs), _beyond(theirs, mine)
    if extra or missing:
        found = _named("Missing", theirs, missing), _named("Not in the gold plan", mine, extra)
        sentences = tuple(filter(None, found))
    elif flows(plan, resources=resources) != flows(gold, resources=resources):
        sentences = ("The same steps as the gold plan, connected in another way.",)
    else:
        sentences = ("The same steps as the gold plan, connected in the same way.",)
    return Differences(extra=dict.fromkeys(extra, EXTRA), missing=dict.fromkeys(missing, MISSING), sentences=sentences)


def flows(plan: Mapping[str, Any], *, resources: Mapping[str, str]) -> Counter[tuple[str, str, str]]:
    """The data flow of a plan: from a tool, a resource or any text, to an input of a tool or the answer."""
    makers = {
        reference: str(step["tool"])
        for step in plan.get("steps") or ()
        for reference in (step.get("outputs") or {}).values()
    }

    def source(value: str) -> str:
        name = value.removeprefix("$")
        return makers.get(value) or (f"${name}" if name in resources else "text")

    found = Counter(
        (source(value), str(step["tool"]), argument)
        for step in plan.get("steps") or ()
        for argument, value in (step.get("inputs") or {}).items()
    )
    found.update((source(value), "", "answer") for value in plan.get("answers") or ())
    return found


def _tools(plan: Mapping[str, Any]) -> list[str]:
    return [str(step["tool"]) for step in plan.get("steps") or ()]


def _beyond(tools: list[str], others: list[str]) -> list[int]:
    """Places of the tools for which the others have no counterpart."""
    left = Counter(others)
    found = []
    for place, tool in enumerate(tools):
        if left[tool]:
            left[tool] -= 1
        else:
            found.append(place)
    return found


def _named(words: str, tools: list[str], places: list[int]) -> str:
    counted = Counter(tools[place] for place in places)
    names = [f"{tool} ({count} times)" if count > 1 else tool for tool, count in counted.items()]
    return f"{words}: {', '.join(names)}." if names else ""
