"""The state of an evaluation's Job, from the Job, its pods and Kueue's Workload. Pure.

The Job's own status is not enough: a pod that cannot pull its image never fails its Job.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gpu_jobs.launchers.base import Liveness
from gpu_jobs.launchers.kubernetes import names
from gpu_jobs.launchers.kubernetes.pods import assess_pod, condition, exit_reason, holds, moment
from gpu_jobs.launchers.kubernetes.reasons import DISRUPTIONS, Assessment, Reason, State, is_about_quota

Json = dict[str, Any]

_WORST_FIRST = (
    Reason.IMAGE_NOT_PULLED, Reason.CONTAINER_NOT_CREATED, Reason.NODE_LOST, Reason.UNSCHEDULABLE,
    Reason.QUEUED_FOR_QUOTA, Reason.STARTING,
)  # fmt: skip
_EXIT_CODE = re.compile(r"exit code (\d+)")
_EPOCH = datetime.min.replace(tzinfo=UTC)


def assess(
    *, job: Json | None, pods: Sequence[Json] = (), workload: Json | None = None, refused_pods: Sequence[Json] = ()
) -> Assessment:
    """How a Job stands.

    Args:
        job: the Job; None if it is not there.
        pods: its pods.
        workload: Kueue's Workload of it, of a suspended Job.
        refused_pods: the events that say why its pods could not be created, of a Job without pods.
    """
    if job is None:
        return Assessment(state=State.GONE, reason=Reason.DELETED)
    if ended := _ended(job=job, pods=pods):
        return ended
    if deleted := job["metadata"].get("deletionTimestamp"):
        return Assessment(state=State.GONE, reason=Reason.DELETED, since=moment(deleted))
    if job["spec"].get("suspend"):
        return _suspended(job=job, workload=workload)
    found = _active(job=job, pods=pods)
    return _without_pods(found, refused_pods=refused_pods) if found.reason is Reason.NO_PODS else found


def is_over(job: Json) -> bool:
    """Whether the Job has ended, or is about to be."""
    return any(holds(condition(job, kind)) for kind in ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"))


def ended_at(job: Json) -> datetime | None:
    """When the Job has ended."""
    for kind in ("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet"):
        found = condition(job, kind)
        if found is not None and holds(found):
            return moment(found.get("lastTransitionTime"))
    return None


def _ended(*, job: Json, pods: Sequence[Json]) -> Assessment | None:
    if holds(condition(job, "Complete")) or holds(condition(job, "SuccessCriteriaMet")):
        return Assessment(state=State.SUCCEEDED, reason=Reason.FINISHED, since=ended_at(job))
    # FailureTarget comes first, while the pods are still being ended.
    failed = next((item for kind in ("Failed", "FailureTarget") if holds(item := condition(job, kind))), None)
    if failed is None:
        return None
    cause = _failed_because(job=job, failed=failed, pods=pods)
    since, detail = ended_at(job), cause.detail or str(failed.get("message", ""))
    return Assessment(state=State.FAILED, reason=cause.reason, since=since, detail=detail)


def _failed_because(*, job: Json, failed: Json, pods: Sequence[Json]) -> Assessment:
    message = str(failed.get("message", ""))
    annotations = job["metadata"].get("annotations", {})
    if noted := annotations.get(names.ENDED_BECAUSE):
        known = {reason.value for reason in Reason}
        reason = Reason(noted) if noted in known else Reason.CRASHED
        return Assessment(state=State.FAILED, reason=reason, detail=annotations.get(names.ENDED_DETAIL) or message)
    if failed.get("reason") == "DeadlineExceeded":
        return Assessment(state=State.FAILED, reason=Reason.DEADLINE, detail=message)
    if failed.get("reason") == "PodFailurePolicy" and (found := _EXIT_CODE.search(message)):
        # The pod itself may have been collected already; the Job's message stays.
        return Assessment(state=State.FAILED, reason=exit_reason(int(found[1])), detail=message)
    failures = [found for found in map(assess_pod, pods) if found.state is State.FAILED]
    if failures:
        return max(failures, key=lambda found: found.since or _EPOCH)
    return Assessment(state=State.FAILED, reason=Reason.CRASHED, detail=message)


def _without_pods(found: Assessment, *, refused_pods: Sequence[Json]) -> Assessment:
    """Why there are no pods, in the words of the last event. What is refused for a quota needs patience only."""
    last = max(refused_pods, key=_told_at, default=None)
    if last is None:
        return found
    words = str(last.get("message", ""))
    reason = Reason.QUOTA_EXCEEDED if is_about_quota(words) else Reason.NO_PODS
    return replace(found, reason=reason, detail=words)


def _told_at(event: Json) -> datetime:
    times = (event.get("lastTimestamp"), event.get("eventTime"), event.get("metadata", {}).get("creationTimestamp"))
    return next((found for found in map(moment, times) if found is not None), _EPOCH)


def _suspended(*, job: Json, workload: Json | None) -> Assessment:
    suspended = condition(job, "Suspended")
    since = moment((suspended or {}).get("lastTransitionTime")) or moment(job["metadata"].get("creationTimestamp"))
    if workload is None:
        return Assessment(state=State.WAITING, reason=Reason.SUSPENDED, since=since)
    reserved = condition(workload, "QuotaReserved")
    if reserved is not None and not holds(reserved) and reserved.get("reason") in {"Inadmissible", "Misconfigured"}:
        return _of_workload(Reason.INADMISSIBLE, reserved)
    for kind in ("Preempted", "Evicted"):
        found = condition(workload, kind)
        if found is not None and holds(found):
            return _of_workload(Reason.QUOTA_PREEMPTED, found)
    return _of_workload(Reason.QUEUED_FOR_QUOTA, reserved or {}, since=since)


def _of_workload(reason: Reason, found: Json, *, since: datetime | None = None) -> Assessment:
    began = moment(found.get("lastTransitionTime")) or since
    return Assessment(state=State.WAITING, reason=reason, since=began, detail=str(found.get("message", "")))


def _active(*, job: Json, pods: Sequence[Json]) -> Assessment:
    found = [assess_pod(pod) for pod in pods]
    running = [one for one in found if one.state is State.RUNNING]
    if running:
        return Assessment(state=State.RUNNING, reason=Reason.RUNNING, since=running[0].since)
    for reason in _WORST_FIRST:
        waiting = [one for one in found if one.state is State.WAITING and one.reason is reason]
        if waiting:
            # The one that has waited for longest decides when patience ends.
            return min(waiting, key=lambda one: one.since or _EPOCH)
    # Not since it was created: a queue may have held it for hours before.
    started = moment(job.get("status", {}).get("startTime"))
    gone = [one for one in found if one.state in {State.FAILED, State.GONE}]
    if gone:
        # The cluster is about to replace it.
        last = max(gone, key=lambda one: one.since or _EPOCH)
        return Assessment(state=State.WAITING, reason=last.reason, since=last.since, detail=last.detail)
    if any(one.state is State.SUCCEEDED for one in found):
        return Assessment(state=State.SUCCEEDED, reason=Reason.FINISHED)
    return Assessment(state=State.WAITING, reason=Reason.NO_PODS, since=started)


def liveness_of(found: Assessment) -> Liveness:
    if found.state is State.RUNNING:
        return Liveness(alive=True)
    if found.state in {State.SUCCEEDED, State.FAILED} or found.reason in {Reason.DELETED, Reason.NODE_LOST}:
        return Liveness(alive=False, reason=found.short, disrupted=found.reason in DISRUPTIONS)
    # It waits, or is shutting down.
    return Liveness(alive=None, reason=found.short)
