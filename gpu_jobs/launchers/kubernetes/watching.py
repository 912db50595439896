"""Following the cluster, so that a change is looked at within a second. Only latency comes from here: whatever a watch
misses, the reconciler's sweep finds."""

import logging
import threading
from collections.abc import Callable

from gpu_jobs.launchers.kubernetes import names
from gpu_jobs.launchers.kubernetes.client import JOBS, PODS, ClusterClient
from gpu_jobs.launchers.kubernetes.responses import ClusterError, ExpiredError

logger = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS = 30.0


class Follower:
    """Tells which evaluations' Jobs or pods have changed."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        instance: str,
        on_change: Callable[[str], None],
        stopped: threading.Event,
        pause_seconds: float = 1.0,
        watch_seconds: int = 60,
    ) -> None:
        """Args:
        client: the cluster.
        instance: whose Jobs.
        on_change: gets an evaluation's id; should only note it, and be fast.
        stopped: set it to end `follow`, within `watch_seconds`.
        pause_seconds: the least time between two watches.
        watch_seconds: how long one watch lasts.
        """
        self._client = client
        self._selector = names.selector(instance=instance)
        self._on_change = on_change
        self._stopped = stopped
        self._pause = pause_seconds
        self._seconds = watch_seconds

    def follow(self, *, kind: str, beat: Callable[[], None] = lambda: None) -> None:
        """Follow `jobs` or `pods` until stopped.

        Args:
            kind: which.
            beat: called after every list and watch, as a sign of life.
        """
        version, wait = "", self._pause
        while not self._stopped.is_set():
            try:
                version = self._watch(kind=kind, version=version or self._list(kind))
                wait = self._pause
                beat()
            except ExpiredError:
                # Events were missed; the next list tells about everything that is there.
                version = ""
            except ClusterError as error:
                logger.warning("watching %s: %s", kind, error)
                wait = min(wait * 2, _LONGEST_WAIT_SECONDS)
            self._stopped.wait(wait)

    def _list(self, kind: str) -> str:
        listing = self._client.jobs if kind == "jobs" else self._client.pods
        items, version = listing(self._selector)
        for evaluation in sorted({names.evaluation_of(item) for item in items} - {""}):
            self._on_change(evaluation)
        return version

    def _watch(self, *, kind: str, version: str) -> str:
        """Tell about what changes after `version`, and return the version that was reached."""
        api = JOBS if kind == "jobs" else PODS
        events = self._client.watch(
            api=api, kind=kind, selector=self._selector, version=version, seconds=self._seconds
        )  # fmt: skip
        for event in events:
            changed = event.get("object", {})
            version = str(changed.get("metadata", {}).get("resourceVersion", "")) or version
            if event.get("type") != "BOOKMARK" and (evaluation := names.evaluation_of(changed)):
                self._on_change(evaluation)
            if self._stopped.is_set():
                break
        return version
