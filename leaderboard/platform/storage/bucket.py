"""A bucket that refuses or does not answer: recognised where a call fails, and looked for by a small write.

What fails leaves nothing behind and is answered with 503 and the code `store_unavailable`, for which clients try again
and workers keep their results (`gpu_jobs/client.py`).
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
"""The result of a probe counts for so long."""
_PATIENCE_SECONDS = 3.0
"""Of a probe for the service; longer, and it counts as silent."""


class StoreUnavailableProblem(ProblemError):
    """The store does not answer; nothing was changed."""

    status = 503
    code = "store_unavailable"

    def __init__(self) -> None:
        super().__init__("The site's object store does not answer or refuses: nothing was stored. Try again later.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


class _Probe:
    """What is wrong with the bucket, as this process has seen it last. Requests wait for one probe at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problem = ""
        self._until = 0.0

    def problem(self) -> str:
        """What is wrong, as a phrase; empty if nothing is."""
        if time.monotonic() >= self._until and self._lock.acquire(blocking=False):
            try:
                self.note(_write_problem(settings.STORE_URL))
            finally:
                self._lock.release()
        return self._problem

    def note(self, problem: str) -> None:
        """Something was found out just now."""
        self._problem, self._until = problem, time.monotonic() + _PROBE_SECONDS


_probe = _Probe()


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception, or what caused it, is a store that does not answer or refuses."""
    return any(isinstance(one, StoreUnavailableError) for one in chain(error))


def note_unavailable(error: BaseException) -> None:
    """Remember and log that the store did not take or give something."""
    found = next(one for one in chain(error) if isinstance(one, StoreUnavailableError))
    logger.error("the site's store: %s", found)
    _probe.note(str(found))


def store_problem() -> str:
    """Why the bucket takes nothing, as a phrase for the operator; empty if it does, or if the store is a folder."""
    return _probe.problem() if settings.STORE_URL else ""


def _write_problem(url: str) -> str:
    try:
        _bucket(url).write(key=_PROBE_KEY, data=b"", content_type="text/plain")
    except StoreUnavailableError as error:
        return str(error)
    return ""


@cache
def _bucket(url: str) -> "Bucket":
    # Imported here: sites with a folder do not need it.
    from evaluator.execution.engine.s3.bucket import Bucket, client_for, place_from

    place = place_from(url)
    return Bucket(place=place, client=client_for(place.endpoint, tries=1, read_timeout=_PATIENCE_SECONDS))
