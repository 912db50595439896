"""Interprets the status of pods. Pure: JSON in, `Assessment` out."""

from collections.abc import Iterator
from datetime import datetime

from gpu_jobs.exits import REFUSED, Exit
from gpu_jobs.launchers.kubernetes.reasons import Assessment, Json, Reason, State
from gpu_jobs.launchers.kubernetes.settings import CONTAINER

_DISRUPTIONS = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "DeletionByTaintManager": Reason.NODE_LOST,
    "DeletionByPodGC": Reason.NODE_LOST,
    "EvictionByEvictionAPI": Reason.EVICTED,
    "TerminationByKubelet": Reason.EVICTED,
}
_POD_REASONS = {
    "Evicted": Reason.EVICTED,
    "Preempting": Reason.PREEMPTED,
    "NodeLost": Reason.NODE_LOST,
    "NodeShutdown": Reason.NODE_SHUTDOWN,
    "Shutdown": Reason.NODE_SHUTDOWN,
    "Terminated": Reason.NODE_SHUTDOWN,
    "UnexpectedAdmissionError": Reason.NODE_REFUSED,
    "NodeAffinity": Reason.NODE_REFUSED,
    "TopologyAffinityError": Reason.NODE_REFUSED,
}
_IMAGE = frozenset({
    "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
    "RegistryUnavailable", "SignatureValidationFailed",
})  # fmt: skip
_CONTAINER = frozenset({
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError",
    "StartError", "ContainerCannotRun",
})  # fmt: skip
_STOPPED_BY_KUEUE = "TerminationTarget"
"""Condition of a pod that Kueue is about to delete, for example after preemption."""
_BACKOFF = frozenset({"CrashLoopBackOff"})
_KILLED_EXIT = 137


def assess_pod(pod: Json) -> Assessment:
    """State of a pod."""
    phase = str(pod.get("status", {}).get("phase", "Pending"))
    if disrupted := _disruption(pod):
        # Before the phase: a pod of a lost node stays "Running".
        return disrupted
    if phase in {"Failed", "Succeeded"}:
        return _failure(pod)
    if phase == "Unknown":
        return Assessment(state=State.WAITING, reason=Reason.NODE_LOST, detail=_message(pod))
    if pod.get("metadata", {}).get("deletionTimestamp"):
        return Assessment(state=State.GONE, reason=Reason.STOPPING, since=moment(pod["metadata"]["deletionTimestamp"]))
    return _running(pod) if phase == "Running" else _pending(pod)


def restarted(pod: Json) -> tuple[datetime, Assessment] | None:
    """When the worker of a running pod was restarted, and how the previous one had ended; None if it was not
    restarted."""
    for status in _workers(pod):
        started = moment(status.get("state", {}).get("running", {}).get("startedAt"))
        ended = status.get("lastState", {}).get("terminated")
        if started is not None and ended:
            return started, _of_ended(ended)
    return None


def exit_reason(code: int) -> Reason:
    """Meaning of a worker's exit code."""
    if code in REFUSED:
        return Reason.REFUSED
    return {
        Exit.IDLE.value: Reason.STOPPED,
        Exit.UNREACHABLE.value: Reason.UNREACHABLE,
        Exit.TERMINATED.value: Reason.STOPPED,
        Exit.ENROLMENT_EXPIRED.value: Reason.STOPPED,
        _KILLED_EXIT: Reason.KILLED,
    }.get(code, Reason.CRASHED)


def moment(text: object) -> datetime | None:
    """A timestamp of Kubernetes."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def condition(resource: Json, kind: str) -> Json | None:
    """The condition of this type, whatever its status."""
    conditions = resource.get("status", {}).get("conditions") or []
    return next((item for item in conditions if item.get("type") == kind), None)


def holds(item: Json | None) -> bool:
    """Whether a condition exists and is true."""
    return item is not None and item.get("status") == "True"


def _disruption(pod: Json) -> Assessment | None:
    stopped = condition(pod, _STOPPED_BY_KUEUE)
    if stopped is not None and holds(stopped):
        detail = str(stopped.get("message", ""))
        return Assessment(state=State.GONE, reason=Reason.QUOTA_PREEMPTED, detail=detail)
    disrupted = condition(pod, "DisruptionTarget")
    if disrupted is None or not holds(disrupted):
        return None
    reason = _DISRUPTIONS.get(str(disrupted.get("reason")), Reason.EVICTED)
    state = State.FAILED if pod.get("status", {}).get("phase") == "Failed" else State.GONE
    since = moment(disrupted.get("lastTransitionTime"))
    return Assessment(state=state, reason=reason, since=since, detail=str(disrupted.get("message", "")))


def _failure(pod: Json) -> Assessment:
    """Why a pod has failed: the container's reason before the pod's."""
    pod_reason = str(pod.get("status", {}).get("reason", ""))
    if pod_reason in _POD_REASONS or pod_reason.startswith("OutOf"):
        reason = _POD_REASONS.get(pod_reason, Reason.NODE_REFUSED)
        return Assessment(state=State.FAILED, reason=reason, detail=_message(pod))
    for ended in _states(pod, "terminated"):
        if ended.get("exitCode", 0) != 0 or ended.get("reason") == "OOMKilled":
            return _of_ended(ended)
    if pod.get("status", {}).get("phase") == "Succeeded":
        return Assessment(state=State.FAILED, reason=Reason.STOPPED)
    return Assessment(state=State.FAILED, reason=Reason.CRASHED, detail=f"{pod_reason}: {_message(pod)}")


def _of_ended(ended: Json) -> Assessment:
    if ended.get("reason") == "OOMKilled":
        reason = Reason.OUT_OF_MEMORY
    elif ended.get("reason") in _CONTAINER:
        reason = Reason.CONTAINER_NOT_CREATED
    else:
        reason = exit_reason(int(ended.get("exitCode", 1)))
    return Assessment(
        state=State.FAILED,
        reason=reason,
        since=moment(ended.get("finishedAt")),
        detail=f"exit code {ended.get('exitCode')}: {str(ended.get('message', '')).strip()[-500:]}",
    )


def _running(pod: Json) -> Assessment:
    if pod.get("status", {}).get("reason") == "NodeLost":
        return Assessment(state=State.WAITING, reason=Reason.NODE_LOST, detail=_message(pod))
    # The phase stays while the worker's container waits for its restart.
    if ended := next((end for status in _workers(pod) if (end := _last_end(status))), None):
        return _of_ended(ended)
    since = moment(pod.get("status", {}).get("startTime"))
    return Assessment(state=State.RUNNING, reason=Reason.RUNNING, since=since)


def _workers(pod: Json) -> list[Json]:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return [status for status in statuses if status.get("name") == CONTAINER]


def _last_end(status: Json) -> Json | None:
    """The last end of a container that does not run."""
    state = status.get("state", {})
    ended: Json | None = (status.get("lastState", {}) if "waiting" in state else state).get("terminated")
    return ended


def _pending(pod: Json) -> Assessment:
    scheduled = condition(pod, "PodScheduled")
    since = moment((scheduled or {}).get("lastTransitionTime")) or moment(pod["metadata"].get("creationTimestamp"))
    for status in pod.get("status", {}).get("initContainerStatuses") or []:
        # The model server beside the worker, without which the worker does not start.
        if status.get("state", {}).get("waiting", {}).get("reason") in _BACKOFF and (ended := _last_end(status)):
            return _of_ended(ended)
    for waiting in _states(pod, "waiting"):
        cause, detail = str(waiting.get("reason", "")), f"{waiting.get('reason')}: {waiting.get('message', '')}"
        if cause in _IMAGE:
            return Assessment(state=State.WAITING, reason=Reason.IMAGE_NOT_PULLED, since=since, detail=detail)
        if cause in _CONTAINER:
            return Assessment(state=State.WAITING, reason=Reason.CONTAINER_NOT_CREATED, since=since, detail=detail)
    if scheduled is not None and scheduled.get("status") == "False":
        gated = scheduled.get("reason") == "SchedulingGated"
        reason = Reason.QUEUED_FOR_QUOTA if gated else Reason.UNSCHEDULABLE
        detail = str(scheduled.get("message", ""))
        return Assessment(state=State.WAITING, reason=reason, since=since, detail=detail)
    return Assessment(state=State.WAITING, reason=Reason.STARTING, since=since)


def _states(pod: Json, kind: str) -> Iterator[Json]:
    status = pod.get("status", {})
    # The worker first: the model server beside it, an init container, is stopped with it.
    for container in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        if state := container.get("state", {}).get(kind):
            yield state


def _message(pod: Json) -> str:
    return str(pod.get("status", {}).get("message", ""))
