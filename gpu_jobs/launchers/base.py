"""The interface of launchers."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable


class LaunchError(Exception):
    """No worker could be started; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """What a launcher knows of a worker."""

    alive: bool | None
    """None if the launcher cannot tell, for example because it did not start this worker."""
    reason: str = ""
    """Why it is not alive, as part of a sentence."""
    disrupted: bool = False
    """Whether it is gone for a reason that nothing which runs in it can cause, such as a machine that was shut down."""
    started_at: datetime | None = None
    """When a living worker was started again under the same handle; what it held before is lost, for `reason`."""


class Launcher(Protocol):
    """Starts workers and knows how they are. A handle is also the name under which the worker takes leases."""

    def ensure(self, *, evaluation_id: str) -> str:
        """See that a worker runs that will take the tasks of this evaluation, and return its handle.

        Adopts what runs already, so that calling it twice starts nothing twice.

        Raises:
            LaunchError: no worker could be started.
        """
        ...

    def alive(self, *, handle: str) -> Liveness:
        """How the worker with this handle is."""
        ...

    def stop(self, *, handle: str) -> None:
        """Stop a worker: it gives its tasks back. Nothing happens if it does not run."""
        ...

    def stop_one(self, *, handle: str) -> None:
        """Stop one worker that may hang; others of the same evaluation go on. The launcher starts another one in its
        place by itself or when it is asked next. Nothing happens if it does not run.

        Raises:
            LaunchError: it could not be stopped.
        """
        ...


@runtime_checkable
class PoolsWorkers(Protocol):
    """A launcher whose workers take tasks of any evaluation."""

    def stop_if_over(self, *, handle: str) -> None:
        """Have a worker ask the site whether its present attempt is over, and stop if it is. One that has moved on to
        another attempt goes on. Nothing happens if it does not run.

        Raises:
            LaunchError: its state could not be read.
        """
        ...


@runtime_checkable
class TendsPools(Protocol):
    """A launcher of pools that somebody else scales."""

    def tend(self, *, busy: Collection[str]) -> None:
        """Do what pools need from time to time. What fails is logged and done the next time.

        Args:
            busy: the handles of workers that hold a lease, and should not be stopped.
        """
        ...


class NoLauncher:
    """Starts nothing: workers are started by hand, on any machine that reaches the API."""

    def ensure(self, *, evaluation_id: str) -> str:  # noqa: ARG002
        return ""

    def alive(self, *, handle: str) -> Liveness:  # noqa: ARG002
        return Liveness(alive=None)

    def stop(self, *, handle: str) -> None:
        """Does nothing."""

    def stop_one(self, *, handle: str) -> None:
        """Does nothing."""


class Enrolments(Protocol):
    """Where launchers that start each worker themselves get tokens from: one for each launch."""

    def mint(self, *, name: str) -> str:
        """A token for one launch.

        Args:
            name: how the launch is called, for people.
        """
        ...

    def withdraw(self, token: str) -> None:
        """End a token that no worker received."""
        ...


class PoolEnrolments(Protocol):
    """Where the launcher of worker pools gets tokens from: one that all workers of a pool share, renewed in time."""

    def is_fresh(self, *, pool: str, token: str) -> bool:
        """Whether this token opens sessions for this pool, and will for long enough to be left as it is."""
        ...

    def mint(self, *, pool: str) -> str:
        """A further token for the workers of this pool. Earlier ones stay valid until they expire."""
        ...

    def withdraw(self, token: str) -> None:
        """End a token that no worker received."""
        ...
