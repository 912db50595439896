"""Detection of an unavailable bucket, by failed calls and by probing with a small write.

Failed requests store nothing and are answered with 503 and the code `store_unavailable`, upon which clients retry and
workers keep their results (`gpu_jobs/client.py`).
"""

import logging
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

from evaluator.execution.engine.store import StoreUnavailableError
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, chain

if TYPE_CHECKING:
    from evaluator.execution.engine.s3.bucket import Bucket

logger = logging.getLogger(__name__)

_PROBE_KEY = "probe"
_PROBE_SECONDS = 15.0
"""Validity of a probe's result."""
_PATIENCE_SECONDS = 3.0
"""Timeout of a probe."""


class StoreUnavailableProblem(ProblemError):
    """The store does not answer; nothing was changed."""

    status = 503
    code = "store_unavailable"

    def __init__(self) -> None:
        super().__init__("The site's object store does not answer or refuses: nothing was stored. Try again later.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


class _Probe:
    """The last known problem of the bucket in this process. A request waits for at most one probe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problem = ""
        self._until = 0.0

    def problem(self) -> str:
        """The problem as a phrase; empty if there is none."""
        if time.monotonic() >= self._until and self._lock.acquire(blocking=False):
            try:
                self.note(_write_problem(settings.STORE_URL))
            finally:
                self._lock.release()
        return self._problem

    def note(self, problem: str) -> None:
        """Record a new result."""
        self._problem, self._until = problem, time.monotonic() + _PROBE_SECONDS


_probe = _Probe()


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception or one of its causes is an unavailable store."""
    return any(isinstance(cause, StoreUnavailableError) for cause in chain(error))


def note_unavailable(error: BaseException) -> None:
    """Record and log a failed call of the store."""
    cause = next(cause for cause in chain(error) if isinstance(cause, StoreUnavailableError))
    logger.error("the site's store: %s", cause)
    _probe.note(str(cause))


def store_problem() -> str:
    """Why the bucket does not accept data, for the operator; empty if it does, or if the store is a folder."""
    return _probe.problem() if settings.STORE_URL else ""


def _write_problem(url: str) -> str:
    try:
        _bucket(url).write(key=_PROBE_KEY, data=b"", content_type="text/plain")
    except StoreUnavailableError as error:
        return str(error)
    return ""


@cache
def _bucket(url: str) -> "Bucket":
    # Imported here, since sites with a folder do not need it.
    from evaluator.execution.engine.s3.bucket import Bucket, client_for, place_from

    place = place_from(url)
    return Bucket(place=place, client=client_for(place.endpoint, tries=1, read_timeout=_PATIENCE_SECONDS))
