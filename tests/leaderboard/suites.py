"""Facts of suites as the database keeps them."""

from typing import Any

from evaluator.controlllm.toolbench.suite import FACETS as TOOLBENCH
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.openagi.suite import FACETS as OPENAGI

EXECUTED: dict[str, Any] = {
    "conditions": {"experts": True, "samples": True, "splits": ["public", "validation", "hidden"]},
    "panels": ["scores", "artefacts"],
    "task_facets": OPENAGI.to_json(),
}
"""Of a suite whose plans are executed."""
JUDGED: dict[str, Any] = {
    "conditions": {"experts": False, "samples": False, "splits": ["all", "hidden"]},
    "panels": ["goal", "indicators"],
    "task_facets": TOOLBENCH.to_json(),
}
"""Of a suite whose plans are judged."""


def column(key: str, **changes: Any) -> dict[str, Any]:
    """A column of a board."""
    return Column(**{"key": key, "label": key.capitalize(), "description": key, **changes}).to_json()


def indicator(key: str, *, lower: bool = False, **changes: Any) -> dict[str, Any]:
    """A column of yes-or-no values."""
    return column(
        key, indicator=True, higher_is_better=not lower, fault=float(lower), interval=IntervalMethod.WILSON,
        good="good", bad="bad", **changes,
    )  # fmt: skip
