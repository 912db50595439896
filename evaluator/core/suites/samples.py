"""Where a suite's data come from: the source of samples of a profile and split."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evaluator.core.suites.base import Task

if TYPE_CHECKING:
    # Entries of suites name sources; they are listed without numpy and PIL.
    from evaluator.core.values import Value


class SampleSource(Protocol):
    """Data points of a suite. Deterministic: the same index is the same data, whoever asks."""

    @property
    def digest(self) -> str:
        """Identifies the data; two evaluations are comparable only if it agrees."""
        ...

    def missing(self, *, task: Task) -> str | None:
        """Why there is no data for a task, as a sentence, or None if there is."""
        ...

    def inputs(self, *, task: Task, index: int) -> Mapping[str, "Value"]:
        """The request's resources for one sample, by name."""
        ...

    def reference(self, *, task: Task, index: int) -> "Value":
        """What a right answer looks like. No planner and no expert ever sees it."""
        ...


@runtime_checkable
class SharingSource(SampleSource, Protocol):
    """A source that gives many tasks the same data, and says so: what is shared is then made once."""

    def inputs_key(self, *, task: Task) -> str:
        """Tasks with equal keys have equal inputs at every index."""
        ...

    def reference_key(self, *, task: Task) -> str:
        """Tasks with equal keys have equal references at every index."""
        ...


@runtime_checkable
class GoldComparedSource(SampleSource, Protocol):
    """A source without right results: those of the gold plan on the same sample take their place."""

    def compared(self, *, task: Task, result: "Value", given: Callable[[str], "Value"]) -> "Value":
        """What a plan's result is compared with.

        Args:
            task: one of the answers of a request.
            result: what the gold plan gave for it.
            given: the request's resources on this sample, by name.

        Raises:
            LookupError: nothing can be compared with this result.
        """
        ...


@runtime_checkable
class WithGaps(Protocol):
    """A source that may lack a part of its data."""

    @property
    def gaps(self) -> str:
        """What is lacking and how much, as a sentence; empty if nothing is."""
        ...
