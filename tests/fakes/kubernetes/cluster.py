"""What a cluster does with worker pools, as far as the launcher depends on it: Deployments become pods if PodSecurity
admits them, Kueue holds pods at a gate, KEDA scales, and a test decides the fate of each pod. Time is the
test's own."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.kubernetes.admission import not_restricted
from tests.fakes.kubernetes.api import FakeKubernetesApi, merge_patch

Json = dict[str, Any]
Fate = Callable[["FakeCluster", Json], None]
"""Decides about a pod that is not ended yet; called once per tick."""
COST = "controller.kubernetes.io/pod-deletion-cost"
_QUEUE = "kueue.x-k8s.io/queue-name"
_DOWN_AFTER = timedelta(minutes=5)
_GATE = {"name": "kueue.x-k8s.io/admission"}


class FakeCluster:
    """Turns Deployments into pods, tick by tick."""

    def __init__(self, api: FakeKubernetesApi, *, fate: Fate | None = None) -> None:
        self.api = api
        self.fate: Fate = fate or starts
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.admits: Callable[[Json], bool] = lambda _: True
        """Whether Kueue admits a pod that it holds."""
        self.controllers: list[Callable[[], None]] = []
        """Others that look at every tick, such as KEDA."""
        self._pods = 0

    def later(self, seconds: float, *, ticks: int = 1) -> None:
        """Let time pass."""
        for _ in range(ticks):
            self.now += timedelta(seconds=seconds / ticks)
            self.tick()

    def tick(self) -> None:
        """Every controller looks once."""
        for pod in self.api.all("pods"):
            if pod["metadata"].get("deletionTimestamp"):
                self.api.remove("pods", pod["metadata"]["name"])
        for look in self.controllers:
            look()
        for deployment in self.api.all("deployments"):
            self._sync(deployment)
        for pod in self.api.all("pods"):
            if pod["spec"].get("schedulingGates"):
                self._admit(pod)
            elif _phase(pod) in {"Pending", "Running"} and not pod["metadata"].get("deletionTimestamp"):
                self.fate(self, pod)

    @property
    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def pods(self) -> list[Json]:
        """Those that have not ended."""
        return [pod for pod in self.api.all("pods") if _phase(pod) in {"Pending", "Running"}]

    def running(self) -> list[str]:
        """The names of the pods that run."""
        return [pod["metadata"]["name"] for pod in self.pods() if _phase(pod) == "Running"]

    def scale(self, name: str, replicas: int) -> None:
        """Change a Deployment's replicas, as its scaler does."""
        deployment = self.api.get("deployments", name)
        assert deployment is not None
        self.api.put("deployments", merge_patch(deployment, {"spec": {"replicas": replicas}}))

    def update(self, pod: Json, **status: Any) -> None:
        """Change a pod's status; `conditions` are added to those that it has."""
        pod["status"] = {**pod.setdefault("status", {}), **status, "conditions": self._conditions(pod, status)}
        self.api.put("pods", pod)

    def _conditions(self, item: Json, status: Json) -> list[Json]:
        given = status.get("conditions", [])
        added = [{"status": "True", "lastTransitionTime": self.stamp, **one} for one in given]
        before = item.get("status", {}).get("conditions", [])
        return [*(one for one in before if one["type"] not in {new["type"] for new in added}), *added]

    def _sync(self, deployment: Json) -> None:
        """One look of the controllers of Deployments and ReplicaSets."""
        name, wanted = deployment["metadata"]["name"], int(deployment["spec"].get("replicas", 1))
        own = [pod for pod in self.pods() if _owner(pod) == name and not pod["metadata"].get("deletionTimestamp")]
        refused = ""
        for _ in range(wanted - len(own)):
            refused = refused or self._create_pod(deployment)
        for pod in sorted(own, key=_rank)[: max(0, len(own) - wanted)]:
            self.api.put("pods", merge_patch(pod, {"metadata": {"deletionTimestamp": self.stamp}}))
        failure = {"type": "ReplicaFailure", "status": str(bool(refused)), "reason": "FailedCreate", "message": refused}
        conditions = self._conditions(deployment, {"conditions": [failure]})
        if refused != _said(deployment):
            deployment["status"] = {**deployment.get("status", {}), "conditions": conditions}
            self.api.put("deployments", deployment)

    def _create_pod(self, deployment: Json) -> str:
        """Why a pod is not admitted, in the server's words; empty if it was created."""
        self._pods += 1
        template, owner = deployment["spec"]["template"], deployment["metadata"]["name"]
        name = f"{owner}-5d8f7c9b6d-{self._pods:05d}"
        metadata = {
            "name": name, "labels": {**template["metadata"]["labels"], "pod-template-hash": "5d8f7c9b6d"},
            "annotations": dict(template["metadata"].get("annotations", {})), "creationTimestamp": self.stamp,
            "ownerReferences": [{"kind": "ReplicaSet", "name": f"{owner}-5d8f7c9b6d"}],
        }  # fmt: skip
        pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template["spec"]),
                     "status": {"phase": "Pending"}}  # fmt: skip
        if violations := ", ".join(not_restricted(pod["spec"])):
            return f'pods "{name}" is forbidden: violates PodSecurity "restricted:latest": {violations}'
        if _QUEUE in metadata["labels"]:
            pod["spec"]["schedulingGates"] = [_GATE]
            self._hold(pod)
        else:
            self.api.put("pods", pod)
        return ""

    def _hold(self, pod: Json) -> None:
        """What Kueue's pod integration does: a gate, and a Workload that the pod owns."""
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        pod["status"]["conditions"] = self._conditions(pod, {"conditions": [gated]})
        kept = self.api.put("pods", pod)
        pending = {"type": "QuotaReserved", "status": "False", "reason": "Pending",
                   "message": "couldn't assign flavors to pod set main: insufficient unused quota"}  # fmt: skip
        self.api.put("workloads", {
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": f"pod-{pod['metadata']['name']}",
                         "ownerReferences": [{"kind": "Pod", "name": pod["metadata"]["name"],
                                              "uid": kept["metadata"]["uid"]}]},
            "status": {"conditions": [pending]},
        })  # fmt: skip

    def _admit(self, pod: Json) -> None:
        if self.admits(pod):
            del pod["spec"]["schedulingGates"]
            self.update(pod, conditions=[{"type": "PodScheduled", "status": "True"}])


class FakeKeda:
    """ScaledObjects with one trigger (`metrics-api`, `prometheus`) change Deployments' replicas at every tick.

    Active while the value is above 0: then as many replicas as the value divided by the target, and down only after
    the HPA's five minutes; inactive: to the minimum after the cool-down period. A value that cannot be read changes
    nothing.
    """

    def __init__(self, cluster: FakeCluster, *, fetch: Callable[[str], Json]) -> None:
        """Args:
        cluster: whose Deployments it scales.
        fetch: the JSON at a URL; raises OSError.
        """
        self._cluster = cluster
        self._fetch = fetch
        self._wanted: dict[str, list[tuple[datetime, int]]] = {}
        cluster.controllers.append(self.look)

    def look(self) -> None:
        """Poll once for each ScaledObject."""
        for scaled in self._cluster.api.all("scaledobjects"):
            self._scale(scaled)

    def _scale(self, scaled: Json) -> None:
        spec = scaled["spec"]
        (trigger,) = spec["triggers"]
        metadata = trigger["metadata"]
        # A query's sum is taken for the field of a document at the server's address.
        place, field, target = {
            "metrics-api": ("url", "valueLocation", "targetValue"),
            "prometheus": ("serverAddress", "query", "threshold"),
        }[trigger["type"]]
        try:
            value = float(self._fetch(metadata[place])[metadata[field]])
        except OSError as error:
            self._say(scaled, ready=False, message=f"error fetching metrics: {error}")
            return
        self._say(scaled, ready=True, message="ScaledObject is defined correctly and is ready for scaling")
        least, most = spec.get("minReplicaCount", 0), 100
        wanted = min(spec.get("maxReplicaCount", most), max(least, math.ceil(value / float(metadata[target]))))
        name, now = spec["scaleTargetRef"]["name"], self._cluster.now
        after = _DOWN_AFTER if wanted else timedelta(seconds=spec.get("cooldownPeriod", 300))
        recent = [(at, count) for at, count in self._wanted.get(name, []) if now - at < after]
        self._wanted[name] = [*recent, (now, wanted)]
        # Never less than was wanted a moment ago.
        self._cluster.scale(name, max(count for _, count in self._wanted[name]))

    def _say(self, scaled: Json, *, ready: bool, message: str) -> None:
        condition = {"type": "Ready", "status": str(ready), "message": message}
        self._cluster.api.put("scaledobjects", {**scaled, "status": {"conditions": [condition]}})


def starts(cluster: FakeCluster, pod: Json) -> None:
    """It runs, and goes on running."""
    statuses = pod["status"].get("containerStatuses", [])
    if not any("running" in status["state"] for status in statuses):
        status = {"name": "worker", "restartCount": 0, "state": {"running": {"startedAt": cluster.stamp}}}
        cluster.update(
            pod, phase="Running", startTime=cluster.stamp, containerStatuses=[status],
            conditions=[{"type": "PodScheduled"}, {"type": "Ready"}],
        )  # fmt: skip


def waits(reason: str) -> Fate:
    """It is scheduled, and its container waits for this reason for ever."""

    def fate(cluster: FakeCluster, pod: Json) -> None:
        if not pod["status"].get("containerStatuses"):
            waiting = {"reason": reason, "message": f"{reason} at registry.example"}
            status = {"name": "worker", "state": {"waiting": waiting}}
            cluster.update(pod, containerStatuses=[status], conditions=[{"type": "PodScheduled"}])

    return fate


def unschedulable(cluster: FakeCluster, pod: Json) -> None:
    """No node has room."""
    if not pod["status"].get("containerStatuses"):
        message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
        cluster.update(
            pod, conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
        )


def exits(code: int, *, reason: str = "Error", message: str = "last words") -> Fate:
    """Its container ends with this exit code whenever it is started, and the kubelet waits before the next time."""

    def fate(cluster: FakeCluster, pod: Json) -> None:
        ended = {"exitCode": code, "reason": reason, "message": message, "finishedAt": cluster.stamp}
        waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container=worker"}
        status = {"name": "worker", "state": {"waiting": waiting}, "lastState": {"terminated": ended}}
        cluster.update(
            pod, phase="Running", startTime=cluster.stamp, containerStatuses=[status],
            conditions=[{"type": "PodScheduled"}, {"type": "Ready", "status": "False"}],
        )  # fmt: skip

    return fate


def restarts_after(code: int, *, reason: str = "Error") -> Fate:
    """Its container has ended once and runs again."""

    def fate(cluster: FakeCluster, pod: Json) -> None:
        ended = {"exitCode": code, "reason": reason, "finishedAt": cluster.stamp}
        status = {"name": "worker", "restartCount": 1, "state": {"running": {"startedAt": cluster.stamp}},
                  "lastState": {"terminated": ended}}  # fmt: skip
        cluster.update(pod, phase="Running", containerStatuses=[status])

    return fate


def disrupted(reason: str, *, times: int = 1) -> Fate:
    """The cluster takes it away, so many times; later pods run."""
    left = [times]

    def fate(cluster: FakeCluster, pod: Json) -> None:
        if not left[0]:
            return starts(cluster, pod)
        left[0] -= 1
        ended = {"exitCode": 143, "reason": "Error", "finishedAt": cluster.stamp}
        cluster.update(
            pod, phase="Failed", containerStatuses=[{"name": "worker", "state": {"terminated": ended}}],
            conditions=[{"type": "DisruptionTarget", "reason": reason, "message": "the cluster says so"}],
        )  # fmt: skip
        return None

    return fate


def _rank(pod: Json) -> tuple[bool, int, str]:
    """In which order pods are deleted: those that do not run, then the cheapest, then the youngest."""
    cost = int(pod["metadata"].get("annotations", {}).get(COST, 0))
    return _phase(pod) == "Running", cost, "".join(chr(0x10FFFF - ord(one)) for one in pod["metadata"]["name"])


def _said(deployment: Json) -> str:
    found = [one for one in deployment.get("status", {}).get("conditions", []) if one["type"] == "ReplicaFailure"]
    return str(found[0]["message"]) if found else ""


def _owner(pod: Json) -> str:
    return str(pod["metadata"]["ownerReferences"][0]["name"]).rpartition("-")[0]


def _phase(pod: Json) -> str:
    return str(pod["status"]["phase"])
