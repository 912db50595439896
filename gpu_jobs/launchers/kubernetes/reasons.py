"""Reasons for the state of a worker pool or pod: a closed list with sentences. Pure.

The sentences are public and contain no image, node or address; those are in `Assessment.detail`, for the operator's
log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Any

Json = dict[str, Any]


class State(Enum):
    """State of a pool or pod."""

    WAITING = auto()
    """No worker runs, and the cluster is still trying."""
    RUNNING = auto()
    """A worker runs."""
    FAILED = auto()
    """Its worker has ended; the cluster starts another one."""
    GONE = auto()
    """It does not exist, or is being deleted."""


class Reason(StrEnum):
    """Machine-readable reason."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    NOT_INSTALLED = "not_installed"
    NOT_SCALED = "not_scaled"
    NO_PODS = "no_pods"
    POD_SECURITY = "pod_security"
    QUOTA_EXCEEDED = "quota_exceeded"
    IMAGE_NOT_PULLED = "image_not_pulled"
    CONTAINER_NOT_CREATED = "container_not_created"
    UNSCHEDULABLE = "unschedulable"
    QUEUED_FOR_QUOTA = "queued_for_quota"
    INADMISSIBLE = "inadmissible"
    QUOTA_PREEMPTED = "quota_preempted"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    NODE_SHUTDOWN = "node_shutdown"
    NODE_REFUSED = "node_refused"
    STOPPED = "stopped"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    CRASHED = "crashed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Texts of a reason."""

    sentence: str
    short: str
    """Why a worker is gone, as part of a sentence."""


_R = Reason

MEANINGS: Mapping[Reason, Meaning] = {
    _R.STARTING: Meaning(sentence="The worker is starting.", short="it has not started yet"),
    _R.RUNNING: Meaning(sentence="Workers are running.", short="it runs"),
    _R.STOPPING: Meaning(sentence="The worker is being stopped.", short="it is being stopped"),
    _R.NOT_INSTALLED: Meaning(
        sentence="The worker pool is not in the cluster; the operator has to install it.",
        short="its pool was removed from the cluster",
    ),
    _R.NOT_SCALED: Meaning(
        sentence="The worker pool has not been scaled up, although evaluations wait for it; the operator has to check "
        "its scaler.",
        short="its pool was scaled down",
    ),
    _R.NO_PODS: Meaning(
        sentence="The cluster has not created a worker: an admission rule may forbid it.",
        short="the cluster did not create it",
    ),
    _R.POD_SECURITY: Meaning(
        sentence="The cluster's security rules for pods forbid the worker; the operator has to correct its pool.",
        short="the cluster's security rules forbade it",
    ),
    _R.QUOTA_EXCEEDED: Meaning(
        sentence="The cluster's quota for workers is used up; the worker starts when others have ended.",
        short="a quota of the cluster was used up",
    ),
    _R.IMAGE_NOT_PULLED: Meaning(
        sentence="The worker's image cannot be pulled; the operator has to correct it or its registry's access.",
        short="its image could not be pulled",
    ),
    _R.CONTAINER_NOT_CREATED: Meaning(
        sentence="The worker's container cannot be created: something that it refers to, such as a secret, is missing.",
        short="its container could not be created",
    ),
    _R.UNSCHEDULABLE: Meaning(
        sentence="No machine of the cluster has room for the worker at present.", short="no machine had room for it"
    ),
    _R.QUEUED_FOR_QUOTA: Meaning(
        sentence="The worker waits in the cluster's queue for its share of the GPUs.", short="it waits for quota"
    ),
    _R.INADMISSIBLE: Meaning(
        sentence="The cluster's queue cannot admit the workers: the queue is missing or stopped, or its quota is too "
        "small for one worker.",
        short="the queue cannot admit it",
    ),
    _R.QUOTA_PREEMPTED: Meaning(
        sentence="The workers were preempted by others in the cluster's queue and wait to be admitted again.",
        short="it was preempted by others in the queue",
    ),
    _R.OUT_OF_MEMORY: Meaning(sentence="The worker needed more memory than it may use.", short="it ran out of memory"),
    _R.KILLED: Meaning(sentence="The worker was killed.", short="it was killed"),
    _R.EVICTED: Meaning(sentence="The worker was evicted from its machine.", short="it was evicted from its machine"),
    _R.PREEMPTED: Meaning(
        sentence="The worker was preempted by work of higher priority.",
        short="it was preempted by work of higher priority",
    ),
    _R.NODE_LOST: Meaning(sentence="The worker's machine was lost.", short="its machine was lost"),
    _R.NODE_SHUTDOWN: Meaning(sentence="The worker's machine was shut down.", short="its machine was shut down"),
    _R.NODE_REFUSED: Meaning(
        sentence="The machine that the worker was sent to could not take it.", short="its machine could not take it"
    ),
    _R.STOPPED: Meaning(sentence="The worker was stopped.", short="it was stopped"),
    _R.UNREACHABLE: Meaning(
        sentence="The worker could not reach the site from the cluster.", short="it could not reach the site"
    ),
    _R.REFUSED: Meaning(
        sentence="The worker does not match the site: their releases or their token differ. The operator has to "
        "correct this.",
        short="it does not match the site",
    ),
    _R.CRASHED: Meaning(sentence="The worker ended with an error.", short="it ended with an error"),
    _R.DELETED: Meaning(sentence="The worker was deleted in the cluster.", short="it was deleted in the cluster"),
}


DISRUPTIONS = frozenset(
    {
        Reason.QUOTA_PREEMPTED, Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST, Reason.NODE_SHUTDOWN,
        Reason.NODE_REFUSED, Reason.STOPPED, Reason.DELETED, Reason.UNREACHABLE, Reason.REFUSED,
    }
)  # fmt: skip
"""Ends of a worker by the cluster, its operators or the site, which its tasks cannot have caused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """State of a pool or pod, with the reason."""

    state: State
    reason: Reason
    since: datetime | None = None
    """Since when, if the cluster says."""
    detail: str = ""
    """The cluster's message, for the operator."""

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return MEANINGS[self.reason].sentence

    @property
    def short(self) -> str:
        """The reason as part of a sentence."""
        return MEANINGS[self.reason].short


def is_about_quota(message: str) -> bool:
    """Whether a message says that a ResourceQuota is used up. Kubernetes has no code for it: its admission plug-in
    responds 403 with these words, which tools such as Tekton match as well."""
    return "exceeded quota:" in message


def is_about_pod_security(message: str) -> bool:
    """Whether a message is from the PodSecurity admission, which has no code either."""
    return "violates PodSecurity" in message
