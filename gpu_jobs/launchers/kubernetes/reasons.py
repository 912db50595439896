"""Reasons for the state of a Job: a closed list with sentences and consequences. Pure.

The sentences are shown in public, so they name no image, node or address; those are in `Assessment.detail`, for the
operator's log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto


class State(Enum):
    """Where a Job stands."""

    WAITING = auto()
    """No pod runs yet, or none any more, and the cluster is still trying."""
    RUNNING = auto()
    """At least one worker runs."""
    SUCCEEDED = auto()
    """Its workers found nothing more to do."""
    FAILED = auto()
    """The cluster, or the launcher, has ended it."""
    GONE = auto()
    """It is not there, or is being deleted."""


class Patience(Enum):
    """How long a reason may last."""

    NONE = auto()
    """It is final or needs no patience."""
    START = auto()
    """It seldom heals by waiting."""
    PULL = auto()
    """Images of gigabytes are being pulled."""
    SCHEDULE = auto()
    """It heals when others are done. The Job is ended, so that it does not hold what it has of a queue's quota, and
    another one takes its place; however often that happens, the launch is not given up."""
    ANY = auto()
    """Whoever set it ends it."""


class Reason(StrEnum):
    """Machine-readable reason."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPING = "stopping"
    NO_PODS = "no_pods"
    QUOTA_EXCEEDED = "quota_exceeded"
    IMAGE_NOT_PULLED = "image_not_pulled"
    CONTAINER_NOT_CREATED = "container_not_created"
    UNSCHEDULABLE = "unschedulable"
    SUSPENDED = "suspended"
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
    BAD_SUBMISSION = "bad_submission"
    CRASHED = "crashed"
    DEADLINE = "deadline"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a reason says and what follows."""

    sentence: str
    short: str
    """The same as part of a sentence: why a worker is gone."""
    patience: Patience = Patience.NONE
    final: bool = False
    """A further Job would end the same way until somebody changes something."""


_R = Reason

MEANINGS: Mapping[Reason, Meaning] = {
    _R.STARTING: Meaning(
        sentence="The worker is starting.", short="it has not started yet", patience=Patience.PULL
    ),
    _R.RUNNING: Meaning(sentence="Workers are running.", short="it runs"),
    _R.FINISHED: Meaning(sentence="The workers found nothing more to do and ended.", short="it found no more work"),
    _R.STOPPING: Meaning(sentence="The worker is being stopped.", short="it is being stopped", patience=Patience.ANY),
    _R.NO_PODS: Meaning(
        sentence="The cluster has not created a worker: a quota or an admission rule may forbid it.",
        short="the cluster did not create it", patience=Patience.START,
    ),
    _R.QUOTA_EXCEEDED: Meaning(
        sentence="The cluster's quota for workers is used up; the worker starts when others have ended.",
        short="a quota of the cluster was used up", patience=Patience.ANY,
    ),
    _R.IMAGE_NOT_PULLED: Meaning(
        sentence="The worker's image cannot be pulled; the operator has to correct it or its registry's access.",
        short="its image could not be pulled", patience=Patience.START,
    ),
    _R.CONTAINER_NOT_CREATED: Meaning(
        sentence="The worker's container cannot be created: something that it refers to, such as a secret, is missing.",
        short="its container could not be created", patience=Patience.START,
    ),
    _R.UNSCHEDULABLE: Meaning(
        sentence="No machine of the cluster has room for the worker at present.",
        short="no machine had room for it", patience=Patience.SCHEDULE,
    ),
    _R.SUSPENDED: Meaning(
        sentence="The workers are suspended and wait to be admitted.", short="it was suspended", patience=Patience.ANY
    ),
    _R.QUEUED_FOR_QUOTA: Meaning(
        sentence="The evaluation waits in the cluster's queue for its share of the GPUs.",
        short="it waits for quota", patience=Patience.ANY,
    ),
    _R.INADMISSIBLE: Meaning(
        sentence="The cluster's queue cannot admit the workers: the queue is missing or stopped, or its quota is too "
        "small for one worker.",
        short="the queue cannot admit it", patience=Patience.ANY,
    ),
    _R.QUOTA_PREEMPTED: Meaning(
        sentence="The workers made way for others in the cluster's queue and wait to be admitted again.",
        short="it made way for others in the queue", patience=Patience.ANY,
    ),
    _R.OUT_OF_MEMORY: Meaning(sentence="The worker needed more memory than it may use.", short="it ran out of memory"),
    _R.KILLED: Meaning(sentence="The worker was killed.", short="it was killed"),
    _R.EVICTED: Meaning(sentence="The worker was evicted from its machine.", short="it was evicted from its machine"),
    _R.PREEMPTED: Meaning(
        sentence="The worker made way for work of higher priority.", short="it made way for work of higher priority"
    ),
    _R.NODE_LOST: Meaning(sentence="The worker's machine was lost.", short="its machine was lost"),
    _R.NODE_SHUTDOWN: Meaning(sentence="The worker's machine was shut down.", short="its machine was shut down"),
    _R.NODE_REFUSED: Meaning(
        sentence="The machine that the worker was sent to could not take it.", short="its machine could not take it"
    ),
    _R.STOPPED: Meaning(sentence="The worker was told to stop.", short="it was told to stop"),
    _R.UNREACHABLE: Meaning(
        sentence="The worker could not reach the site from the cluster.", short="it could not reach the site"
    ),
    _R.REFUSED: Meaning(
        sentence="The worker does not fit the site: their releases or their token differ. The operator has to correct "
        "this.",
        short="it does not fit the site", final=True,
    ),
    _R.BAD_SUBMISSION: Meaning(
        sentence="The worker found the submission unusable.", short="it found the submission unusable", final=True
    ),
    _R.CRASHED: Meaning(sentence="The worker ended with an error.", short="it ended with an error"),
    _R.DEADLINE: Meaning(
        sentence="The workers took longer than an evaluation may.", short="the time of its evaluation was over"
    ),
    _R.DELETED: Meaning(sentence="The workers were deleted in the cluster.", short="it was deleted in the cluster"),
}  # fmt: skip


DISRUPTIONS = frozenset(
    {
        Reason.QUOTA_PREEMPTED, Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST, Reason.NODE_SHUTDOWN,
        Reason.NODE_REFUSED, Reason.STOPPED, Reason.DELETED, Reason.DEADLINE, Reason.UNREACHABLE, Reason.REFUSED,
    }
)  # fmt: skip
"""Why the cluster, its operators or the site ended a worker; the tasks that it had cannot have caused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How a Job or a pod stands."""

    state: State
    reason: Reason
    since: datetime | None = None
    """When the reason began to hold, as far as the cluster says."""
    detail: str = ""
    """The cluster's own words, for the operator."""

    @property
    def sentence(self) -> str:
        """The reason for a person."""
        return MEANINGS[self.reason].sentence

    @property
    def short(self) -> str:
        """The reason as part of a sentence."""
        return MEANINGS[self.reason].short

    @property
    def final(self) -> bool:
        """Whether a further Job would end the same way."""
        return self.state is State.FAILED and MEANINGS[self.reason].final


def is_about_quota(message: str) -> bool:
    """Whether the cluster's words say that a ResourceQuota is used up. Kubernetes has no code of its own for it: its
    admission plug-in answers 403 with these words, and tools like Tekton look for the same."""
    return "exceeded quota:" in message
