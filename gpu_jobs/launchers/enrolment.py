"""Enrolment tokens of the workers that a launcher starts: one for each launch, bound to what the launch covers."""

from typing import Protocol


class Enrolments(Protocol):
    """Where launchers get tokens from. The site's implementations are in `leaderboard/queue/workers/launches.py`."""

    def mint(self, *, evaluation_id: str, name: str) -> str:
        """A token for workers that are launched for this evaluation.

        Args:
            evaluation_id: what is launched for.
            name: how the launch is called, for people.
        """
        ...

    def extend(self, *, evaluation_id: str) -> None:
        """Let tokens of a launch that still waits expire later."""
        ...

    def withdraw(self, token: str) -> None:
        """End a token that no worker received."""
        ...
