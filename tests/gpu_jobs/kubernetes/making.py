"""Settings, pools and launchers that the tests of worker pools on Kubernetes share."""

import base64
from typing import Any

from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings
from gpu_jobs.launchers.pools import Needs, pools_from
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes.api import NAMESPACE, FakeKubernetesApi, Json
from tests.fakes.kubernetes.cluster import FakeCluster

EVALUATION = "0b9a3c52-51a7-4c66-9a77-4a8d6e4b1c11"
IMAGE = f"registry.example/planarena-worker@sha256:{'ab' * 32}"
POOLS = """[
    {"name": "cpu", "takes": ["judged"], "endpoints": true},
    {"name": "gpu", "device": "cuda", "takes": ["executed", "judged"], "most": 8}
]"""
GPU, CPU = "planarena-pool-gpu", "planarena-pool-cpu"


def make_settings(**changes: Any) -> KubernetesSettings:
    """Settings, with these changes."""
    return KubernetesSettings(**{"pools": pools_from(POOLS), **changes})


def make_launcher(
    api: FakeKubernetesApi,
    cluster: FakeCluster,
    *,
    client: dict[str, Any] | None = None,
    enrolments: FakeEnrolments | None = None,
    needs: Needs | None = None,
    **changes: Any,
) -> KubernetesLauncher:
    """A launcher as a fresh process would make it, on the cluster's clock."""
    return KubernetesLauncher(
        client=api.client(**(client or {})),
        settings=make_settings(**changes),
        enrolments=enrolments or FakeEnrolments(),
        needs=lambda _: needs or Needs(executed=True),
        clock=lambda: cluster.now.timestamp(),
    )


def install(api: FakeKubernetesApi, *, pool: str = "gpu", replicas: int = 1, queue: str = "", **pod: Any) -> None:
    """What the Helm chart installs of a pool, as far as the launcher looks at it.

    Args:
        pod: changes of the pod's spec.
    """
    labels = {
        "app.kubernetes.io/name": "planarena", "app.kubernetes.io/component": "worker", "planarena.io/pool": pool
    } | ({"kueue.x-k8s.io/queue-name": queue} if queue else {})  # fmt: skip
    name = f"planarena-pool-{pool}"
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    template = {"metadata": {"labels": labels}, "spec": {**_pod(), **pod}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    api.put("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    api.put("secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"})


def scaled_object(*, pool: str = "gpu", most: int = 8) -> Json:
    """The ScaledObject of a pool, as the Helm chart makes it."""
    name = f"planarena-pool-{pool}"
    url = f"http://planarena-web.planarena.svc:8000/metrics/pools/{pool}"
    trigger = {"type": "metrics-api", "metadata": {"url": url, "valueLocation": "workers", "targetValue": "1"}}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": {"name": name},
            "minReplicaCount": 0,
            "maxReplicaCount": most,
            "triggers": [trigger],
        },
    }


def token_in(api: FakeKubernetesApi, pool: str = "gpu") -> str:
    """The token that a pool's pods read; empty if there is none."""
    secret = api.get("secrets", f"planarena-pool-{pool}")
    assert secret is not None
    return base64.b64decode(secret.get("data", {}).get("token", "")).decode()


def _pod() -> Json:
    security = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    requests = {"nvidia.com/gpu": "1"}
    worker = {"name": "worker", "image": IMAGE, "securityContext": security,
              "resources": {"requests": requests, "limits": requests}}  # fmt: skip
    return {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [worker],
    }
