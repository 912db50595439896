"""Settings, facts and ids that the tests of the Kubernetes launcher share."""

from typing import Any

from gpu_jobs.launchers.kubernetes import EvaluationFacts, KubernetesLauncher, KubernetesSettings
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes_api import FakeKubernetesApi
from tests.fakes.kubernetes_cluster import FakeCluster

EVALUATION = "0b9a3c52-51a7-4c66-9a77-4a8d6e4b1c11"
OTHER = "7d1f6c1e-0000-4c66-9a77-4a8d6e4b1c22"
IMAGE = f"registry.example/planarena-worker@sha256:{'ab' * 32}"


def make_settings(**changes: Any) -> KubernetesSettings:
    """Settings, with these changes."""
    return KubernetesSettings(**{"image": IMAGE, "api_url": "http://planarena-web.planarena.svc:8000", **changes})


def make_facts(**changes: Any) -> EvaluationFacts:
    """Facts of an evaluation, with these changes."""
    return EvaluationFacts(**{"evaluation_id": EVALUATION, **changes})


def make_launcher(
    api: FakeKubernetesApi,
    cluster: FakeCluster,
    *,
    client: dict[str, Any] | None = None,
    enrolments: FakeEnrolments | None = None,
    **changes: Any,
) -> KubernetesLauncher:
    """A launcher as a fresh process would make it, on the cluster's clock."""
    return KubernetesLauncher(
        client=api.client(**(client or {})),
        settings=make_settings(**changes),
        enrolments=enrolments or FakeEnrolments(),
        now=lambda: cluster.now,
    )
