"""The manifests as they will be applied: valid in every supported release, complete, hardened, least privileged."""

import re
from pathlib import Path

import jsonschema
import pytest

from leaderboard.platform.secret_keys import ONLY_WEB
from tests.fakes.kubernetes.admission import not_restricted
from tests.k8s.admission import VERSIONS, check, is_custom
from tests.k8s.chart import (
    EGRESS,
    JOBS,
    SITE,
    VARIANTS,
    build,
    containers_of,
    environment_of,
    labels_of,
    named,
    of_each,
    of_every_variant,
    of_kind,
    pod_of,
)  # fmt: skip
from tests.k8s.policies import matches

MANUAL = Path("docs/install.md").read_text(encoding="utf-8")
SECRETS = {
    (SITE, name) for name in ("planarena-secrets", "planarena-web-secrets", "planarena-tls", "planarena-metrics")
}
OPERATORS = SECRETS | {
    (JOBS, "planarena-metrics"), (JOBS, "bucket"), (JOBS, "collector"), (SITE, "site-bucket"), (SITE, "collector")
}  # fmt: skip
NO_DATABASE = {"planarena-page-cache", "planarena-test"}
CLAIMS = {(JOBS, "weights"), (SITE, "artefacts")}


def names_of(manifests, kind):
    return {(item["metadata"].get("namespace"), item["metadata"]["name"]) for item in of_kind(manifests, kind)}


def name_of(item):
    return f"{item['kind']} {item['metadata']['name']}"


def with_pods(manifests):
    return of_kind(manifests, "Deployment", "Job", "CronJob")


@of_each(variant=VARIANTS, version=(VERSIONS[0], VERSIONS[-1]))
def test_every_manifest_is_valid(variant, version):
    for item in build(variant):
        check(item, version=version)


@pytest.mark.full
@of_each(variant=VARIANTS, version=VERSIONS[1:-1])
def test_every_manifest_is_valid_for_the_releases_between(variant, version):
    for item in build(variant):
        check(item, version=version)


def test_every_kind_of_custom_resource_is_among_the_variants_and_a_wrong_one_is_refused():
    kinds = {item["kind"]: item for variant in VARIANTS for item in build(variant) if is_custom(item)}
    assert set(kinds) == {
        "ScaledObject", "TriggerAuthentication", "ResourceFlavor", "ClusterQueue", "LocalQueue", "ServiceMonitor",
        "PrometheusRule", "PodMonitor", "HTTPRoute",
    }  # fmt: skip
    for item in kinds.values():
        item["spec"]["surprise"] = 1
        with pytest.raises(jsonschema.ValidationError, match="surprise"):
            check(item, version=VERSIONS[0])


@of_every_variant
def test_every_namespace_is_there_or_the_release_s(manifests):
    spaces = {item["metadata"]["name"] for item in of_kind(manifests, "Namespace")}
    used = {item["metadata"]["namespace"] for item in manifests if "namespace" in item["metadata"]}
    assert used - {SITE} <= spaces <= {SITE, JOBS, EGRESS}
    for item in of_kind(manifests, "Namespace"):
        assert item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@of_every_variant
def test_what_pods_refer_to_is_there_or_the_operators(manifests):
    own = {item["metadata"]["name"] for item in of_kind(manifests, "Secret") if "stringData" in item}
    secrets = names_of(manifests, "Secret") | {found for found in OPERATORS if found[1] not in own}
    classes = {name for _, name in names_of(manifests, "PriorityClass")}
    for item in with_pods(manifests):
        space, pod = item["metadata"]["namespace"], pod_of(item)
        if account := pod.get("serviceAccountName"):
            assert (space, account) in names_of(manifests, "ServiceAccount"), name_of(item)
        assert pod.get("priorityClassName") in classes | {None}, name_of(item)
        for space_, name in secrets_of(item):
            assert (space_, name) in secrets, name_of(item)
        for container in containers_of(item):
            for source in container.get("envFrom", []):
                if "configMapRef" in source:
                    assert (space, source["configMapRef"]["name"]) in names_of(manifests, "ConfigMap"), name_of(item)
        for volume in pod.get("volumes", []):
            if claim := volume.get("persistentVolumeClaim"):
                claims = names_of(manifests, "PersistentVolumeClaim") | CLAIMS
                assert (space, claim["claimName"]) in claims, name_of(item)
            if content := volume.get("configMap"):
                assert (space, content["name"]) in names_of(manifests, "ConfigMap"), name_of(item)
    for ingress in of_kind(manifests, "Ingress"):
        for tls in ingress["spec"].get("tls", []):
            assert (ingress["metadata"]["namespace"], tls["secretName"]) in secrets


def secrets_of(item):
    """Secrets that the pods of a manifest need."""
    space = item["metadata"]["namespace"]
    for container in containers_of(item):
        for source in container.get("envFrom", []):
            if "secretRef" in source:
                yield space, source["secretRef"]["name"]
        for variable in container.get("env", []):
            if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                yield space, reference["name"]
    for volume in pod_of(item).get("volumes", []):
        if "secret" in volume:
            yield space, volume["secret"]["secretName"]


@of_every_variant
def test_volumes_and_their_mounts_meet(manifests):
    for item in with_pods(manifests):
        volumes = {volume["name"] for volume in pod_of(item).get("volumes", [])}
        mounted = {mount["name"] for container in containers_of(item) for mount in container.get("volumeMounts", [])}
        assert volumes == mounted, name_of(item)


def test_what_the_operator_brings_is_documented():
    for _, name in SECRETS:
        assert f"`{name}`" in MANUAL, name


@of_every_variant
def test_pods_are_hardened(manifests):
    for item in with_pods(manifests):
        pod = pod_of(item)
        assert list(not_restricted(pod)) == [], name_of(item)
        assert pod["securityContext"]["runAsUser"] > 0, name_of(item)
        assert pod["enableServiceLinks"] is False, name_of(item)
        for container in containers_of(item):
            where = f"{name_of(item)}: {container['name']}"
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, where
            assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"]), where
            assert not container["image"].endswith(":latest"), where
            assert ":" in container["image"], where
        assert all("sizeLimit" in volume["emptyDir"] for volume in pod.get("volumes", []) if "emptyDir" in volume)


@of_each(variant=VARIANTS)
def test_programs_run_where_there_is_nothing_to_take(variant):
    manifests = build(variant)
    item = named(manifests, "Deployment", "planarena-programs")
    pod = pod_of(item)
    [container] = pod["containers"]
    assert item["metadata"]["namespace"] == JOBS
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert "volumes" not in pod
    assert not {"env", "envFrom", "volumeMounts"} & set(container)
    assert not any("gpu" in name for amounts in container["resources"].values() for name in amounts)
    workers = [one for one in of_kind(manifests, "Deployment") if labels_of(one).get("planarena.io/pool")]
    for worker in workers:
        assert pod["securityContext"]["runAsUser"] != pod_of(worker)["securityContext"]["runAsUser"]
    in_gvisor = {
        pod_of(one).get("runtimeClassName") == "gvisor" for one in of_kind(manifests, "Deployment")
        if labels_of(one)["app.kubernetes.io/component"] in {"programs", "model-server"}
    }  # fmt: skip
    assert in_gvisor == {variant not in {"dev", "production without gVisor"}}


def test_images_are_named_by_digest_outside_of_development():
    for variant in VARIANTS:
        for item in build(variant) if variant != "dev" else ():
            assert all("@sha256:" in container["image"] for container in containers_of(item)), name_of(item)


@of_every_variant
def test_only_what_asks_the_api_server_has_a_token(manifests):
    with_token = {
        item["metadata"]["name"] for item in with_pods(manifests) if pod_of(item)["automountServiceAccountToken"]
    }
    assert with_token == {"planarena-queue", "planarena-watch"}
    assert all(item["automountServiceAccountToken"] is False for item in of_kind(manifests, "ServiceAccount"))


@of_every_variant
def test_only_web_pods_have_the_keys_of_the_web_process(manifests):
    for item in with_pods(manifests):
        for container in containers_of(item):
            named_there = [source.get("secretRef", {}).get("name", "") for source in container.get("envFrom", [])]
            if "planarena-secrets" not in named_there:
                continue
            # Causes of hidden results need the seed.
            is_web = item["metadata"]["name"] in {"planarena-web", "planarena-find-causes"}
            assert ("planarena-web-secrets" in named_there) is is_web
            role = {"name": "PLANARENA_ROLE", "value": "queue"}
            assert (role in container.get("env", [])) is not is_web, f"{name_of(item)}: {container['name']}"


def test_no_secret_of_the_queue_holds_a_key_of_the_web_process():
    assert not set(ONLY_WEB) & set(named(build("dev"), "Secret", "planarena-secrets")["stringData"])


@of_each(variant=VARIANTS)
def test_the_role_allows_what_the_controller_does_and_nothing_else(variant):
    manifests = build(variant)
    (role,) = of_kind(manifests, "Role")
    pools = sorted(item["metadata"]["name"] for item in of_kind(manifests, "Deployment") if "-pool-" in name_of(item))
    rules = {
        (rule["apiGroups"][0], resource): (sorted(rule["verbs"]), rule.get("resourceNames"))
        for rule in role["rules"]
        for resource in rule["resources"]
    }
    expected = {
        ("", "pods"): (["delete", "get", "list", "patch", "watch"], None),
        ("apps", "deployments"): (["list"], None),
        ("", "secrets"): (["get", "patch"], pools),
    }
    if of_kind(manifests, "ScaledObject"):
        expected["keda.sh", "scaledobjects"] = (["list"], None)
    if variant == "production with Kueue":
        expected["kueue.x-k8s.io", "workloads"] = (["list"], None)
    assert {key: (verbs, names and sorted(names)) for key, (verbs, names) in rules.items()} == expected
    assert role["metadata"]["namespace"] == JOBS
    assert of_kind(manifests, "ClusterRole", "ClusterRoleBinding") == []
    (binding,) = of_kind(manifests, "RoleBinding")
    assert [(one["name"], one["namespace"]) for one in binding["subjects"]] == [("planarena-controller", SITE)]


@of_every_variant
def test_everything_that_runs_is_probed(manifests):
    for item in of_kind(manifests, "Deployment"):
        if labels_of(item).get("planarena.io/pool"):
            # The site watches workers by their heartbeats; a connection to a model server would count as a worker.
            continue
        container = pod_of(item)["containers"][0]
        assert {"livenessProbe", "startupProbe"} <= set(container), name_of(item)
        assert ("readinessProbe" in container) is ("ports" in container), name_of(item)


@of_every_variant
def test_selectors_meet_pods(manifests):
    pods = [(item["metadata"]["namespace"], labels_of(item)) for item in with_pods(manifests)]
    # The operator's, if there is one.
    pods.append((SITE, {"app.kubernetes.io/component": "model-mirror"}))
    for item in of_kind(manifests, "Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service"):
        spec = item["spec"]
        selector = spec.get("podSelector", spec.get("selector", {}))
        selector = {"matchLabels": selector} if item["kind"] == "Service" else selector
        space = item["metadata"]["namespace"]
        assert any(space == where and matches(selector, labels) for where, labels in pods), name_of(item)


@of_every_variant
def test_no_deployment_takes_the_pods_of_another(manifests):
    for item in of_kind(manifests, "Deployment"):
        selector, space = item["spec"]["selector"], item["metadata"]["namespace"]
        met = [
            name_of(other) for other in with_pods(manifests)
            if other["metadata"]["namespace"] == space and matches(selector, labels_of(other))
        ]  # fmt: skip
        assert met == [name_of(item)]


@of_every_variant
def test_what_is_scaled_or_budgeted_is_there_and_budgets_leave_room(manifests):
    deployments = {item["metadata"]["name"]: item for item in of_kind(manifests, "Deployment")}
    for item in of_kind(manifests, "ScaledObject", "HorizontalPodAutoscaler"):
        target = item["spec"]["scaleTargetRef"]
        assert "replicas" not in deployments[target["name"]]["spec"], "an upgrade would undo the scaling"
    for item in of_kind(manifests, "PodDisruptionBudget"):
        assert item["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        if "minAvailable" in item["spec"]:
            number = deployments[item["metadata"]["name"]]["spec"].get("replicas", 2)
            assert item["spec"]["minAvailable"] < number, "no drain would end"
        else:
            assert item["spec"]["maxUnavailable"] >= 1
    scaled = {
        item["spec"]["scaleTargetRef"]["name"] for item in of_kind(manifests, "ScaledObject", "HorizontalPodAutoscaler")
    }
    assert {name for name, item in deployments.items() if "replicas" not in item["spec"]} == scaled


@of_every_variant
def test_services_and_ingress_lead_to_ports_that_are_there(manifests):
    for service in of_kind(manifests, "Service"):
        (item,) = [
            one for one in of_kind(manifests, "Deployment")
            if one["metadata"]["namespace"] == service["metadata"]["namespace"]
            and matches({"matchLabels": service["spec"]["selector"]}, labels_of(one))
        ]  # fmt: skip
        ports = [port for container in containers_of(item) for port in container.get("ports", [])]
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            assert target in {one.get("name") for one in ports} | {one["containerPort"] for one in ports}, name_of(
                service
            )
    web = pod_of(named(manifests, "Deployment", "planarena-web"))["containers"][0]
    assert f"--port={web['ports'][0]['containerPort']}" in web["command"]
    (ingress,) = of_kind(manifests, "Ingress")
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] in {"planarena-web", "planarena-page-cache"}
    assert path["backend"]["service"]["port"] == {"name": "http"}


@of_every_variant
def test_only_readiness_depends_on_anything_but_the_process(manifests):
    container = pod_of(named(manifests, "Deployment", "planarena-web"))["containers"][0]
    asked = {probe: container[probe]["httpGet"]["path"] for probe in container if probe.endswith("Probe")}
    assert asked == {
        "startupProbe": "/health/live", "livenessProbe": "/health/live", "readinessProbe": "/health/ready?once",
    }  # fmt: skip
    # The probe's own deadline comes first, so that the answer says what is away.
    assert container["readinessProbe"]["timeoutSeconds"] > 2
    for name in ("queue", "beat", "watch"):
        (container,) = pod_of(named(manifests, "Deployment", f"planarena-{name}"))["containers"]
        alive = environment_of(container)["PLANARENA_ALIVE_FILE"]
        for probe in ("startupProbe", "livenessProbe"):
            assert f"find {alive} " in container[probe]["exec"]["command"][-1], name


@of_every_variant
def test_prometheus_may_ask_each_pod_by_its_address(manifests):
    container = pod_of(named(manifests, "Deployment", "planarena-web"))["containers"][0]
    names = [variable["name"] for variable in container["env"]]
    hosts = environment_of(container)["PLANARENA_ALLOWED_HOSTS"].split(",")
    assert hosts[-2:] == ["$(POD_IP)", "[$(POD_IP)]"], "IPv4, and IPv6 as a Host header has it"
    assert names.index("POD_IP") < names.index("PLANARENA_ALLOWED_HOSTS"), "or it is not replaced"
    shared = named(manifests, "ConfigMap", "planarena-settings")["data"]["PLANARENA_ALLOWED_HOSTS"].split(",")
    assert hosts[:-2] == shared


@of_every_variant
def test_commands_are_there(manifests):
    from django.core.management import get_commands

    known = get_commands()
    for item in with_pods(manifests):
        for container in containers_of(item):
            line = " ".join(container.get("command", []))
            for command in re.findall(r"manage\.py (\S+)", line):
                assert command in known, f"{name_of(item)}: {line}"
            for module in re.findall(r"leaderboard\.[\w.]+(?=:\w)", line):
                assert Path(f"{module.replace('.', '/')}.py").is_file(), f"{name_of(item)}: {line}"
            for module in re.findall(r"-m ((?:gpu_jobs|evaluator)[\w.]*)", line):
                path = Path(module.replace(".", "/"))
                assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), line


def test_only_workers_of_a_pool_with_a_bucket_have_its_credentials():
    manifests = build("production with everything")
    with_bucket = [item for item in with_pods(manifests) if (JOBS, "bucket") in set(secrets_of(item))]
    (item,) = with_bucket
    assert item["metadata"]["name"] == "planarena-pool-cpu"
    (worker,) = pod_of(item)["containers"]
    assert worker["command"][worker["command"].index("--store") + 1] == "s3://arena/steps"
    assert environment_of(worker)["PLANARENA_S3_ENDPOINT"] == "http://minio.storage.svc:9000"


def test_pods_go_through_pgbouncer_and_know_the_server_behind_it():
    manifests = build("production with everything")
    for item in with_pods(manifests):
        if item["metadata"]["namespace"] != SITE or item["metadata"]["name"] in NO_DATABASE:
            continue
        for container in containers_of(item):
            if container["name"] == "trusted":
                continue
            names = [variable["name"] for variable in container["env"]]
            found = environment_of(container)
            assert (
                found["DATABASE_URL"]
                == "postgresql://planarena:$(DATABASE_PASSWORD)@pgbouncer.internal:6432/planarena?sslmode=require"
            )
            assert found["DATABASE_DIRECT_URL"].partition("@")[2] == "db.internal:5432/planarena?sslmode=require"
            assert names.index("DATABASE_PASSWORD") < names.index("DATABASE_URL"), "or it is not replaced"
    without = pod_of(named(build("production"), "Deployment", "planarena-web"))["containers"][0]
    assert not {"DATABASE_URL", "DATABASE_PASSWORD"} & {variable["name"] for variable in without["env"]}
