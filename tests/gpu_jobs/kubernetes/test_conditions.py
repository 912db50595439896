"""What statuses mean."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpu_jobs.launchers.kubernetes import MEANINGS, Reason, State
from gpu_jobs.launchers.kubernetes.conditions import assess
from gpu_jobs.launchers.kubernetes.pods import assess_pod

T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


def pod(phase="Pending", *, deleted=False, **status):
    metadata = {"name": "p", "creationTimestamp": T0, **({"deletionTimestamp": T1} if deleted else {})}
    return {"metadata": metadata, "status": {"phase": phase, **status}}


def container(kind, **state):
    return {"containerStatuses": [{"name": "worker", "state": {kind: state}}]}


def conditions(*found):
    return {"conditions": [{"status": "True", "lastTransitionTime": T1, **one} for one in found]}


def job(*found, suspend=False, annotations=None, deleted=False):
    metadata = {"name": "j", "uid": "u", "creationTimestamp": T0, "annotations": annotations or {}}
    if deleted:
        metadata["deletionTimestamp"] = T1
    return {"metadata": metadata, "spec": {"suspend": suspend}, "status": {"startTime": T0, **conditions(*found)}}


UNSCHEDULABLE = conditions({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"})
GATED = conditions({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"})


@pytest.mark.parametrize(
    ("given", "state", "reason"),
    [
        (pod(), State.WAITING, Reason.STARTING),
        (pod(**container("waiting", reason="ContainerCreating")), State.WAITING, Reason.STARTING),
        (pod(**container("waiting", reason="ErrImagePull")), State.WAITING, Reason.IMAGE_NOT_PULLED),
        (pod(**container("waiting", reason="ImagePullBackOff")), State.WAITING, Reason.IMAGE_NOT_PULLED),
        (pod(**container("waiting", reason="InvalidImageName")), State.WAITING, Reason.IMAGE_NOT_PULLED),
        (
            pod(**container("waiting", reason="CreateContainerConfigError")),
            State.WAITING,
            Reason.CONTAINER_NOT_CREATED,
        ),
        (pod(**UNSCHEDULABLE), State.WAITING, Reason.UNSCHEDULABLE),
        (pod(**GATED), State.WAITING, Reason.QUEUED_FOR_QUOTA),
        (pod("Running", startTime=T0), State.RUNNING, Reason.RUNNING),
        (pod("Running", deleted=True), State.GONE, Reason.STOPPING),
        (pod("Unknown"), State.WAITING, Reason.NODE_LOST),
        (pod("Succeeded"), State.SUCCEEDED, Reason.FINISHED),
        (
            pod("Failed", **container("terminated", exitCode=137, reason="OOMKilled")),
            State.FAILED,
            Reason.OUT_OF_MEMORY,
        ),
        (pod("Failed", **container("terminated", exitCode=137, reason="Error")), State.FAILED, Reason.KILLED),
        (pod("Failed", **container("terminated", exitCode=143, reason="Error")), State.FAILED, Reason.STOPPED),
        (pod("Failed", **container("terminated", exitCode=20, reason="Error")), State.FAILED, Reason.UNREACHABLE),
        (pod("Failed", **container("terminated", exitCode=2, reason="Error")), State.FAILED, Reason.REFUSED),
        (pod("Failed", **container("terminated", exitCode=1, reason="Error")), State.FAILED, Reason.CRASHED),
        (pod("Failed", **container("terminated", exitCode=12, reason="Error")), State.FAILED, Reason.REFUSED),
        (pod("Failed", **container("terminated", exitCode=13, reason="Error")), State.FAILED, Reason.BAD_SUBMISSION),
        (pod("Failed", **container("terminated", exitCode=99, reason="Error")), State.FAILED, Reason.CRASHED),
        (
            pod("Failed", **container("terminated", exitCode=128, reason="StartError")),
            State.FAILED,
            Reason.CONTAINER_NOT_CREATED,
        ),
        (pod("Failed", reason="Evicted", message="low on memory"), State.FAILED, Reason.EVICTED),
        (pod("Failed", reason="OutOfcpu"), State.FAILED, Reason.NODE_REFUSED),
        (pod("Failed", reason="NodeShutdown"), State.FAILED, Reason.NODE_SHUTDOWN),
        (pod("Failed"), State.FAILED, Reason.CRASHED),
        (
            pod("Failed", **conditions({"type": "DisruptionTarget", "reason": "PreemptionByScheduler"})),
            State.FAILED,
            Reason.PREEMPTED,
        ),
        (
            pod("Running", **conditions({"type": "DisruptionTarget", "reason": "DeletionByTaintManager"})),
            State.GONE,
            Reason.NODE_LOST,
        ),
        (
            pod("Failed", **conditions({"type": "DisruptionTarget", "reason": "TerminationByKubelet"})),
            State.FAILED,
            Reason.EVICTED,
        ),
    ],
)
def test_pods(given, state, reason):
    found = assess_pod(given)
    assert (found.state, found.reason) == (state, reason)


def workload(kind, status, reason):
    return {"status": conditions({"type": kind, "status": status, "reason": reason, "message": "m"})}


@pytest.mark.parametrize(
    ("found", "state", "reason"),
    [
        (assess(job=None), State.GONE, Reason.DELETED),
        (assess(job=job(deleted=True)), State.GONE, Reason.DELETED),
        (assess(job=job()), State.WAITING, Reason.NO_PODS),
        (assess(job=job(), pods=[pod(), pod("Running")]), State.RUNNING, Reason.RUNNING),
        (assess(job=job(), pods=[pod(), pod(**UNSCHEDULABLE)]), State.WAITING, Reason.UNSCHEDULABLE),
        (assess(job=job(), pods=[pod("Succeeded")]), State.SUCCEEDED, Reason.FINISHED),
        (
            assess(job=job(), pods=[pod("Failed", **container("terminated", exitCode=137, reason="OOMKilled"))]),
            State.WAITING,
            Reason.OUT_OF_MEMORY,
        ),
        (assess(job=job({"type": "Complete"})), State.SUCCEEDED, Reason.FINISHED),
        (assess(job=job({"type": "Failed", "reason": "DeadlineExceeded"})), State.FAILED, Reason.DEADLINE),
        (
            assess(
                job=job(
                    {
                        "type": "FailureTarget",
                        "reason": "PodFailurePolicy",
                        "message": "... failed with exit code 2 ...",
                    }
                )
            ),
            State.FAILED,
            Reason.REFUSED,
        ),
        (
            assess(
                job=job({"type": "Failed", "reason": "BackoffLimitExceeded"}),
                pods=[pod("Failed", **container("terminated", exitCode=137, reason="OOMKilled", finishedAt=T0))],
            ),
            State.FAILED,
            Reason.OUT_OF_MEMORY,
        ),
        (assess(job=job({"type": "Failed", "reason": "BackoffLimitExceeded"})), State.FAILED, Reason.CRASHED),
        (
            assess(
                job=job(
                    {"type": "Failed", "reason": "DeadlineExceeded"},
                    annotations={"planarena.io/ended-because": "image_not_pulled"},
                )
            ),
            State.FAILED,
            Reason.IMAGE_NOT_PULLED,
        ),
        (assess(job=job(suspend=True)), State.WAITING, Reason.SUSPENDED),
        (
            assess(job=job(suspend=True), workload=workload("QuotaReserved", "False", "Inadmissible")),
            State.WAITING,
            Reason.INADMISSIBLE,
        ),
        (
            assess(job=job(suspend=True), workload=workload("QuotaReserved", "False", "Pending")),
            State.WAITING,
            Reason.QUEUED_FOR_QUOTA,
        ),
        (
            assess(job=job(suspend=True), workload=workload("Evicted", "True", "Preempted")),
            State.WAITING,
            Reason.QUOTA_PREEMPTED,
        ),
    ],
)
def test_jobs(found, state, reason):
    assert (found.state, found.reason) == (state, reason)


def test_what_is_waited_for_has_a_beginning():
    found = assess(job=job(), pods=[pod(**UNSCHEDULABLE)])
    assert found.since == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert found.detail == "0/3"


def test_every_reason_has_a_sentence_and_is_explained_to_operators():
    manual = Path("docs/operating.md").read_text()
    assert set(MEANINGS) == set(Reason)
    for reason, meaning in MEANINGS.items():
        assert meaning.sentence.endswith("."), reason
        assert not meaning.short.endswith("."), reason
        assert f"`{reason.value}`" in manual, reason
