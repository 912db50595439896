"""What the cluster has of the worker pools at one moment, and the state of each pool from its Deployment, its pods and
Kueue's Workloads."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gpu_jobs.launchers.base import Liveness
from gpu_jobs.launchers.kubernetes.client import ClusterClient
from gpu_jobs.launchers.kubernetes.pods import assess_pod, condition, holds, moment, restarted
from gpu_jobs.launchers.kubernetes.reasons import (
    DISRUPTIONS,
    Assessment,
    Json,
    Reason,
    State,
    is_about_pod_security,
    is_about_quota,
)
from gpu_jobs.launchers.kubernetes.settings import SELECTOR, name_of, pool_handle, pool_label

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


_WORST_FIRST = (
    Reason.REFUSED, Reason.IMAGE_NOT_PULLED, Reason.CONTAINER_NOT_CREATED, Reason.OUT_OF_MEMORY, Reason.UNREACHABLE,
    Reason.CRASHED, Reason.KILLED, Reason.NODE_LOST, Reason.INADMISSIBLE, Reason.QUOTA_PREEMPTED,
    Reason.UNSCHEDULABLE, Reason.QUEUED_FOR_QUOTA,
)  # fmt: skip
_EPOCH = datetime.min.replace(tzinfo=UTC)


def assess(*, deployment: Json | None, pods: Sequence[Json] = (), workloads: Sequence[Json] = ()) -> Assessment:
    """How a pool stands: running if any of its workers runs, else why none does.

    Args:
        deployment: the pool's; None if it is not there.
        pods: its pods.
        workloads: Kueue's, of any pods.
    """
    if deployment is None:
        return Assessment(state=State.GONE, reason=Reason.NOT_INSTALLED)
    # Pods that have ended stay for a while after others have taken their place.
    present = [pod for pod in pods if pod.get("status", {}).get("phase") not in {"Failed", "Succeeded"}]
    found = [_admission(pod, found=assess_pod(pod), workloads=workloads) for pod in present]
    running = [one for one in found if one.state is State.RUNNING]
    if running:
        return min(running, key=_since)
    if refused := _refused_pods(deployment):
        return refused
    if not deployment.get("spec", {}).get("replicas", 1):
        return Assessment(state=State.WAITING, reason=Reason.NOT_SCALED)
    for reason in _WORST_FIRST:
        if alike := [one for one in found if one.reason is reason]:
            # The one that has waited for longest.
            return min(alike, key=_since)
    return Assessment(state=State.WAITING, reason=Reason.STARTING)


def liveness_of(pod: Json) -> Liveness:
    """What a pod says of its worker."""
    found = assess_pod(pod)
    if found.state is State.RUNNING:
        again = restarted(pod)
        if again is None:
            return Liveness(alive=True)
        started, before = again
        return Liveness(
            alive=True, reason=before.short, disrupted=before.reason in DISRUPTIONS, started_at=started
        )  # fmt: skip
    if found.state is State.FAILED or found.reason in {Reason.NODE_LOST, Reason.QUOTA_PREEMPTED}:
        return Liveness(alive=False, reason=found.short, disrupted=found.reason in DISRUPTIONS)
    # It waits, or is shutting down.
    return Liveness(alive=None, reason=found.short)


def _since(found: Assessment) -> datetime:
    return found.since or _EPOCH


def _refused_pods(deployment: Json) -> Assessment | None:
    """Why pods could not be created, in the words of the Deployment's condition. A quota needs patience only."""
    failure = condition(deployment, "ReplicaFailure")
    if failure is None or not holds(failure):
        return None
    words = str(failure.get("message", ""))
    reason = Reason.NO_PODS
    if is_about_quota(words):
        reason = Reason.QUOTA_EXCEEDED
    elif is_about_pod_security(words):
        reason = Reason.POD_SECURITY
    since = moment(failure.get("lastTransitionTime"))
    return Assessment(state=State.WAITING, reason=reason, since=since, detail=words)


def _admission(pod: Json, *, found: Assessment, workloads: Sequence[Json]) -> Assessment:
    """A pod that Kueue holds by a scheduling gate, with what its Workload says."""
    if found.reason is not Reason.QUEUED_FOR_QUOTA:
        return found
    workload = next((one for one in workloads if _is_of(one, pod=pod)), None)
    if workload is None:
        return found
    reserved = condition(workload, "QuotaReserved")
    if reserved is not None and not holds(reserved) and reserved.get("reason") in {"Inadmissible", "Misconfigured"}:
        return _of_workload(Reason.INADMISSIBLE, reserved, since=found.since)
    for kind in ("Preempted", "Evicted"):
        evicted = condition(workload, kind)
        if evicted is not None and holds(evicted):
            return _of_workload(Reason.QUOTA_PREEMPTED, evicted, since=found.since)
    return _of_workload(Reason.QUEUED_FOR_QUOTA, reserved or {}, since=found.since)


def _of_workload(reason: Reason, found: Json, *, since: datetime | None) -> Assessment:
    began = moment(found.get("lastTransitionTime")) or since
    return Assessment(state=State.WAITING, reason=reason, since=began, detail=str(found.get("message", "")))


def _is_of(workload: Json, *, pod: Json) -> bool:
    uid = pod.get("metadata", {}).get("uid")
    owners = workload.get("metadata", {}).get("ownerReferences") or []
    labels = workload.get("metadata", {}).get("labels") or {}
    return uid is not None and (
        labels.get("kueue.x-k8s.io/job-uid") == uid or any(owner.get("uid") == uid for owner in owners)
    )
