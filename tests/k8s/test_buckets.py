"""A site whose store is a bucket: no volume, credentials for the pods that use it, and a way to it."""

import helm_python
import pytest

from tests.k8s.chart import (
    BUCKET,
    JOBS,
    PRODUCTION,
    SITE,
    build,
    containers_of,
    environment_of,
    merged,
    named,
    of_kind,
    pod_of,
    render,
)
from tests.k8s.policies import Pod, allowed

MINIO = Pod(namespace="storage", labels={"app": "minio"})


MAINTENANCE = {f"planarena-{name}" for name in ("back-up", "check-store", "collect-garbage", "find-causes")}


@pytest.fixture
def manifests():
    return build("production with a bucket")


def users_of_the_secret(manifests):
    return {
        item["metadata"]["name"]
        for item in of_kind(manifests, "Deployment", "Job", "CronJob")
        for container in containers_of(item)
        if {"secretRef": {"name": "site-bucket"}} in container.get("envFrom", [])
    }


def users_of_the_volume(manifests):
    pods = {item["metadata"]["name"]: pod_of(item) for item in of_kind(manifests, "Deployment", "CronJob")}
    mounting = {
        name
        for name, pod in pods.items()
        for container in pod["containers"]
        if {"name": "store", "mountPath": "/store"} in container.get("volumeMounts", [])
    }
    assert mounting == {
        name for name, pod in pods.items() if "store" in {volume["name"] for volume in pod.get("volumes", [])}
    }
    return mounting


def test_without_a_bucket_the_same_pods_share_a_volume():
    assert users_of_the_volume(build("production with a volume")) == {"planarena-web", "planarena-queue", *MAINTENANCE}
    claim = named(build("production with a volume"), "PersistentVolumeClaim", "planarena-store")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


def test_processes_find_the_bucket_and_no_volume_is_made(manifests):
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    assert settings["PLANARENA_STORE"] == "s3://arena/site"
    assert settings["PLANARENA_S3_ENDPOINT"] == "http://minio.storage.svc:9000"
    assert settings["PLANARENA_S3_PUBLIC_ENDPOINT"] == "https://s3.example"
    assert not [one for one in of_kind(manifests, "PersistentVolumeClaim") if "store" in one["metadata"]["name"]]
    assert users_of_the_volume(manifests) == set()


def test_only_pods_that_read_or_write_objects_have_its_credentials(manifests):
    assert users_of_the_secret(manifests) == {"planarena-web", "planarena-queue", *MAINTENANCE}
    assert users_of_the_secret(build("production with a volume")) == set()


def test_a_role_of_the_node_needs_no_secret():
    assert users_of_the_secret(render(merged(PRODUCTION, BUCKET, {"store": {"secret": ""}}))) == set()


def test_web_queue_and_workers_reach_it_and_nobody_else(manifests):
    policies = of_kind(manifests, "NetworkPolicy")
    for namespace, component in ((SITE, "web"), (SITE, "queue"), (JOBS, "worker")):
        source = Pod(namespace=namespace, labels={"app.kubernetes.io/component": component})
        assert allowed(policies, source=source, target=MINIO, port=9000), component
        assert not allowed(policies, source=source, target=MINIO, port=9001), component
    for component in ("beat", "watch", "migrate", "model-mirror"):
        source = Pod(namespace=SITE, labels={"app.kubernetes.io/component": component})
        assert not allowed(policies, source=source, target=MINIO, port=9000), component


def test_workers_get_neither_its_address_nor_its_credentials(manifests):
    for item in of_kind(manifests, "Deployment"):
        if item["metadata"]["namespace"] == JOBS:
            for container in containers_of(item):
                assert not [name for name in environment_of(container) if "S3" in name or "AWS" in name]


def test_a_bucket_that_nobody_would_reach_is_refused():
    with pytest.raises(helm_python.HelmError, match=r"network\.to\.s3 is not enabled"):
        render(merged(PRODUCTION, {"network": {"to": {"s3": {"enabled": False}}}}))


def test_values_that_name_nothing_are_refused():
    wrong = {"bucket": ("arena/site", "s3://arena/../x"), "endpoint": ("minio:9000",), "secret": ("Not A Name",)}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(helm_python.HelmError, match=f"/store/{name}"):
                render(merged(PRODUCTION, BUCKET, {"store": {name: value}}))


def test_credentials_among_the_settings_are_refused():
    with pytest.raises(helm_python.HelmError, match="AWS_SECRET_ACCESS_KEY is a secret"):
        render(merged(PRODUCTION, {"settings": {"AWS_SECRET_ACCESS_KEY": "x"}}))
