"""What readers may not see of a visible evaluation, without a database. `visibility.py` decides for whom."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from leaderboard.catalog.models import Suite

_NOT_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "data": {
        "samples": [], "request": "", "planner_notes": {}, "plan_received": None, "pairs": [],
        "transcripts": [],
    },
    "gold": {"explanations": {}, "pairs": [], "transcripts": []},
    "tasks": {
        "outcome": "not_run", "score": None, "samples": [], "indicators": {}, "explanations": {}, "plan": None,
        "plan_received": None, "transcripts": [],
    },
    "plan": {
        "plan": None, "plan_received": None, "planner_notes": {}, "tolerated": [], "problems": [], "samples": [],
        "reason_text": "", "pairs": [], "transcripts": [],
    },
}  # fmt: skip
"""The fields of a record that reveal each withheld part, with their empty values."""


class Withheld(NamedTuple):
    """The parts of an evaluation that a reader may not see."""

    data: bool = False
    """Inputs, references and answers of samples, the text of the request, and everything that quotes them: messages to
    the planner, and its responses except the plan."""
    gold: bool = False
    """Gold plans, goals, the reasons of the judge, and differences from a gold plan."""
    plan: bool = False
    """The plans of this evaluation, because they reveal gold plans or the contents or answers of hidden requests."""
    tasks: bool = False
    """Outcomes and scores of single tasks, because repeated submissions could learn the right answers from them.
    Means over all tasks of a completed evaluation are shown."""

    def without(self) -> dict[str, Any]:
        """The fields of a record to be replaced, with their empty values."""
        fields: dict[str, Any] = {}
        for name, is_withheld in self._asdict().items():
            fields |= _NOT_SHOWN[name] if is_withheld else {}
        return fields


def open_attributes(attributes: Mapping[str, Any], *, suite: Suite) -> dict[str, Any]:
    """The attributes of a task whose facets reveal nothing about its gold plan."""
    known = {facet.attribute for facet in suite.facets.filters if not facet.tells_gold}
    return {name: value for name, value in attributes.items() if name in known}
