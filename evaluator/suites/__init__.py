"""Suites: versioned benchmarks and their tasks."""

from evaluator.suites.model import MetricColumn, Suite, Task
from evaluator.suites.registry import suite_names, suite_of

__all__ = ["MetricColumn", "Suite", "Task", "suite_names", "suite_of"]
