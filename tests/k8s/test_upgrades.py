"""`helm upgrade`, again and again: what is there already must be allowed to become what is applied."""

import itertools

import helm_python
import pytest

from tests.fakes.kubernetes.admission import refused_changes
from tests.k8s.admission import VERSIONS, check
from tests.k8s.chart import (
    CHART,
    PRODUCTION,
    VARIANTS,
    build,
    containers_of,
    environment_of,
    identity,
    labels_of,
    merged,
    named,
    of_each,
    of_kind,
    pod_of,
    render,
)  # fmt: skip

NEW_IMAGE = {"images": {"web": {"digest": f"sha256:{'12' * 32}"}, "worker": {"digest": f"sha256:{'34' * 32}"}}}
DEBUG = {"settings": {"PLANARENA_LOG_LEVEL": "DEBUG"}}


def refusals(before, after):
    """What the API server refuses when the second manifests are applied over the first."""
    there = {identity(item): item for item in before}
    return {
        identity(item): changed
        for item in after
        if identity(item) in there and (changed := refused_changes(before=there[identity(item)], after=item))
    }


@of_each(variant=VARIANTS)
def test_a_new_release_new_settings_and_the_same_again_are_applied_over_what_is_there(variant):
    steps = [
        render(values, revision=revision)
        for revision, values in enumerate(
            (
                VARIANTS[variant],
                VARIANTS[variant],
                merged(VARIANTS[variant], DEBUG),
                merged(VARIANTS[variant], DEBUG, NEW_IMAGE),
            ),
            start=1,
        )
    ]
    for before, after in itertools.pairwise(steps):
        assert refusals(before, after) == {}


@of_each(change=[pair for pair in itertools.permutations(VARIANTS, 2) if "dev" not in pair])
def test_one_way_to_install_can_become_any_other(change):
    before, after = change
    assert refusals(build(before), render(VARIANTS[after], revision=2)) == {}


CHANGES = [
    {"web": {"replicas": 5}, "queue": {"replicas": 3, "concurrency": 4}},
    {"web": {"autoscaling": {"enabled": True}}},
    {"store": {"size": "500Gi"}},
    {"priorityClasses": {"site": {"value": 5000}, "workers": {"value": -5}}},
    {"priorityClasses": {"create": False}},
    {"poolDefaults": {"scaling": "none"}},
    {"poolDefaults": {"scaling": "hpa"}},
    {"pools": [{"name": "cpu", "queue": "other", "most": 99, "endpoints": True, "sharedMemory": "8Gi"}]},
    {"pools": [{"name": "new"}]},
    {"migrate": {"lockSeconds": 3, "tries": 1}},
    {"programs": {"enabled": False}},
    {"monitoring": {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True}}},
    {"database": {"host": "db", "pooler": {"host": "pgbouncer"}}},
    {"egress": {"mode": "direct", "ports": [443]}},
]


@of_each(number=range(len(CHANGES)))
def test_any_value_can_be_changed_and_changed_back(number):
    change = CHANGES[number]
    first, second = build("production"), render(merged(PRODUCTION, change), revision=2)
    for item in second:
        check(item, version=VERSIONS[-1])
    assert refusals(first, second) == {}
    back = {} if "store" in change else refusals(second, render(PRODUCTION, revision=3))
    assert back == {}


def test_each_revision_has_a_migration_job_of_its_own_and_so_has_each_content_without_revisions():
    def name(values, revision):
        (job,) = of_kind(render(values, revision=revision), "Job")
        return job["metadata"]["name"]

    assert name(PRODUCTION, 1).startswith("planarena-migrate-1-")
    assert name(PRODUCTION, 7).startswith("planarena-migrate-7-")
    assert len({name(PRODUCTION, 1), name(merged(PRODUCTION, NEW_IMAGE), 1), name(merged(PRODUCTION, DEBUG), 1)}) == 3
    assert name(PRODUCTION, 1) == name(merged(PRODUCTION, {"web": {"replicas": 9}}), 1)


@of_each(variant=VARIANTS)
def test_one_job_migrates_and_all_pods_of_the_site_wait_for_it(variant):
    migrating, waiting = [], []
    for item in of_kind(build(variant), "Deployment", "Job"):
        commands = [" ".join(container.get("command", [])) for container in containers_of(item)]
        migrating += [item for command in commands if "manage.py migrate --no-input" in command]
        waiting += [item["metadata"]["name"] for command in commands if command.endswith("wait_for_migrations")]
    (job,) = migrating
    assert job["kind"] == "Job"
    assert int(environment_of(pod_of(job)["containers"][0])["PLANARENA_MIGRATION_LOCK_SECONDS"]) == 10
    assert job["spec"]["backoffLimit"] >= 10, "a lock that was held is tried for again"
    assert pod_of(job)["restartPolicy"] == "Never"
    assert sorted(waiting) == ["planarena-beat", "planarena-queue", "planarena-watch", "planarena-web"]


REPLICAS = """
replicas: {{ include "planarena.replicasOf" (dict "found" .Values.found "hasCluster" .Values.hasCluster "first" 0) }}
"""


@pytest.mark.parametrize(
    ("found", "has_cluster", "expected"),
    [
        ({}, {"kind": "Namespace"}, "replicas: 0"),
        ({"spec": {"replicas": 7}}, {"kind": "Namespace"}, "replicas: 7"),
        ({"spec": {"replicas": 0}}, {"kind": "Namespace"}, "replicas: 0"),
        ({}, {}, ""),
    ],
)
def test_a_pool_begins_without_pods_and_an_upgrade_leaves_the_number_that_it_was_scaled_to(
    tmp_path, found, has_cluster, expected
):
    """Without `replicas` Kubernetes starts one, and goes back to one when a number is taken away."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: part, version: 0.0.1}")
    (tmp_path / "templates" / "_helpers.tpl").write_text((CHART / "templates" / "_helpers.tpl").read_text())
    (tmp_path / "templates" / "part.yaml").write_text(REPLICAS)
    files = helm_python.Chart.load(tmp_path).render({"found": found, "hasCluster": has_cluster}, name="part")
    assert files["part/templates/part.yaml"].strip() == f"replicas: {expected}".strip()
    for name in ("web.yaml", "pools.yaml"):
        template = (CHART / "templates" / name).read_text()
        assert template.count("planarena.scaledReplicas") == {"web.yaml": 1, "pools.yaml": 2}[name]


def test_old_web_pods_answer_until_new_ones_do():
    web = named(build("production"), "Deployment", "planarena-web")
    assert web["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert pod_of(web)["initContainers"][0]["command"][-1] == "wait_for_migrations"
    assert web["spec"]["progressDeadlineSeconds"] >= 3600, "or the rollout would fail while the migrations run"


def test_changed_settings_replace_every_pod_that_reads_them():
    def templates(values):
        site = [item for item in of_kind(render(values), "Deployment") if item["metadata"]["namespace"] == "planarena"]
        return {identity(item): item["spec"]["template"] for item in site}

    before, after = templates(PRODUCTION), templates(merged(PRODUCTION, DEBUG))
    assert before.keys() == after.keys()
    assert len(before) == 4
    assert all(before[key] != after[key] for key in before)


def test_a_new_site_does_not_replace_workers_and_labels_of_pods_hold_no_version():
    before, after = build("production"), render(merged(PRODUCTION, DEBUG), revision=2)
    for item in of_kind(before, "Deployment"):
        if "planarena.io/pool" in labels_of(item):
            assert named(after, "Deployment", item["metadata"]["name"]) == item
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & set(labels_of(item))


def test_what_must_survive_an_uninstallation_is_kept():
    for variant in VARIANTS:
        for item in of_kind(build(variant), "PersistentVolumeClaim"):
            kept = item["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"
            assert kept is (item["metadata"]["name"] in {"planarena-store", "planarena-backups"})
