"""Enrolment tokens of the workers that a launcher starts. The site's implementations are in
`leaderboard/queue/workers/launches.py`."""

from typing import Protocol


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
