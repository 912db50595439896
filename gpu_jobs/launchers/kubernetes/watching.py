"""Following the cluster, so that a change is looked at within a second. Only latency comes from here: whatever a watch
misses, the reconciler's sweep finds."""

import logging
import threading
from collections.abc import Callable

from gpu_jobs.launchers.kubernetes.client import ClusterClient
from gpu_jobs.launchers.kubernetes.names import SELECTOR, name_of
from gpu_jobs.launchers.kubernetes.responses import ClusterError, ExpiredError

logger = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS = 30.0


class Follower:
    """Tells which pods of pools have changed."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        on_change: Callable[[str], None],
        stopped: threading.Event,
        pause_seconds: float = 1.0,
        watch_seconds: int = 60,
    ) -> None:
        """Args:
        client: the cluster.
        on_change: gets a pod's name; should only note it, and be fast.
        stopped: set it to end `follow`, within `watch_seconds`.
        pause_seconds: the least time between two watches.
        watch_seconds: how long one watch lasts.
        """
        self._client = client
        self._on_change = on_change
        self._stopped = stopped
        self._pause = pause_seconds
        self._seconds = watch_seconds

    def follow(self, *, beat: Callable[[], None] = lambda: None) -> None:
        """Follow the pods until stopped.

        Args:
            beat: called after every list and watch, also one that failed, as a sign of life.
        """
        version, wait = "", self._pause
        while not self._stopped.is_set():
            try:
                version = self._watch(version or self._list())
                wait = self._pause
            except ExpiredError:
                # Events were missed; the next list tells about everything that is there.
                version = ""
            except ClusterError as error:
                logger.warning("watching pods: %s", error)
                wait = min(wait * 2, _LONGEST_WAIT_SECONDS)
            beat()
            self._stopped.wait(wait)

    def _list(self) -> str:
        pods, version = self._client.pods(SELECTOR)
        for pod in pods:
            self._on_change(name_of(pod))
        return version

    def _watch(self, version: str) -> str:
        """Tell about what changes after `version`, and return the version that was reached."""
        for event in self._client.watch_pods(selector=SELECTOR, version=version, seconds=self._seconds):
            changed = event.get("object", {})
            version = str(changed.get("metadata", {}).get("resourceVersion", "")) or version
            if event.get("type") != "BOOKMARK" and changed.get("metadata", {}).get("name"):
                self._on_change(name_of(changed))
            if self._stopped.is_set():
                break
        return version
