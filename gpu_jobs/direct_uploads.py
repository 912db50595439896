"""Uploads of artefacts past the site, to the bucket that it keeps them in, by requests that the site has signed.

Whatever does not work goes through the site, which also takes what the bucket's address is not reached for.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from evaluator.core.values import Artefact
from evaluator.network.transient import asked_to_wait, is_transient
from gpu_jobs.client import ApiClient, RefusedError
from gpu_jobs.contract.lease import Lease
from gpu_jobs.contract.objects import OfferedUpload

logger = logging.getLogger(__name__)

_THREADS = 4
_TRIES = 3
_WAIT_SECONDS = 0.5
_UNREACHED_SECONDS = 300.0
"""For so long a bucket that was not reached at all is not tried again."""
_LONGEST_WAIT_SECONDS = 10.0


class DirectUploads:
    """Uploads what a site offers to take. May be kept for many leases."""

    def __init__(
        self, *, transport: httpx.BaseTransport | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Args:
        transport: how requests are sent; tests give a fake.
        sleep: how to wait between tries.
        """
        self._transport = transport
        self._sleep = sleep
        self._again_at = 0.0
        """Since the bucket was not reached, on the monotonic clock."""

    def send(self, *, client: ApiClient, lease: Lease, artefacts: Sequence[Artefact]) -> list[Artefact]:
        """Upload artefacts, which are free of secrets.

        Returns:
            Those that were not uploaded: they go through the site.
        """
        if time.monotonic() < self._again_at:
            return list(artefacts)
        try:
            offered = {one.digest: one for one in client.uploads(lease=lease, artefacts=artefacts)}
        except RefusedError as error:
            logger.warning("the site offers no direct uploads: %s", error)
            return list(artefacts)
        going = [artefact for artefact in artefacts if artefact.digest in offered]
        if not going:
            return list(artefacts)
        # No redirection is followed: the offer is for one address. Nothing of the site's is sent but the offer.
        with (
            httpx.Client(timeout=httpx.Timeout(60.0, connect=5.0), transport=self._transport, trust_env=False) as http,
            ThreadPoolExecutor(_THREADS, thread_name_prefix="upload") as pool,
        ):
            done = list(pool.map(lambda one: self._is_uploaded(http, offered[one.digest], one), going))
        uploaded = {artefact.digest for artefact, is_done in zip(going, done, strict=True) if is_done}
        return [artefact for artefact in artefacts if artefact.digest not in uploaded]

    def _is_uploaded(self, http: httpx.Client, offer: OfferedUpload, artefact: Artefact) -> bool:
        problem, asked = "", 0.0
        for attempt in range(_TRIES):
            if attempt:
                self._sleep(max(_WAIT_SECONDS * attempt, min(asked, _LONGEST_WAIT_SECONDS)))
            try:
                answer = http.put(offer.url, content=artefact.data, headers=offer.headers)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                self._again_at = time.monotonic() + _UNREACHED_SECONDS
                problem = type(error).__name__
                break
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # Without its message: that may hold the address, which is signed.
                problem = type(error).__name__
                continue
            if answer.is_success:
                return True
            problem = f"HTTP {answer.status_code}"
            if not is_transient(answer.status_code):
                break
            asked = asked_to_wait(answer.headers) or 0.0
        logger.warning("artefact %s goes through the site: uploading it failed (%s)", artefact.digest, problem)
        return False
