"""Enrolment tokens of the workers that this installation starts itself (`gpu_jobs.launchers.enrolment`)."""

from datetime import timedelta
from uuid import UUID

from leaderboard.queue.workers.tokens import extend_launch_tokens, mint_launch_token, withdraw_launch_token

LOCAL_VALID = timedelta(hours=24)
"""A local worker ends by then, and the launcher starts another one if work is left."""


class PoolEnrolments:
    """For local processes: they are one pool for all evaluations on the operator's workers, whatever their suites."""

    def mint(self, *, evaluation_id: str, name: str) -> str:  # noqa: ARG002 - as the others
        """See `Enrolments.mint`."""
        return mint_launch_token(name=name, valid=LOCAL_VALID)

    def extend(self, *, evaluation_id: str) -> None:
        """Does nothing: a local process starts at once."""

    def withdraw(self, token: str) -> None:
        """See `Enrolments.withdraw`."""
        withdraw_launch_token(token)


class EvaluationEnrolments:
    """For Kubernetes Jobs, each of which serves one evaluation."""

    def __init__(self, *, valid: timedelta) -> None:
        """Args:
        valid: how long a token opens sessions; longer than a Job may run.
        """
        self._valid = valid

    def mint(self, *, evaluation_id: str, name: str) -> str:
        """See `Enrolments.mint`."""
        return mint_launch_token(name=name, valid=self._valid, evaluation_id=UUID(evaluation_id))

    def extend(self, *, evaluation_id: str) -> None:
        """See `Enrolments.extend`."""
        extend_launch_tokens(evaluation_id=UUID(evaluation_id), valid=self._valid)

    def withdraw(self, token: str) -> None:
        """See `Enrolments.withdraw`."""
        withdraw_launch_token(token)
