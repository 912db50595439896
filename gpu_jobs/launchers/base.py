"""The interface of launchers."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

_PART = "/"
"""Separates the handle of a worker from the number of its process."""


def name_of_part(worker: str, number: int) -> str:
    """The name of one of several processes of a worker (`gpu_jobs.per_gpu`), under which it leases."""
    return f"{worker}{_PART}{number}"


def handle_of(worker: str) -> str:
    """The handle of the worker with this name: without the number of its process."""
    return worker.partition(_PART)[0]


class LaunchError(Exception):
    """No worker could be started; the message is a sentence with the reason."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """A launcher's knowledge of a worker."""

    alive: bool | None
    """None if the launcher cannot tell, for example because it did not start this worker."""
    reason: str = ""
    """Why it is not alive, as part of a sentence."""
    disrupted: bool = False
    """Whether it is gone for a reason that its tasks cannot cause, such as the shutdown of a machine."""
    started_at: datetime | None = None
    """When a live worker was restarted under the same handle; its earlier leases are lost, for `reason`."""


class Launcher(Protocol):
    """Starts and stops workers, and reports their liveness. The handle is also the worker's name in leases; one with
    several GPUs leases under several names (`name_of_part`), which are handles, too."""

    def ensure(self, *, evaluation_id: str) -> str:
        """Make sure that a worker runs that may lease tasks of this evaluation, and return its handle.

        Idempotent: running workers are adopted.

        Raises:
            LaunchError: no worker could be started.
        """
        ...

    def ensure_any(self) -> None:
        """Make sure that a worker runs for work that is no evaluation's. Does nothing where pools are scaled by demand.

        Raises:
            LaunchError: no worker could be started.
        """
        ...

    def keep_ready(self) -> None:
        """Make sure that the workers run that wait for runs of the workbench only, if this launcher has any.

        Raises:
            LaunchError: one could not be started.
        """
        ...

    def alive(self, *, handle: str) -> Liveness:
        """Liveness of the worker with this handle."""
        ...

    def stop(self, *, handle: str) -> None:
        """Stop a worker, which returns its tasks. Does nothing if it does not run."""
        ...

    def stop_one(self, *, handle: str) -> None:
        """Stop one worker that may hang; it is replaced automatically or by the next `ensure`. Does nothing if it does
        not run.

        Raises:
            LaunchError: it could not be stopped.
        """
        ...


@runtime_checkable
class PoolsWorkers(Protocol):
    """A launcher whose workers may lease tasks of any evaluation."""

    def stop_if_over(self, *, handle: str) -> None:
        """Make a worker check with the site whether its current attempt has ended, and stop if it has. Does nothing if
        it does not run.

        Raises:
            LaunchError: its state could not be read.
        """
        ...


@runtime_checkable
class TendsPools(Protocol):
    """A launcher of pools with an external scaler."""

    def tend(self, *, busy: Collection[str]) -> None:
        """Periodic maintenance of pools. Errors are logged; the next call tries again.

        Args:
            busy: handles of workers that hold a lease, and should not be scaled down.
        """
        ...


class NoLauncher:
    """Starts nothing: workers are started manually, on any machine that reaches the API."""

    def ensure(self, *, evaluation_id: str) -> str:  # noqa: ARG002
        return ""

    def ensure_any(self) -> None:
        """Does nothing."""

    def keep_ready(self) -> None:
        """Does nothing."""

    def alive(self, *, handle: str) -> Liveness:  # noqa: ARG002
        return Liveness(alive=None)

    def stop(self, *, handle: str) -> None:
        """Does nothing."""

    def stop_one(self, *, handle: str) -> None:
        """Does nothing."""


class Enrolments(Protocol):
    """Source of enrolment tokens for launchers that start each worker: one token for each launch."""

    def mint(self, *, name: str) -> str:
        """A new token for a launch with this display name."""
        ...

    def withdraw(self, token: str) -> None:
        """Revoke a token that no worker received."""
        ...


class PoolEnrolments(Protocol):
    """Source of enrolment tokens for worker pools: all workers of a pool share a token, which is renewed in time."""

    def is_fresh(self, *, pool: str, token: str) -> bool:
        """Whether this token opens sessions for this pool, and does not need renewal yet."""
        ...

    def mint(self, *, pool: str) -> str:
        """A new token for the workers of this pool. Earlier ones stay valid until they expire."""
        ...

    def withdraw(self, token: str) -> None:
        """Revoke a token that no worker received."""
        ...
