"""Suites: versioned benchmarks and their tasks."""

from evaluator.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.suites.registry import episode_of, suite_names, suite_of

__all__ = [
    "Column",
    "Conditions",
    "IntervalMethod",
    "Panel",
    "Suite",
    "Task",
    "episode_of",
    "suite_names",
    "suite_of",
]
