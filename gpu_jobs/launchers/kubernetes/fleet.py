"""A snapshot of the worker pools in the cluster, and the state of each pool from its Deployment, pods and Workloads."""

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
    """By name of the pool."""
    pods: Mapping[str, Json]
    """By name of the pod."""
    workloads: Sequence[Json] = ()
    """Kueue's Workloads, if a pod has a scheduling gate."""

    def assess(self, pool: str) -> Assessment:
        """State of a pool."""
        own = [pod for pod in self.pods.values() if pool_label(pod) == pool]
        return assess(deployment=self.deployments.get(pool), pods=own, workloads=self.workloads)

    def images(self) -> list[str]:
        """The images of the pools' containers."""
        specs = [item.get("spec", {}).get("template", {}).get("spec", {}) for item in self.deployments.values()]
        return [
            str(container.get("image", ""))
            for spec in specs
            for kind in ("containers", "initContainers")
            for container in spec.get(kind) or []
        ]


class FleetView:
    """The pools, read again after a few seconds."""

    def __init__(self, *, client: ClusterClient, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        client: the cluster.
        clock: for tests.
        """
        self._client = client
        self._clock = clock
        self._fleet: Fleet | None = None
        self._until = float("-inf")

    def now(self) -> Fleet:
        """The pools, at most `KEPT_SECONDS` old.

        Raises:
            ClusterError: the cluster could not be reached, or refused.
        """
        if self._fleet is None or self._clock() >= self._until:
            deployments = {
                pool: item
                for item in self._client.deployments(SELECTOR)
                if (pool := pool_label(item)) and name_of(item) == pool_handle(pool)
            }
            pods = {name_of(pod): pod for pod in self._client.pods(SELECTOR)[0]}
            gated = any(assess_pod(pod).reason is Reason.QUEUED_FOR_QUOTA for pod in pods.values())
            workloads = self._client.workloads() if gated else ()
            self._fleet = Fleet(deployments=deployments, pods=pods, workloads=workloads)
            self._until = self._clock() + KEPT_SECONDS
        return self._fleet

    def forget(self) -> None:
        """Read the pools again the next time."""
        self._fleet = None


_WORST_FIRST = (
    Reason.REFUSED, Reason.IMAGE_NOT_PULLED, Reason.CONTAINER_NOT_CREATED, Reason.OUT_OF_MEMORY, Reason.UNREACHABLE,
    Reason.CRASHED, Reason.KILLED, Reason.NODE_LOST, Reason.INADMISSIBLE, Reason.QUOTA_PREEMPTED,
    Reason.UNSCHEDULABLE, Reason.QUEUED_FOR_QUOTA,
)  # fmt: skip
_EPOCH = datetime.min.replace(tzinfo=UTC)


def assess(*, deployment: Json | None, pods: Sequence[Json] = (), workloads: Sequence[Json] = ()) -> Assessment:
    """State of a pool: running if any of its workers runs, otherwise why none does.

    Args:
        deployment: the pool's; None if it does not exist.
        pods: its pods.
        workloads: Kueue's Workloads, of any pods.
    """
    if deployment is None:
        return Assessment(state=State.GONE, reason=Reason.NOT_INSTALLED)
    # Ended pods remain for a while after their replacement.
    present = [pod for pod in pods if pod.get("status", {}).get("phase") not in {"Failed", "Succeeded"}]
    states = [_admission(pod, state=assess_pod(pod), workloads=workloads) for pod in present]
    running = [state for state in states if state.state is State.RUNNING]
    if running:
        return min(running, key=_since)
    if refused := _refused_pods(deployment):
        return refused
    if not deployment.get("spec", {}).get("replicas", 1):
        return Assessment(state=State.WAITING, reason=Reason.NOT_SCALED)
    for reason in _WORST_FIRST:
        if alike := [state for state in states if state.reason is reason]:
            # The pod that has waited for longest.
            return min(alike, key=_since)
    return Assessment(state=State.WAITING, reason=Reason.STARTING)


def liveness_of(pod: Json) -> Liveness:
    """Liveness of a pod's worker."""
    state = assess_pod(pod)
    if state.state is State.RUNNING:
        again = restarted(pod)
        if again is None:
            return Liveness(alive=True)
        started, before = again
        return Liveness(
            alive=True, reason=before.short, disrupted=before.reason in DISRUPTIONS, started_at=started
        )  # fmt: skip
    if state.state is State.FAILED or state.reason in {Reason.NODE_LOST, Reason.QUOTA_PREEMPTED}:
        return Liveness(alive=False, reason=state.short, disrupted=state.reason in DISRUPTIONS)
    # It waits, or is shutting down.
    return Liveness(alive=None, reason=state.short)


def _since(state: Assessment) -> datetime:
    return state.since or _EPOCH


def _refused_pods(deployment: Json) -> Assessment | None:
    """Why pods could not be created, from the Deployment's condition."""
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


def _admission(pod: Json, *, state: Assessment, workloads: Sequence[Json]) -> Assessment:
    """State of a pod, with the reason of its Workload if Kueue holds it by a scheduling gate."""
    if state.reason is not Reason.QUEUED_FOR_QUOTA:
        return state
    workload = next((item for item in workloads if _is_of(item, pod=pod)), None)
    if workload is None:
        return state
    reserved = condition(workload, "QuotaReserved")
    if reserved is not None and not holds(reserved) and reserved.get("reason") in {"Inadmissible", "Misconfigured"}:
        return _of_workload(Reason.INADMISSIBLE, reserved, since=state.since)
    for kind in ("Preempted", "Evicted"):
        evicted = condition(workload, kind)
        if evicted is not None and holds(evicted):
            return _of_workload(Reason.QUOTA_PREEMPTED, evicted, since=state.since)
    return _of_workload(Reason.QUEUED_FOR_QUOTA, reserved or {}, since=state.since)


def _of_workload(reason: Reason, item: Json, *, since: datetime | None) -> Assessment:
    began = moment(item.get("lastTransitionTime")) or since
    return Assessment(state=State.WAITING, reason=reason, since=began, detail=str(item.get("message", "")))


def _is_of(workload: Json, *, pod: Json) -> bool:
    uid = pod.get("metadata", {}).get("uid")
    owners = workload.get("metadata", {}).get("ownerReferences") or []
    labels = workload.get("metadata", {}).get("labels") or {}
    return uid is not None and (
        labels.get("kueue.x-k8s.io/job-uid") == uid or any(owner.get("uid") == uid for owner in owners)
    )
