"""What the cluster has of the worker pools at one moment, in one list of Deployments and one of pods."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_jobs.launchers.kubernetes.client import ClusterClient
from gpu_jobs.launchers.kubernetes.conditions import assess
from gpu_jobs.launchers.kubernetes.names import SELECTOR, name_of, pool_handle, pool_label
from gpu_jobs.launchers.kubernetes.pods import assess_pod
from gpu_jobs.launchers.kubernetes.reasons import Assessment, Reason

Json = dict[str, Any]

KEPT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All pools."""

    deployments: Mapping[str, Json]
    """By the pool's name."""
    pods: Mapping[str, Json]
    """By the pod's name."""
    workloads: Sequence[Json] = ()
    """Kueue's, if a pod is held by a scheduling gate."""

    def assess(self, pool: str) -> Assessment:
        """How a pool stands."""
        own = [pod for pod in self.pods.values() if pool_label(pod) == pool]
        return assess(deployment=self.deployments.get(pool), pods=own, workloads=self.workloads)

    def images(self) -> list[str]:
        """The images of the pools' containers; their registry is the operator's affair."""
        specs = [one.get("spec", {}).get("template", {}).get("spec", {}) for one in self.deployments.values()]
        containers = [
            one for spec in specs for kind in ("containers", "initContainers") for one in spec.get(kind) or []
        ]
        return [str(one.get("image", "")) for one in containers]


class FleetView:
    """The pools, looked at again when the last look is older than a few seconds."""

    def __init__(self, *, client: ClusterClient, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        client: the cluster.
        clock: the time in seconds; tests give their own.
        """
        self._client = client
        self._clock = clock
        self._kept: Fleet | None = None
        self._until = float("-inf")

    def now(self) -> Fleet:
        """The pools, at most `KEPT_SECONDS` old.

        Raises:
            ClusterError: the cluster could not be asked, or refused.
        """
        if self._kept is None or self._clock() >= self._until:
            self._kept = self._look()
            self._until = self._clock() + KEPT_SECONDS
        return self._kept

    def forget(self) -> None:
        """Look again the next time."""
        self._kept = None

    def _look(self) -> Fleet:
        found = self._client.deployments(SELECTOR)
        named = {pool: one for one in found if (pool := pool_label(one)) and name_of(one) == pool_handle(pool)}
        pods = {name_of(pod): pod for pod in self._client.pods(SELECTOR)[0]}
        gated = any(assess_pod(pod).reason is Reason.QUEUED_FOR_QUOTA for pod in pods.values())
        return Fleet(deployments=named, pods=pods, workloads=self._client.workloads() if gated else ())
