"""The Job of an evaluation, from its facts and the operator's settings. Pure: plain JSON, no client.

A work queue: `completions` is unset, and every pod leases shards until the site says that none is left, then ends with
0. After the first 0 Kubernetes creates no further pods for the Job, so a pod that has nothing to do at the moment
waits: it takes over the shards of a pod that crashes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evaluator.programs.remote import VARIABLE as PROGRAMS
from gpu_jobs.exits import FAIL_AT_ONCE
from gpu_jobs.launchers.kubernetes import model_servers, names
from gpu_jobs.launchers.kubernetes.enrolment import token_variable
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings

Json = dict[str, Any]

_USER = 65532
_GRACE_SECONDS = 45
"""The worker's last words take up to 20 seconds, and loading an expert may delay the signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFacts:
    """What a Job depends on."""

    evaluation_id: str
    open_shards: int | None = None
    """More pods than shards would only wait; None if it is not known."""
    calls_endpoint: bool = False
    """Whether the planner is behind HTTP, or its model on a hub, so that pods need a way out."""
    needs_gpu: bool = True
    """False for suites whose plans are judged and not executed, if the planner itself runs no model of its own."""
    loads_model: bool = False
    """Whether the planner is a hub model or a checkpoint, which needs a model server."""
    executes_plans: bool = True
    """False for suites whose plans are judged."""


def build_job(*, facts: EvaluationFacts, generation: int, settings: KubernetesSettings) -> Json:
    """The manifest of the evaluation's Job."""
    if model_servers.in_own_pod(facts=facts, settings=settings):
        # The model's GPU is its server's.
        facts = replace(facts, needs_gpu=facts.needs_gpu and facts.executes_plans)
    identity = names.labels_of(
        instance=settings.instance, evaluation_id=facts.evaluation_id, generation=generation
    )  # fmt: skip
    name = names.job_name(instance=settings.instance, evaluation_id=facts.evaluation_id, generation=generation)
    overrides = settings.overrides
    annotations = dict(overrides.annotations)
    pod_labels = {**overrides.labels, **identity}
    if facts.calls_endpoint:
        pod_labels[names.EGRESS] = "endpoint"
    template = {
        "metadata": {"labels": pod_labels, "annotations": annotations},
        "spec": model_servers.with_model_server(
            _pod(job=name, facts=facts, settings=settings), facts=facts, settings=settings, job=name
        ),
    }
    annotations = {**annotations, **model_servers.annotations(facts=facts, settings=settings)}
    spec = merge_patch(_job_spec(facts=facts, settings=settings), _without(overrides.job, "template"))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": settings.namespace,
            "labels": {**overrides.labels, **identity, **_queue_labels(settings)},
            "annotations": {**annotations, **_queue_annotations(settings, parallelism=spec["parallelism"])},
        },
        "spec": {**spec, "template": template},
    }


def merge_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """RFC 7386: objects merge, null removes, everything else replaces."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            before = merged.get(key)
            merged[key] = merge_patch(before if isinstance(before, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _job_spec(*, facts: EvaluationFacts, settings: KubernetesSettings) -> Json:
    shards = settings.parallelism if facts.open_shards is None else facts.open_shards
    spec: Json = {
        "parallelism": max(1, min(settings.parallelism, shards)),
        "backoffLimit": settings.backoff_limit,
        "activeDeadlineSeconds": settings.active_deadline_seconds,
        "ttlSecondsAfterFinished": settings.ttl_seconds,
        # Never two pods for one place: the second would wait for the first one's GPU.
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": _failure_rules()},
    }
    if settings.suspend:
        spec["suspend"] = True
    return spec


def _failure_rules() -> list[Json]:
    return [
        # Preempted, drained or lost with its node: not the pod's fault, so it does not count towards backoffLimit.
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {
            "action": "FailJob",
            "onExitCodes": {
                "containerName": names.CONTAINER,
                "operator": "In",
                "values": list(FAIL_AT_ONCE),
            },
        },
    ]


def _queue_labels(settings: KubernetesSettings) -> dict[str, str]:
    labels = {}
    if settings.queue:
        labels["kueue.x-k8s.io/queue-name"] = settings.queue
        # activeDeadlineSeconds restarts whenever a Job is suspended and resumed; this does not.
        labels["kueue.x-k8s.io/max-exec-time-seconds"] = str(settings.active_deadline_seconds)
    if settings.queue and settings.queue_priority:
        labels["kueue.x-k8s.io/priority-class"] = settings.queue_priority
    return labels


def _queue_annotations(settings: KubernetesSettings, *, parallelism: int) -> dict[str, str]:
    # One free GPU is enough to begin. Kueue's webhook denies a minimum that is not below the Job's parallelism, and a
    # Job with one pod has nothing to reduce.
    return {"kueue.x-k8s.io/job-min-parallelism": "1"} if settings.queue and parallelism > 1 else {}


def _pod(*, job: str, facts: EvaluationFacts, settings: KubernetesSettings) -> Json:
    pod: Json = {
        "restartPolicy": "Never",
        "serviceAccountName": settings.service_account,
        "automountServiceAccountToken": False,
        # Or the addresses of all Services of the namespace would stand in the environment.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": _volumes(settings),
    }
    if settings.node_selector and facts.needs_gpu:
        pod["nodeSelector"] = dict(settings.node_selector)
    if settings.tolerations and facts.needs_gpu:
        pod["tolerations"] = [dict(toleration) for toleration in settings.tolerations]
    for key, value in (("priorityClassName", settings.priority_class), ("runtimeClassName", settings.runtime_class)):
        if value:
            pod[key] = value
    if settings.image_pull_secret:
        pod["imagePullSecrets"] = [{"name": settings.image_pull_secret}]
    # What makes a Job a work queue of this worker is not the operator's to change.
    pod = merge_patch(pod, _without(settings.overrides.pod, "containers", "restartPolicy"))
    return {**pod, "containers": [_container(job=job, facts=facts, settings=settings)]}


def _container(*, job: str, facts: EvaluationFacts, settings: KubernetesSettings) -> Json:
    command = ["python", "-m", "gpu_jobs", "worker", "--name", "$(POD_NAME)"]
    command += ["--evaluation", facts.evaluation_id]
    if settings.store:
        command += ["--store", settings.store]
    container: Json = {
        "name": names.CONTAINER,
        "image": settings.image,
        "command": command,
        "env": _environment(job=job, facts=facts, settings=settings),
        "resources": _resources(facts=facts, settings=settings),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The last lines of the log stay with the pod's status when it fails.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": _mounts(settings),
    }
    return merge_patch(container, _without(settings.overrides.container, "name", "env"))


def _environment(*, job: str, facts: EvaluationFacts, settings: KubernetesSettings) -> list[Json]:
    on_gpu = facts.needs_gpu and settings.gpus > 0
    values = {
        "PLANARENA_API_URL": settings.api_url,
        "PLANARENA_DATA": "/data",
        "PLANARENA_DEVICE": "cuda" if on_gpu else "cpu",
        # Libraries write caches into the home folder, and the root file system is read-only.
        "HOME": "/data",
    }
    if settings.weights_claim:
        values["PLANARENA_WEIGHTS"] = "/weights"
    if settings.model_mirror:
        values["HF_ENDPOINT"] = settings.model_mirror
    if settings.memory_budget:
        values["PLANARENA_MEMORY_BUDGET"] = settings.memory_budget
    if settings.programs:
        values[PROGRAMS] = settings.programs
    values |= settings.egress
    return [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        token_variable(job=job),
        *({"name": name, "value": value} for name, value in {**values, **settings.overrides.env}.items()),
    ]


def _resources(*, facts: EvaluationFacts, settings: KubernetesSettings) -> Json:
    requests = {"cpu": settings.cpu, "memory": settings.memory, "ephemeral-storage": settings.ephemeral_storage}
    # No limit on the CPU: throttled threads would only hold the GPU for longer.
    limits = {"memory": settings.memory, "ephemeral-storage": settings.ephemeral_storage}
    if facts.needs_gpu and settings.gpus:
        limits[settings.gpu_resource] = requests[settings.gpu_resource] = str(settings.gpus)
    return {"requests": requests, "limits": limits}


def _volumes(settings: KubernetesSettings) -> list[Json]:
    volumes: list[Json] = [
        {"name": "data", "emptyDir": {"sizeLimit": settings.ephemeral_storage}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
    ]
    if settings.weights_claim:
        claim = {"claimName": settings.weights_claim, "readOnly": True}
        volumes.append({"name": "weights", "persistentVolumeClaim": claim})
    return volumes


def _mounts(settings: KubernetesSettings) -> list[Json]:
    mounts: list[Json] = [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
    if settings.weights_claim:
        mounts.append({"name": "weights", "mountPath": "/weights", "readOnly": True})
    return mounts


def _without(patch: Mapping[str, Any], *keys: str) -> Json:
    return {key: value for key, value in patch.items() if key not in keys}
