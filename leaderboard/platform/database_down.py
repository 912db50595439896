"""A database that does not answer: recognised where a call fails, and answered with 503 and `database_down`."""

from collections.abc import Mapping

import psycopg
from psycopg_pool import PoolTimeout

from leaderboard.platform.health import Facts, health
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, chain

_DOWN = (
    psycopg.errors.ConnectionTimeout, psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow, psycopg.errors.ConnectionException, psycopg.errors.ConnectionFailure, PoolTimeout,
)  # fmt: skip


class DatabaseDownError(ProblemError):
    """The database does not answer; what was not committed did not happen."""

    status = 503
    code = "database_down"

    def __init__(self) -> None:
        super().__init__(health(Facts(database_problem="no answer"))[0].sentence)

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def is_database_down(error: BaseException) -> bool:
    """Whether an exception, or what caused it, is a connection that could not be made or was lost. Errors of statements
    have classes of their own."""
    return any(isinstance(one, _DOWN) or type(one) is psycopg.OperationalError for one in chain(error))
