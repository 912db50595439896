"""Sources of samples: the data of a suite for a profile and split."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evaluator.core.suites.base import Task

if TYPE_CHECKING:
    # Entries of suites name sources; they are listed without numpy and PIL.
    from evaluator.core.values import Value


MADE_UP = "made-up"
"""Location of data that are made up for measuring speed, as `data` of a setting."""


class SampleSource(Protocol):
    """Data points of a suite. Deterministic: an index always yields the same data."""

    @property
    def digest(self) -> str:
        """Identifies the data; evaluations with different digests are not comparable."""
        ...

    def missing(self, *, task: Task) -> str | None:
        """Why there is no data for a task, as a sentence, or None if there is."""
        ...

    def inputs(self, *, task: Task, index: int) -> Mapping[str, "Value"]:
        """The request's resources for one sample, by name."""
        ...

    def reference(self, *, task: Task, index: int) -> "Value":
        """The reference answer. Hidden from planners and experts."""
        ...


@runtime_checkable
class SharingSource(SampleSource, Protocol):
    """A source that declares which tasks share data, so that shared data is generated once."""

    def inputs_key(self, *, task: Task) -> str:
        """Tasks with equal keys have equal inputs at every index."""
        ...

    def reference_key(self, *, task: Task) -> str:
        """Tasks with equal keys have equal references at every index."""
        ...


@runtime_checkable
class GoldComparedSource(SampleSource, Protocol):
    """A source without reference answers: the gold plan's results on the same sample replace them."""

    def compared(self, *, task: Task, result: "Value", given: Callable[[str], "Value"]) -> "Value":
        """The value to compare a plan's result with.

        Args:
            task: one of the answers of a request.
            result: the gold plan's result for it.
            given: the request's resources on this sample, by name.

        Raises:
            LookupError: nothing can be compared with this result.
        """
        ...


@runtime_checkable
class WithGaps(Protocol):
    """A source whose data may be incomplete."""

    @property
    def gaps(self) -> str:
        """The missing data and its amount, as a sentence; empty if the data is complete."""
        ...


@runtime_checkable
class WithOrigin(Protocol):
    """A source whose data are not those of the suite's authors."""

    @property
    def origin(self) -> str:
        """Whose data they are, as sentences for provenance."""
        ...
