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


def crashing(code, *, kind="containerStatuses", **ended):
    """A container that has ended and waits to be started again."""
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    return {kind: [{"name": "worker", "state": state, "lastState": {"terminated": {"exitCode": code, **ended}}}]}


def conditions(*found):
    return {"conditions": [{"status": "True", "lastTransitionTime": T1, **one} for one in found]}


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
        (pod("Succeeded"), State.FAILED, Reason.STOPPED),
        (pod("Running", **crashing(10)), State.FAILED, Reason.REFUSED),
        (pod("Running", **crashing(137, reason="OOMKilled")), State.FAILED, Reason.OUT_OF_MEMORY),
        (pod("Running", **crashing(0)), State.FAILED, Reason.STOPPED),
        (pod("Running", **container("terminated", exitCode=20)), State.FAILED, Reason.UNREACHABLE),
        (pod("Running", **container("running", startedAt=T0)), State.RUNNING, Reason.RUNNING),
        (pod(**crashing(1, kind="initContainerStatuses")), State.FAILED, Reason.CRASHED),
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
        (pod("Failed", **container("terminated", exitCode=13, reason="Error")), State.FAILED, Reason.CRASHED),
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


def deployment(*found, replicas=1):
    return {"metadata": {"name": "d"}, "spec": {"replicas": replicas}, "status": conditions(*found)}


def refused(message):
    return {"type": "ReplicaFailure", "reason": "FailedCreate", "message": message}


GONE = pod("Failed", **conditions({"type": "DisruptionTarget", "reason": "DeletionByTaintManager"}))
KILLED = pod("Running", **crashing(137, reason="OOMKilled"))


@pytest.mark.parametrize(
    ("found", "state", "reason"),
    [
        (assess(deployment=None), State.GONE, Reason.NOT_INSTALLED),
        (assess(deployment=deployment(replicas=0)), State.WAITING, Reason.NOT_SCALED),
        (assess(deployment=deployment()), State.WAITING, Reason.STARTING),
        (assess(deployment=deployment(), pods=[pod(), pod("Running")]), State.RUNNING, Reason.RUNNING),
        (assess(deployment=deployment(replicas=0), pods=[pod("Running")]), State.RUNNING, Reason.RUNNING),
        (assess(deployment=deployment(), pods=[pod(), pod(**UNSCHEDULABLE)]), State.WAITING, Reason.UNSCHEDULABLE),
        (assess(deployment=deployment(), pods=[pod(**UNSCHEDULABLE), KILLED]), State.FAILED, Reason.OUT_OF_MEMORY),
        (assess(deployment=deployment(), pods=[GONE]), State.WAITING, Reason.STARTING),
        (assess(deployment=deployment(), pods=[GONE, pod("Running")]), State.RUNNING, Reason.RUNNING),
        (assess(deployment=deployment(refused("exceeded quota: q"))), State.WAITING, Reason.QUOTA_EXCEEDED),
        (assess(deployment=deployment(refused('violates PodSecurity "r"'))), State.WAITING, Reason.POD_SECURITY),
        (assess(deployment=deployment(refused("denied the request"))), State.WAITING, Reason.NO_PODS),
        (assess(deployment=deployment(refused("x")), pods=[pod("Running")]), State.RUNNING, Reason.RUNNING),
        (assess(deployment=deployment(refused("x") | {"status": "False"})), State.WAITING, Reason.STARTING),
    ],
)
def test_pools(found, state, reason):
    assert (found.state, found.reason) == (state, reason)


@pytest.mark.parametrize("link", ["label", "owner"])
def test_a_held_pod_is_explained_by_its_own_workload(link):
    held = pod(**GATED)
    held["metadata"]["uid"] = "u1"
    workloads = []
    for uid, why in (("u2", "Inadmissible"), ("u1", "Pending")):
        named = {"label": {"labels": {"kueue.x-k8s.io/job-uid": uid}}, "owner": {"ownerReferences": [{"uid": uid}]}}
        reserved = conditions({"type": "QuotaReserved", "status": "False", "reason": why, "message": uid})
        workloads.append({"metadata": named[link], "status": reserved})
    found = assess(deployment=deployment(), pods=[held], workloads=workloads)
    assert (found.reason, found.detail) == (Reason.QUEUED_FOR_QUOTA, "u1")


def test_what_is_waited_for_has_a_beginning():
    found = assess(deployment=deployment(), pods=[pod(**UNSCHEDULABLE)])
    assert found.since == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert found.detail == "0/3"


def test_every_reason_has_a_sentence_and_is_explained_to_operators():
    manual = Path("docs/operating.md").read_text()
    assert set(MEANINGS) == set(Reason)
    for reason, meaning in MEANINGS.items():
        assert meaning.sentence.endswith("."), reason
        assert not meaning.short.endswith("."), reason
        assert f"`{reason.value}`" in manual, reason
