"""Benchmarks of the library: always as ratios against a baseline in the same process."""

from evaluator.benchmarks.counting import distinct_calls
from evaluator.benchmarks.execution import ExecutionReport, Phase, measure_execution
from evaluator.benchmarks.released import ReleasedStructure

__all__ = ["ExecutionReport", "Phase", "ReleasedStructure", "distinct_calls", "measure_execution"]
