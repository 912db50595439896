"""Suites: versioned benchmarks and their tasks."""

from evaluator.suites.model import MetricColumn, Suite, SuiteKind, Task
from evaluator.suites.registry import suite_names, suite_of

__all__ = ["MetricColumn", "Suite", "SuiteKind", "Task", "suite_names", "suite_of"]
