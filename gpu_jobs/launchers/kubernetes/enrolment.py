"""The enrolment token of a pool's workers: a key in the pool's Secret, which the Helm chart makes without it."""

import base64
import binascii
import logging
import time
from collections.abc import Callable
from typing import Any

from gpu_jobs.launchers.enrolment import PoolEnrolments
from gpu_jobs.launchers.kubernetes.client import ClusterClient
from gpu_jobs.launchers.kubernetes.names import TOKEN_KEY, pool_handle

logger = logging.getLogger(__name__)

_LOOKED_AT_EVERY_SECONDS = 60.0


class PoolTokens:
    """Sees that each pool's Secret holds a token that opens sessions, whatever happened to it."""

    def __init__(
        self, *, client: ClusterClient, enrolments: PoolEnrolments, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args:
        client: the cluster.
        enrolments: where tokens come from.
        clock: the time in seconds; tests give their own.
        """
        self._client = client
        self._enrolments = enrolments
        self._clock = clock
        self._good_until: dict[str, float] = {}

    def renew(self, pool: str) -> bool:
        """See that the pool's Secret holds a fresh token, at most once a minute. False if there is no Secret.

        A process that dies between minting and writing leaves an unused token; the next call mints another.

        Raises:
            ClusterError: the Secret could not be read or written, or nobody knows.
        """
        if self._good_until.get(pool, float("-inf")) > self._clock():
            return True
        secret = self._client.secret(pool_handle(pool))
        if secret is None:
            return False
        if not self._enrolments.is_fresh(pool=pool, token=_token_in(secret)):
            self._write(pool)
        self._good_until[pool] = self._clock() + _LOOKED_AT_EVERY_SECONDS
        return True

    def _write(self, pool: str) -> None:
        token = self._enrolments.mint(pool=pool)
        data = {TOKEN_KEY: base64.b64encode(token.encode()).decode()}
        try:
            self._client.patch_secret(name=pool_handle(pool), patch={"data": data})
        except BaseException:
            # Written after all, where only the answer was lost: then the next look renews it.
            self._enrolments.withdraw(token)
            raise
        logger.info("renewed the enrolment token of the pool %s", pool)


def _token_in(secret: dict[str, Any]) -> str:
    """The token that the Secret holds; empty if it holds none."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(TOKEN_KEY, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""
