"""What values add to pods, alike for every workload: labels, annotations, variables, volumes, node pools, roles, a
private authority; and the Gateway beside the Ingress."""

import functools

import helm_python
import pytest

from tests.k8s.chart import (
    EVERYTHING,
    JOBS,
    LANGUAGE_MODELS,
    PRODUCTION,
    SITE,
    VOLUME,
    Json,
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
)
from tests.k8s.policies import Host, Pod, allowed

FULL = merged(
    PRODUCTION, LANGUAGE_MODELS, {"images": {"nginx": EVERYTHING["images"]["nginx"]}, "pageCache": {"enabled": True}}
)
"""Values with at least one workload of each kind."""
WORKLOADS = {
    "web": ("web",), "pageCache": ("page-cache",), "queue": ("queue",), "beat": ("beat",), "watch": ("watch",),
    "migrate": ("migrate",), "maintenance": ("maintenance",), "programs": ("programs",),
    "egress.proxy": ("egress-proxy",), "poolDefaults": ("worker",), "poolDefaults.modelServer": ("model-server",),
    "languageModelDefaults": ("language-model",),
}  # fmt: skip
"""Components of the pods, by the path of the values of their workload."""
CONFINED = {"programs", "model-server"}
ADDED: Json = {
    "podLabels": {"team": "arena"},
    "podAnnotations": {"example.com/a": "1"},
    "extraEnv": [{"name": "ADDED", "value": "yes"}],
    "extraVolumes": [{"name": "added", "emptyDir": {"sizeLimit": "1Mi"}}],
    "extraVolumeMounts": [{"name": "added", "mountPath": "/added"}],
}
PLACED: Json = {
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "own", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}


def at(path: str, values: Json) -> Json:
    return functools.reduce(lambda inner, name: {name: inner}, reversed(path.split(".")), values)


def pods(manifests: list[Json], component: str) -> list[tuple[Json, Json]]:
    """Metadata and spec of the pods of a component."""
    found = []
    for item in manifests:
        if pod_of(item) is not None and labels_of(item)["app.kubernetes.io/component"] == component:
            job = item["spec"]["jobTemplate"] if item["kind"] == "CronJob" else item
            found.append((job["spec"]["template"]["metadata"], job["spec"]["template"]["spec"]))
    assert found, component
    return found


def has_added(pod: Json) -> bool:
    """Whether every container of a pod has the variable and the volume; False if none has."""
    found = {
        environment_of(one).get("ADDED") == "yes" and {"name": "added", "mountPath": "/added"} in one["volumeMounts"]
        for one in [*pod.get("initContainers", []), *pod["containers"]]
        if one["name"] != "trusted"
    }
    assert found == {any(volume["name"] == "added" for volume in pod.get("volumes", []))}
    return found == {True}


@of_each(path=WORKLOADS)
def test_a_workload_gets_its_own_additions_and_no_other_does(path):
    manifests = render(merged(FULL, at(path, ADDED)))
    others = {name for one, names in WORKLOADS.items() if one != path for name in names}
    for component in WORKLOADS[path]:
        for metadata, pod in pods(manifests, component):
            assert metadata["labels"]["team"] == "arena"
            assert metadata["annotations"]["example.com/a"] == "1"
            assert has_added(pod)
    for component in others:
        for metadata, pod in pods(manifests, component):
            assert "team" not in metadata["labels"], component
            assert not has_added(pod), component


def test_additions_for_all_pods_reach_all_but_variables_and_volumes_of_what_runs_strangers_code():
    manifests = render(merged(FULL, {"podDefaults": ADDED}))
    for names in WORKLOADS.values():
        for component in names:
            for metadata, pod in pods(manifests, component):
                assert metadata["labels"]["team"] == "arena", component
                assert metadata["annotations"]["example.com/a"] == "1", component
                assert has_added(pod) is (component not in CONFINED), component


def test_a_workload_s_own_label_wins_and_lists_are_joined():
    values = {
        "podDefaults": ADDED,
        "web": {"podLabels": {"team": "web"}, "extraEnv": [{"name": "OWN", "value": "1"}]},
        "pools": [{"name": "a", "podLabels": {"team": "a"}}],
    }
    manifests = render(merged(PRODUCTION, values))
    ((metadata, pod),) = pods(manifests, "web")
    assert metadata["labels"]["team"] == "web"
    assert {"ADDED", "OWN"} <= set(environment_of(pod["containers"][0]))
    ((metadata, pod),) = pods(manifests, "worker")
    assert metadata["labels"]["team"] == "a"
    assert "ADDED" in environment_of(pod["containers"][0])


@of_each(path=WORKLOADS)
def test_a_workload_has_the_place_of_its_values_and_of_its_node_pool(path):
    pools = {"special": {"nodeSelector": {"pool": "special"}, "tolerations": [{"key": "pool", "operator": "Exists"}]}}
    manifests = render(merged(FULL, {"nodePools": pools}, at(path, PLACED | {"nodePool": "special"})))
    for component in WORKLOADS[path]:
        for _, pod in pods(manifests, component):
            assert pod["nodeSelector"] == {"disk": "fast", "pool": "special"}
            assert {"own", "pool"} <= {one["key"] for one in pod["tolerations"]}
            assert pod["affinity"] == PLACED["affinity"]


def test_node_pools_follow_the_device():
    values = {"nodePools": {name: {"nodeSelector": {"class": name}} for name in ("site", "cpu", "cuda")}}
    manifests = render(merged(FULL, values))
    of = {item["metadata"]["name"]: pod_of(item)["nodeSelector"]["class"] for item in of_kind(manifests, "Deployment")}
    assert of == {
        **dict.fromkeys(["planarena-web", "planarena-queue", "planarena-beat", "planarena-watch"], "site"),
        **dict.fromkeys(["planarena-page-cache", "planarena-egress-proxy"], "site"),
        **dict.fromkeys(["planarena-programs", "planarena-pool-cpu"], "cpu"),
        **dict.fromkeys(["planarena-pool-gpu", "planarena-models-gpu"], "cuda"),
        **dict.fromkeys(["planarena-llm-one", "planarena-llm-two"], "cuda"),
    }  # fmt: skip


def test_a_node_pool_that_is_not_there_is_refused():
    with pytest.raises(helm_python.HelmError, match=r"nodePool h200 is not in nodePools, which has cpu, cuda, site"):
        render(merged(PRODUCTION, {"pools": [{"name": "a", "nodePool": "h200"}]}))


def test_service_accounts_have_the_roles_of_the_values():
    roles = {name: {"annotations": {"eks.amazonaws.com/role-arn": name}} for name in ("site", "controller", "worker")}
    manifests = render(merged(PRODUCTION, {"serviceAccounts": roles}))
    found = {
        identity(item): item["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
        for item in of_kind(manifests, "ServiceAccount")
    }
    assert found == {
        ("ServiceAccount", SITE, "planarena-site"): "site",
        ("ServiceAccount", SITE, "planarena-controller"): "controller",
        ("ServiceAccount", JOBS, "planarena-worker"): "worker",
    }


def test_pods_reach_what_gives_credentials_for_their_accounts_and_nothing_else_does():
    policies = of_kind(build("production with everything"), "NetworkPolicy")
    for component, space in (("web", SITE), ("queue", SITE), ("maintenance", SITE), ("worker", JOBS), ("beat", SITE)):
        source = Pod(namespace=space, labels={"app.kubernetes.io/component": component})
        assert allowed(policies, source=source, target=Host(address="169.254.170.23"), port=80) is (
            component != "beat"
        ), component


VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "PGSSLROOTCERT")


@of_each(given=["certificates", "configMap"])
def test_a_private_authority_is_trusted_beside_the_public_ones(given):
    certificates = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
    values = {"certificates": {"certificates": certificates}, "configMap": {"configMap": "our-ca"}}[given]
    manifests = render(merged(FULL, {"privateCA": values}))
    made = {identity(item)[1:] for item in of_kind(manifests, "ConfigMap") if "ca.crt" in item["data"]}
    expected = {(space, "planarena-private-ca") for space in (SITE, JOBS)}
    assert made == (expected if given == "certificates" else set())
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    for component in ("web", "queue", "beat", "watch", "migrate", "maintenance", "worker"):
        for _, pod in pods(manifests, component):
            first = pod["initContainers"][0]
            assert first["name"] == "trusted", component
            assert first["command"][-1] == (
                "{ cat /etc/ssl/certs/ca-certificates.crt; echo; cat /private-ca/ca.crt; } > /trusted/ca.crt"
            )
            for one in [*pod["initContainers"][1:], *pod["containers"]]:
                found = environment_of(one) if component == "worker" else settings
                assert {found[name] for name in VARIABLES} == {"/trusted/ca.crt"}, component
                mounts = {mount["name"]: mount for mount in one["volumeMounts"]}
                assert mounts["trusted"] == {"name": "trusted", "mountPath": "/trusted", "readOnly": True}, component
    for component in ("programs", "model-server", "language-model"):
        assert all("trusted" not in str(pod) for _, pod in pods(manifests, component))


def test_another_authority_replaces_the_pods():
    def annotations(text: str) -> list[Json]:
        certificates = f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
        manifests = render(merged(PRODUCTION, {"privateCA": {"certificates": certificates}}))
        return [metadata["annotations"] for name in ("web", "queue", "worker") for metadata, _ in pods(manifests, name)]

    assert all(before != after for before, after in zip(annotations("AA=="), annotations("BB=="), strict=True))


def test_the_gateway_leads_where_the_ingress_does():
    manifests = build("production with everything")
    route = named(manifests, "HTTPRoute", "planarena")["spec"]
    assert route["parentRefs"] == [{"name": "public", "namespace": "gateways", "sectionName": "https"}]
    assert route["hostnames"] == ["arena.example"]
    (rule,) = route["rules"]
    (backend,) = rule["backendRefs"]
    service = named(manifests, "Service", backend["name"])
    assert backend["port"] == service["spec"]["ports"][0]["port"]
    (path,) = named(manifests, "Ingress", "planarena")["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] == backend["name"]
    assert rule["timeouts"] == {"request": "0s"}, "event streams do not end"


@pytest.mark.parametrize(
    ("ingress", "gateway", "scheme"),
    [
        ({}, {}, "https"),
        ({"tlsSecret": ""}, {}, "http"),
        ({"enabled": False, "tlsSecret": ""}, {"enabled": True, "parents": [{"name": "a"}]}, "https"),
        ({"enabled": False}, {"enabled": True, "https": False, "parents": [{"name": "a"}]}, "http"),
    ],
)
def test_the_site_knows_whether_its_address_has_tls(ingress, gateway, scheme):
    manifests = render(merged(PRODUCTION, {"ingress": ingress, "gateway": gateway}))
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    assert settings["PLANARENA_SITE_URL"] == f"{scheme}://arena.example"


def test_the_password_may_be_in_the_secret_of_another_operator():
    values = {"database": {"host": "db", "passwordSecret": {"name": "planarena-db-app", "key": "password"}}}
    for item in of_kind(render(merged(PRODUCTION, values)), "Deployment", "Job", "CronJob"):
        for one in containers_of(item) if item["metadata"]["namespace"] == SITE else ():
            (found,) = [variable for variable in one["env"] if variable["name"] == "DATABASE_PASSWORD"]
            assert found["valueFrom"]["secretKeyRef"] == {"name": "planarena-db-app", "key": "password"}


def test_the_store_of_a_cluster_is_a_bucket_unless_a_volume_is_asked_for():
    with pytest.raises(helm_python.HelmError, match=r"store\.bucket is empty: name the bucket"):
        render(merged(PRODUCTION, {"store": {"bucket": ""}}))
    with pytest.raises(helm_python.HelmError, match=r"store\.existingClaim is set and store\.kind is bucket"):
        render(merged(PRODUCTION, {"store": {"existingClaim": "a"}}))
    with pytest.raises(helm_python.HelmError, match=r"store\.kind is volume and store\.bucket is set"):
        render(merged(PRODUCTION, VOLUME, {"store": {"bucket": "s3://arena/site"}}))


def test_the_migration_waits_for_the_database():
    job = next(item for item in of_kind(build("production"), "Job") if "migrate" in item["metadata"]["name"])
    assert pod_of(job)["initContainers"][-1]["command"][-2:] == ["wait_for_migrations", "--only-database"]
