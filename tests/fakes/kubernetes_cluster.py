"""What a cluster does with Jobs, as far as the launcher depends on it: the Job controller with its failure policy and
deadline, and pods whose fate a test decides. Time is the test's own."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.kubernetes_api import FakeKubernetesApi

Json = dict[str, Any]
Fate = Callable[["FakeCluster", Json], None]
"""Decides about a pod that is not ended yet; called once per tick."""


class FakeCluster:
    """Turns Jobs into pods, and the fates of pods into the Jobs' conditions, tick by tick."""

    def __init__(self, api: FakeKubernetesApi, *, fate: Fate | None = None) -> None:
        self.api = api
        self.fate: Fate = fate or starts
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.refuses_pods = ""
        """Why the API server admits no pod of a Job, in its words; empty: it does."""
        self._pods = 0

    def later(self, seconds: float, *, ticks: int = 1) -> None:
        """Let time pass."""
        for _ in range(ticks):
            self.now += timedelta(seconds=seconds / ticks)
            self.tick()

    def tick(self) -> None:
        """Every controller looks once."""
        for job in self.api.all("jobs"):
            self._sync(job)
        for pod in self.api.all("pods"):
            if _phase(pod) in {"Pending", "Running"}:
                self.fate(self, pod)
        for job in self.api.all("jobs"):
            self._sync(job)

    @property
    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def lacks_secret(self, pod: Json) -> bool:
        """Whether a variable of its container names a Secret that is not there."""
        env = pod["spec"]["containers"][0]["env"]
        named = [one["valueFrom"]["secretKeyRef"]["name"] for one in env if "secretKeyRef" in one.get("valueFrom", {})]
        return any(self.api.get("secrets", name) is None for name in named)

    def update(self, pod: Json, **status: Any) -> None:
        """Change a pod's status; `conditions` are added to those that it has."""
        before = pod.setdefault("status", {})
        added = [{"status": "True", "lastTransitionTime": self.stamp, **one} for one in status.pop("conditions", [])]
        kept = [one for one in before.get("conditions", []) if one["type"] not in {new["type"] for new in added}]
        pod["status"] = {**before, **status, "conditions": [*kept, *added]}
        self.api.put("pods", pod)

    def _sync(self, job: Json) -> None:
        """One look of the Job controller."""
        if _finished(job):
            ended = datetime.fromisoformat(_finished(job)["lastTransitionTime"])
            if self.now - ended > timedelta(seconds=job["spec"]["ttlSecondsAfterFinished"]):
                self.api.remove("jobs", job["metadata"]["name"])
            return
        status = job.setdefault("status", {})
        job["metadata"].setdefault("creationTimestamp", self.stamp)
        pods = [pod for pod in self.api.all("pods") if pod["metadata"]["ownerReferences"][0]["name"] == _name(job)]
        pods = [pod for pod in pods if _exit_code(pod) not in _codes(job, action="Ignore")]
        if job["spec"].get("suspend"):
            status.pop("startTime", None)
            for pod in pods:
                self.api.remove("pods", pod["metadata"]["name"])
        else:
            status.setdefault("startTime", self.stamp)
            self._active(job, pods)
        if job != self.api.get("jobs", _name(job)):
            self.api.put("jobs", job)

    def _active(self, job: Json, pods: list[Json]) -> None:
        open_pods = [pod for pod in pods if _phase(pod) in {"Pending", "Running"}]
        started = datetime.fromisoformat(job["status"]["startTime"])
        failures = [pod for pod in pods if _phase(pod) == "Failed" and not _disrupted(pod)]
        if self.now - started >= timedelta(seconds=job["spec"]["activeDeadlineSeconds"]):
            self._end(job, open_pods, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        elif code := next((code for pod in failures if (code := _exit_code(pod)) in _codes(job, action="FailJob")), 0):
            message = f"Container worker for pod x failed with exit code {code} matching FailJob rule at index 1"
            self._end(job, open_pods, "Failed", "PodFailurePolicy", message)
        elif len(failures) > job["spec"]["backoffLimit"]:
            self._end(job, open_pods, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        elif any(_phase(pod) == "Succeeded" for pod in pods):
            if not open_pods:
                self._end(job, [], "Complete", "CompletionsReached", "")
        else:
            for _ in range(job["spec"]["parallelism"] - len(open_pods)):
                self._create_pod(job)

    def _end(self, job: Json, open_pods: list[Json], kind: str, reason: str, message: str) -> None:
        for pod in open_pods:
            self.api.remove("pods", pod["metadata"]["name"])
        job["status"]["conditions"] = [
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": self.stamp}
        ]

    def _create_pod(self, job: Json) -> None:
        self._pods += 1
        if self.refuses_pods:
            self._tell_of_refused_pod(job)
            return
        template = job["spec"]["template"]
        labels = {**template["metadata"]["labels"], "batch.kubernetes.io/job-name": _name(job)}
        self.api.put("pods", {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{_name(job)}-{self._pods:05d}",
                "labels": labels,
                "creationTimestamp": self.stamp,
                "ownerReferences": [{"kind": "Job", "name": _name(job)}],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        })  # fmt: skip

    def _tell_of_refused_pod(self, job: Json) -> None:
        """The event of the Job controller, which goes on trying."""
        self.api.put("events", {
            "metadata": {"name": f"{_name(job)}.{self._pods}", "creationTimestamp": self.stamp},
            "involvedObject": {"kind": "Job", "name": _name(job), "uid": job["metadata"]["uid"]},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": f'Error creating: pods "{_name(job)}-" is forbidden: {self.refuses_pods}',
            "lastTimestamp": self.stamp,
        })  # fmt: skip


def starts(cluster: FakeCluster, pod: Json) -> None:
    """It runs, and goes on running, once the Secret that its container names is there."""
    if _phase(pod) == "Pending" and cluster.lacks_secret(pod):
        waits("CreateContainerConfigError")(cluster, pod)
    elif _phase(pod) == "Pending":
        status = {"name": "worker", "state": {"running": {"startedAt": cluster.stamp}}}
        cluster.update(
            pod, phase="Running", startTime=cluster.stamp, containerStatuses=[status],
            conditions=[{"type": "PodScheduled"}, {"type": "Ready"}],
        )  # fmt: skip


def waits(reason: str, *, kind: str = "waiting") -> Fate:
    """It is scheduled, and its container waits for this reason for ever."""

    def fate(cluster: FakeCluster, pod: Json) -> None:
        if not pod["status"].get("containerStatuses"):
            status = {"name": "worker", "state": {kind: {"reason": reason, "message": f"{reason} at registry.example"}}}
            cluster.update(pod, containerStatuses=[status], conditions=[{"type": "PodScheduled"}])

    return fate


def unschedulable(cluster: FakeCluster, pod: Json) -> None:
    """No node has room."""
    if not pod["status"].get("conditions"):
        message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
        cluster.update(
            pod, conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
        )


def exits(code: int, *, reason: str = "Error", message: str = "last words") -> Fate:
    """Its container ends with this exit code at once."""

    def fate(cluster: FakeCluster, pod: Json) -> None:
        ended = {"exitCode": code, "reason": reason, "message": message, "finishedAt": cluster.stamp}
        status = {"name": "worker", "state": {"terminated": ended}}
        cluster.update(pod, phase="Failed" if code else "Succeeded", containerStatuses=[status])

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


def _finished(job: Json) -> Json:
    conditions = job.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] in {"Complete", "Failed"} and one["status"] == "True"), {})


def _phase(pod: Json) -> str:
    return pod["status"]["phase"]


def _name(job: Json) -> str:
    return job["metadata"]["name"]


def _exit_code(pod: Json) -> int:
    ended = [one["state"].get("terminated") for one in pod["status"].get("containerStatuses", [])]
    return ended[0]["exitCode"] if ended and ended[0] else 0


def _disrupted(pod: Json) -> bool:
    return any(one["type"] == "DisruptionTarget" for one in pod["status"].get("conditions", []))


def _codes(job: Json, *, action: str) -> list[int]:
    """The exit codes that the Job's failure policy has this action for."""
    rules = job["spec"]["podFailurePolicy"]["rules"]
    return [
        code for rule in rules if rule["action"] == action for code in rule.get("onExitCodes", {}).get("values", [])
    ]
