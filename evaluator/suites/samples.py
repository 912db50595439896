"""Where a suite's data come from: the source of samples of a profile and split."""

from collections.abc import Mapping
from typing import Protocol

from evaluator.suites.model import Task
from evaluator.values import Value


class SampleSource(Protocol):
    """Data points of a suite. Deterministic: the same index is the same data, whoever asks."""

    @property
    def digest(self) -> str:
        """Identifies the data; two evaluations are comparable only if it agrees."""
        ...

    def missing(self, *, task: Task) -> str | None:
        """Why there is no data for a task, as a sentence, or None if there is."""
        ...

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """The request's resources for one sample, by name."""
        ...

    def reference(self, *, task: Task, index: int) -> Value:
        """What a right answer looks like. No planner and no expert ever sees it."""
        ...
