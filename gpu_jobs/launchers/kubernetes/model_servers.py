"""Where submitted models are loaded: model servers beside a worker's Job. Pure: plain JSON, no client.

In pods of their own, which nothing but a worker of the same evaluation reaches, on one port, and which reach nothing;
or in a container of their own in the worker's pod, over a Unix socket. Neither has a token, a seed, a volume of the
worker's or a service account. They belong to the worker's Job and are deleted with it.
"""

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpu_jobs.launchers.kubernetes import names
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings
from gpu_jobs.model_server import VARIABLE
from gpu_jobs.model_server.endings import Ending

if TYPE_CHECKING:
    from gpu_jobs.launchers.kubernetes.job import EvaluationFacts

Json = dict[str, Any]

PORT = 7070
_USER = 65533
"""Not the worker's."""
_WORKERS_GROUP = 65532
_GRACE_SECONDS = 5
"""A model server has nothing to save."""
_BACKOFF_LIMIT = 6
_SHARE_OF_MEMORY = 0.9
"""Of the container's that the model's process may hold: its supervisor must outlive it to say how it ended."""
_RECEIVER = "receiver"
_SOCKET_FOLDER, _MODEL_FOLDER = "/model-socket", "/model"
_TMP_FOLDER = "/tmp"  # noqa: S108 - a volume of its own
_CACHES = ("XDG_CACHE_HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HF_HOME")
_VLLM_TMP, _TMP = "8Gi", "256Mi"
_HARDENED = {
    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
}  # fmt: skip
_OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1", "DO_NOT_TRACK": "1",
}  # fmt: skip
_UNITS = {
    "m": 0.001,
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def in_own_pod(*, facts: "EvaluationFacts", settings: KubernetesSettings) -> bool:
    """Whether the evaluation's model is loaded in pods beside its workers'."""
    return facts.loads_model and settings.model_server == "pod"


def annotations(*, facts: "EvaluationFacts", settings: KubernetesSettings) -> dict[str, str]:
    """How a Job says that it has model servers in pods of their own."""
    return {names.BESIDE: settings.model_engine} if in_own_pod(facts=facts, settings=settings) else {}


def are_beside(job: Mapping[str, Any]) -> bool:
    """Whether a worker's Job has model servers in pods of their own."""
    return names.BESIDE in (job["metadata"].get("annotations") or {})


def with_model_server(pod: Json, *, facts: "EvaluationFacts", settings: KubernetesSettings, job: str) -> Json:
    """A worker's pod that knows where its model is loaded, with the container for that where it is in the same pod.

    Args:
        pod: the worker's, with one container.
        facts: of the evaluation.
        settings: the operator's.
        job: the name of the worker's Job.
    """
    if not facts.loads_model:
        return pod
    (worker,) = pod["containers"]
    if in_own_pod(facts=facts, settings=settings):
        where = f"{names.model_servers_name(job)}.{settings.namespace}.svc:{PORT}"
        environment = {VARIABLE: where, "PLANARENA_MODEL_ENGINE": settings.model_engine}
        return {**pod, "containers": [_with_environment(worker, environment)]}
    worker = _with_environment(worker, {VARIABLE: f"unix:{_SOCKET_FOLDER}/server"})
    socket_mount = {"name": "model-socket", "mountPath": _SOCKET_FOLDER}
    worker = {**worker, "volumeMounts": [*worker["volumeMounts"], socket_mount]}
    server = _server(settings, listen=f"unix:{_SOCKET_FOLDER}/server", gpus=settings.model_gpus or 0)
    server["restartPolicy"] = "Always"
    server["securityContext"] |= {"runAsUser": _USER, "runAsGroup": _WORKERS_GROUP}
    server["volumeMounts"].append(socket_mount)
    pod = {
        **pod,
        "containers": [worker],
        # One that goes on running: the worker comes and goes, and ends the pod.
        "initContainers": [*pod.get("initContainers", []), server],
        "volumes": [*pod["volumes"], *_volumes(settings, tmp=_TMP),
                    {"name": "model-socket", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    }  # fmt: skip
    return _with_claim(pod, settings=settings) if settings.gpu_claim and facts.needs_gpu else pod


def build_model_servers(*, job: Mapping[str, Any], settings: KubernetesSettings) -> list[Json]:
    """What a worker's Job needs beside it: two policies, a Service and a Job, each owned by it.

    The policies come first, so that no pod is there before them.

    Args:
        job: the worker's Job, as the cluster keeps it.
        settings: the operator's.
    """
    name = names.model_servers_name(job["metadata"]["name"])
    labels = {**settings.overrides.labels, **_identity(job)}
    metadata: Json = {
        "namespace": settings.namespace,
        "labels": labels,
        "annotations": dict(settings.overrides.annotations),
        "ownerReferences": [_owner(job)],
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "name": name},
        # Headless: workers find each pod's address, and take one that is free. A receiver is never ready.
        "spec": {"clusterIP": "None", "selector": _selected(job, component=names.MODEL_SERVER),
                 "publishNotReadyAddresses": True, "ports": [{"name": "model", "port": PORT, "protocol": "TCP"}]},
    }  # fmt: skip
    servers = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "name": name, "labels": {**labels, **_queue_labels(job)}},
        "spec": {
            **_job_spec(job, settings=settings),
            "template": {
                "metadata": {"labels": labels, "annotations": dict(settings.overrides.annotations)},
                "spec": _pod(settings),
            },
        },
    }
    return [*_policies(job, metadata=metadata), service, servers]


def _policies(job: Mapping[str, Any], *, metadata: Json) -> list[Json]:
    """Who may speak to whom: a worker to the model servers of its own evaluation, on their one port; they to nobody."""
    server, worker = (
        {"matchLabels": _selected(job, component=component)} for component in (names.MODEL_SERVER, names.WORKER)
    )
    ports = [{"port": PORT, "protocol": "TCP"}]
    name = job["metadata"]["name"]
    rules: dict[str, Json] = {
        names.model_servers_name(name): {
            "podSelector": server,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": worker}], "ports": ports}],
        },
        f"{name}-workers": {
            "podSelector": worker,
            "policyTypes": ["Egress"],
            "egress": [{"to": [{"podSelector": server}], "ports": ports}],
        },
    }
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    return [{**kind, "metadata": {**metadata, "name": own}, "spec": spec} for own, spec in rules.items()]


def _job_spec(job: Mapping[str, Any], *, settings: KubernetesSettings) -> Json:
    # vLLM batches the calls of all workers.
    servers = 1 if settings.model_engine == "vllm" else int(job["spec"].get("parallelism", 1))
    ignored = [{"action": "Ignore", "onExitCodes": {"containerName": name, "operator": "In", "values": [Ending.SERVED]}}
               for name in _taking_files(settings)]  # fmt: skip
    spec: Json = {
        "parallelism": servers,
        "backoffLimit": _BACKOFF_LIMIT,
        "activeDeadlineSeconds": settings.active_deadline_seconds,
        "ttlSecondsAfterFinished": settings.ttl_seconds,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            # One worker each: whenever one is gone, a fresh server takes the next.
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                *ignored,
            ]
        },
    }
    return {**spec, "suspend": True} if settings.suspend else spec


def _pod(settings: KubernetesSettings) -> Json:
    gpus = settings.gpus if settings.model_gpus is None else settings.model_gpus
    is_vllm = settings.model_engine == "vllm"
    server = _server(settings, listen=f"0.0.0.0:{PORT}", gpus=gpus)
    pod: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        # It asks nobody, and the name servers of the cluster or node would stand in a file.
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_vllm(settings, gpus=gpus) if is_vllm else server],
        "volumes": _volumes(settings, tmp=_VLLM_TMP if is_vllm else _TMP),
    }
    if is_vllm:
        pod["initContainers"] = [_receiver(server)]
        pod["volumes"].append({"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}})
    if settings.node_selector and gpus:
        pod["nodeSelector"] = dict(settings.node_selector)
    if settings.tolerations and gpus:
        pod["tolerations"] = [dict(toleration) for toleration in settings.tolerations]
    if settings.priority_class:
        pod["priorityClassName"] = settings.priority_class
    if settings.model_runtime_class:
        pod["runtimeClassName"] = settings.model_runtime_class
    if settings.image_pull_secret:
        pod["imagePullSecrets"] = [{"name": settings.image_pull_secret}]
    return pod


def _server(settings: KubernetesSettings, *, listen: str, gpus: int) -> Json:
    device = "cuda" if gpus or (settings.gpu_claim and settings.model_server == "container") else "cpu"
    command = ["python", "-m", "gpu_jobs.model_server.serving", "--listen", listen, "--folder", _MODEL_FOLDER]
    command += ["--device", device, "--most", str(number_of(settings.model_storage))]
    memory = int(_SHARE_OF_MEMORY * number_of(settings.model_memory))
    threads = max(1, number_of(settings.model_cpu))
    values = {"HOME": _TMP_FOLDER, "PLANARENA_MODEL_MEMORY": str(memory), "OMP_NUM_THREADS": str(threads), **_OFFLINE}
    return {
        "name": names.MODEL_SERVER,
        "image": settings.image,
        "command": command,
        "env": _environment(values),
        "resources": _resources(settings, gpus=gpus),
        "securityContext": dict(_HARDENED),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": _mounts(),
    }


def _receiver(server: Json) -> Json:
    """Takes the model's files, with the worker's image, before another engine starts."""
    resources = {kind: {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "64Mi"} for kind in ("requests", "limits")}
    return {
        **server,
        "name": _RECEIVER,
        "command": [*server["command"], "--receive-only"],
        "resources": resources,
    }


def _vllm(settings: KubernetesSettings, *, gpus: int) -> Json:
    command = ["vllm", "serve", _MODEL_FOLDER, "--host", "0.0.0.0", "--port", str(PORT)]  # noqa: S104 - behind its policy
    command += ["--served-model-name", "planarena", "--load-format", "safetensors"]
    # Settings of the checkpoint's own would change what every call asks for.
    command += ["--generation-config", "vllm", *shlex.split(settings.vllm_arguments)]
    caches = {name: f"{_TMP_FOLDER}/{name.lower()}" for name in _CACHES}
    # Its user has no entry in the image's list of users, where libraries would look for a name.
    values = {"HOME": _TMP_FOLDER, "USER": "model", "LOGNAME": "model", **caches, **_OFFLINE}
    model = {"name": "model", "mountPath": _MODEL_FOLDER, "readOnly": True}
    shared = {"name": "shared-memory", "mountPath": "/dev/shm"}  # noqa: S108 - a volume of its own
    return {
        "name": names.MODEL_SERVER,
        "image": settings.vllm_image,
        "command": command,
        "env": _environment(values),
        "resources": _resources(settings, gpus=gpus),
        "securityContext": dict(_HARDENED),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [model, _mounts()[1], shared],
    }


def number_of(quantity: str) -> int:
    """What a quantity as Kubernetes writes them comes to, such as 16Gi, 500M or 1500m; rounded down."""
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", quantity)
    assert found is not None
    return int(float(found[1]) * _UNITS[found[2]])


def _with_claim(pod: Json, *, settings: KubernetesSettings) -> Json:
    """A pod whose worker and model server share the GPUs of one claim, and ask for none by themselves."""
    claimed = {"name": "gpu"}

    def sharing(container: Json) -> Json:
        resources = {
            kind: {key: value for key, value in amounts.items() if key != settings.gpu_resource}
            for kind, amounts in container["resources"].items()
        }
        return {**container, "resources": {**resources, "claims": [claimed]}}

    *others, server = pod["initContainers"]
    return {
        **pod,
        "resourceClaims": [{**claimed, "resourceClaimTemplateName": settings.gpu_claim}],
        "containers": [sharing(one) for one in pod["containers"]],
        "initContainers": [*others, sharing(server)],
    }


def _taking_files(settings: KubernetesSettings) -> list[str]:
    """The containers that end with `Ending.SERVED`."""
    return [_RECEIVER] if settings.model_engine == "vllm" else [names.MODEL_SERVER]


def _resources(settings: KubernetesSettings, *, gpus: int) -> Json:
    limits = {"memory": settings.model_memory, "ephemeral-storage": settings.model_storage}
    requests = {"cpu": settings.model_cpu, **limits}
    if gpus:
        limits[settings.gpu_resource] = requests[settings.gpu_resource] = str(gpus)
    return {"requests": requests, "limits": limits}


def _volumes(settings: KubernetesSettings, *, tmp: str) -> list[Json]:
    return [
        {"name": "model", "emptyDir": {"sizeLimit": settings.model_storage}},
        {"name": "model-tmp", "emptyDir": {"sizeLimit": tmp}},
    ]


def _mounts() -> list[Json]:
    tmp = {"name": "model-tmp", "mountPath": _TMP_FOLDER}
    return [{"name": "model", "mountPath": _MODEL_FOLDER}, tmp]


def _with_environment(container: Json, values: Mapping[str, str]) -> Json:
    return {**container, "env": [*container["env"], *_environment(values)]}


def _environment(values: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _identity(job: Mapping[str, Any]) -> dict[str, str]:
    labels = job["metadata"]["labels"]
    kept = ("app.kubernetes.io/name", names.INSTANCE, names.MANAGED_BY, names.EVALUATION, names.GENERATION)
    return {**{key: labels[key] for key in kept}, names.COMPONENT: names.MODEL_SERVER}


def _selected(job: Mapping[str, Any], *, component: str) -> dict[str, str]:
    """The labels that tell the pods of one evaluation's component from all others."""
    labels = job["metadata"]["labels"]
    return {key: labels[key] for key in (names.INSTANCE, names.EVALUATION)} | {names.COMPONENT: component}


def _queue_labels(job: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in job["metadata"]["labels"].items() if key.startswith("kueue.x-k8s.io/")}


def _owner(job: Mapping[str, Any]) -> Json:
    """Not as its controller: Kueue would take it for a part of the worker's Job."""
    metadata = job["metadata"]
    return {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
