"""What statuses mean."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpu_jobs.launchers.kubernetes.fleet import assess
from gpu_jobs.launchers.kubernetes.pods import assess_pod
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Reason, State

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


def waiting(reason):
    return pod(**container("waiting", reason=reason))


def ended(code, *, phase="Failed", reason="Error"):
    return pod(phase, **container("terminated", exitCode=code, reason=reason))


def disrupted(reason, *, phase="Failed"):
    return pod(phase, **conditions({"type": "DisruptionTarget", "reason": reason}))


PODS = {
    (State.WAITING, Reason.STARTING): [pod(), waiting("ContainerCreating")],
    (State.WAITING, Reason.IMAGE_NOT_PULLED): [
        waiting("ErrImagePull"), waiting("ImagePullBackOff"), waiting("InvalidImageName")
    ],
    (State.WAITING, Reason.CONTAINER_NOT_CREATED): [waiting("CreateContainerConfigError")],
    (State.WAITING, Reason.UNSCHEDULABLE): [pod(**UNSCHEDULABLE)],
    (State.WAITING, Reason.QUEUED_FOR_QUOTA): [pod(**GATED)],
    (State.WAITING, Reason.NODE_LOST): [pod("Unknown")],
    (State.RUNNING, Reason.RUNNING): [
        pod("Running", startTime=T0), pod("Running", **container("running", startedAt=T0))
    ],
    (State.GONE, Reason.STOPPING): [pod("Running", deleted=True)],
    (State.GONE, Reason.NODE_LOST): [disrupted("DeletionByTaintManager", phase="Running")],
    (State.FAILED, Reason.STOPPED): [pod("Succeeded"), pod("Running", **crashing(0)), ended(143)],
    (State.FAILED, Reason.REFUSED): [pod("Running", **crashing(10)), ended(2), ended(12)],
    (State.FAILED, Reason.UNREACHABLE): [ended(20, phase="Running"), ended(20)],
    (State.FAILED, Reason.OUT_OF_MEMORY): [
        pod("Running", **crashing(137, reason="OOMKilled")), ended(137, reason="OOMKilled")
    ],
    (State.FAILED, Reason.KILLED): [ended(137)],
    (State.FAILED, Reason.CRASHED): [
        pod("Failed"), ended(1), ended(13), ended(99), pod(**crashing(1, kind="initContainerStatuses"))
    ],
    (State.FAILED, Reason.CONTAINER_NOT_CREATED): [ended(128, reason="StartError")],
    (State.FAILED, Reason.EVICTED): [
        pod("Failed", reason="Evicted", message="low on memory"), disrupted("TerminationByKubelet")
    ],
    (State.FAILED, Reason.NODE_REFUSED): [pod("Failed", reason="OutOfcpu")],
    (State.FAILED, Reason.NODE_SHUTDOWN): [pod("Failed", reason="NodeShutdown")],
    (State.FAILED, Reason.PREEMPTED): [disrupted("PreemptionByScheduler")],
}  # fmt: skip


def test_pods():
    assessed = [(expected, assess_pod(given), given) for expected, pods in PODS.items() for given in pods]
    assert [one for one in assessed if (one[1].state, one[1].reason) != one[0]] == []


def deployment(*found, replicas=1):
    return {"metadata": {"name": "d"}, "spec": {"replicas": replicas}, "status": conditions(*found)}


def refused(message):
    return {"type": "ReplicaFailure", "reason": "FailedCreate", "message": message}


GONE = disrupted("DeletionByTaintManager")
KILLED = pod("Running", **crashing(137, reason="OOMKilled"))
POOLS = {
    (State.GONE, Reason.NOT_INSTALLED): [assess(deployment=None)],
    (State.WAITING, Reason.NOT_SCALED): [assess(deployment=deployment(replicas=0))],
    (State.WAITING, Reason.STARTING): [
        assess(deployment=deployment()), assess(deployment=deployment(), pods=[GONE]),
        assess(deployment=deployment(refused("x") | {"status": "False"})),
    ],
    (State.RUNNING, Reason.RUNNING): [
        assess(deployment=deployment(), pods=[pod(), pod("Running")]),
        assess(deployment=deployment(replicas=0), pods=[pod("Running")]),
        assess(deployment=deployment(), pods=[GONE, pod("Running")]),
        assess(deployment=deployment(refused("x")), pods=[pod("Running")]),
    ],
    (State.WAITING, Reason.UNSCHEDULABLE): [assess(deployment=deployment(), pods=[pod(), pod(**UNSCHEDULABLE)])],
    (State.FAILED, Reason.OUT_OF_MEMORY): [assess(deployment=deployment(), pods=[pod(**UNSCHEDULABLE), KILLED])],
    (State.WAITING, Reason.QUOTA_EXCEEDED): [assess(deployment=deployment(refused("exceeded quota: q")))],
    (State.WAITING, Reason.POD_SECURITY): [assess(deployment=deployment(refused('violates PodSecurity "r"')))],
    (State.WAITING, Reason.NO_PODS): [assess(deployment=deployment(refused("denied the request")))],
}  # fmt: skip


def test_pools():
    assessed = [(expected, found) for expected, pools in POOLS.items() for found in pools]
    assert [one for one in assessed if (one[1].state, one[1].reason) != one[0]] == []


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
    manual = Path("docs/install.md").read_text()
    assert set(MEANINGS) == set(Reason)
    for reason, meaning in MEANINGS.items():
        assert meaning.sentence.endswith("."), reason
        assert not meaning.short.endswith("."), reason
        assert f"`{reason.value}`" in manual, reason
