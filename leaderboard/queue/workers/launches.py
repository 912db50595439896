"""Enrolment tokens of the workers that this installation starts itself (`gpu_jobs.launchers.base`)."""

from datetime import timedelta

from leaderboard.queue.workers.tokens import is_fresh_pool_token, mint_launch_token, withdraw_launch_token

LOCAL_VALID = timedelta(hours=24)
"""A local worker ends by then, and the launcher starts another one if work is left."""
POOL_VALID = timedelta(days=7)
"""A pool's token is renewed when half of this is over. Workers open sessions with it every hour."""


class LocalEnrolments:
    """For local processes: they take all evaluations of the operator's workers, whatever their suites."""

    def mint(self, *, name: str) -> str:
        """See `Enrolments.mint`."""
        return mint_launch_token(name=name, valid=LOCAL_VALID)

    def withdraw(self, token: str) -> None:
        """See `Enrolments.withdraw`."""
        withdraw_launch_token(token)


class PoolEnrolments:
    """For worker pools on Kubernetes, bound to what the pool takes."""

    def is_fresh(self, *, pool: str, token: str) -> bool:
        """See `PoolEnrolments.is_fresh`."""
        return is_fresh_pool_token(pool=pool, token=token, remaining=POOL_VALID / 2)

    def mint(self, *, pool: str) -> str:
        """See `PoolEnrolments.mint`."""
        return mint_launch_token(name=f"pool {pool}", valid=POOL_VALID, pool=pool)

    def withdraw(self, token: str) -> None:
        """See `PoolEnrolments.withdraw`."""
        withdraw_launch_token(token)
