"""The database that docs/back-up.md recommends: manifests that fit each other, the chart and the operator's schema."""

import jsonschema
import pytest
import yaml

from tests.k8s.admission import VERSIONS, check
from tests.k8s.chart import EXAMPLES, JOBS, PRODUCTION, ROOT, SITE, merged, of_kind, render
from tests.k8s.policies import Pod, allowed

PLUGIN = "barman-cloud.cloudnative-pg.io"


def manifests(name):
    return list(yaml.safe_load_all((ROOT / "examples" / "cloudnativepg" / f"{name}.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["cluster", "recovery"])
def test_the_operator_takes_them_and_refuses_what_it_does_not_know(name):
    for item in manifests(name):
        check(item, version=VERSIONS[0])
        with pytest.raises(jsonschema.ValidationError, match="surprise"):
            check(item | {"spec": item["spec"] | {"surprise": 1}}, version=VERSIONS[0])


def test_the_log_the_nightly_backup_and_the_recovery_use_one_bucket():
    store, cluster, nightly = manifests("cluster")
    (restored,) = manifests("recovery")
    (archiver,) = cluster["spec"]["plugins"]
    assert archiver == {
        "name": PLUGIN, "isWALArchiver": True, "parameters": {"barmanObjectName": store["metadata"]["name"]},
    }  # fmt: skip
    assert nightly["spec"]["cluster"]["name"] == cluster["metadata"]["name"]
    assert nightly["spec"]["pluginConfiguration"]["name"] == PLUGIN
    (source,) = restored["spec"]["externalClusters"]
    assert restored["spec"]["bootstrap"]["recovery"]["source"] == source["name"]
    assert source["plugin"]["parameters"] == {
        "barmanObjectName": store["metadata"]["name"], "serverName": cluster["metadata"]["name"],
    }  # fmt: skip
    assert restored["metadata"]["name"] != cluster["metadata"]["name"], "the old one stays until the new one is right"


def test_the_site_reaches_its_database_and_workers_do_not():
    policies = of_kind(render(merged(PRODUCTION, EXAMPLES["cloudnativepg"])), "NetworkPolicy")
    (_, cluster, _) = manifests("cluster")
    name, space = cluster["metadata"]["name"], cluster["metadata"]["namespace"]
    database = Pod(namespace=space, labels={"cnpg.io/cluster": name})
    assert EXAMPLES["cloudnativepg"]["database"]["host"] == f"{name}-rw.{space}.svc"
    for component in ("web", "queue", "migrate", "maintenance"):
        source = Pod(namespace=SITE, labels={"app.kubernetes.io/component": component})
        assert allowed(policies, source=source, target=database, port=5432), component
        assert not allowed(policies, source=source, target=Pod(namespace=space), port=5432), component
    worker = Pod(namespace=JOBS, labels={"app.kubernetes.io/component": "worker"})
    assert not allowed(policies, source=worker, target=database, port=5432)
