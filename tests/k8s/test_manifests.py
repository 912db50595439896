"""The manifests as they will be applied: valid in every supported release, complete, hardened, least privileged."""

import re
from pathlib import Path

import pytest

from gpu_jobs.launchers.kubernetes import KubernetesLauncher, SettingsError, build_job, settings_from
from gpu_jobs.launchers.kubernetes.model_servers import build_model_servers
from leaderboard.site.secret_keys import ONLY_WEB
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes_api import FakeKubernetesApi
from tests.fakes.kubernetes_cluster import FakeCluster
from tests.fakes.kubernetes_schemas import VERSIONS, validate
from tests.gpu_jobs.kubernetes.making import EVALUATION, make_facts, make_launcher, make_settings
from tests.k8s.kustomize import ROOT, build, containers_of, documents, pod_of
from tests.k8s.policies import matches

MANUAL = Path("docs/operating.md").read_text(encoding="utf-8")
VARIANTS = {
    "dev": ("overlays/dev",),
    "production": ("overlays/production",),
    "production with Kueue": ("overlays/production", "components/kueue"),
    "production without proxy": ("overlays/production", "-components/egress-proxy", "components/direct-egress"),
    "production with a gateway": ("overlays/production", "-components/egress-proxy"),
    "production without gVisor": ("overlays/production", "components/without-gvisor"),
    "production with vLLM": ("overlays/production", "components/vllm"),
}
OPERATORS = {("planarena", name) for name in ("planarena-secrets", "planarena-web-secrets", "planarena-tls")}


@pytest.fixture(params=VARIANTS)
def manifests(request):
    """All manifests of one way to install."""
    return build(*VARIANTS[request.param])


def of_kind(manifests, *kinds):
    return [item for item in manifests if item["kind"] in kinds]


def names_of(manifests, kind):
    return {(item["metadata"].get("namespace"), item["metadata"]["name"]) for item in of_kind(manifests, kind)}


def name_of(item):
    return f"{item['kind']} {item['metadata']['name']}"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_valid(manifests, version):
    for item in manifests:
        if not item["apiVersion"].startswith("kueue."):
            validate(item, version=version)


def test_kueues_objects_refer_to_each_other():
    queue, local, flavor = (
        of_kind(build(*VARIANTS["production with Kueue"]), kind)[0]
        for kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor")
    )
    group = queue["spec"]["resourceGroups"][0]
    assert group["flavors"][0]["name"] == flavor["metadata"]["name"]
    assert [resource["name"] for resource in group["flavors"][0]["resources"]] == group["coveredResources"]
    assert local["spec"]["clusterQueue"] == queue["metadata"]["name"]
    assert local["metadata"]["namespace"] == "planarena-jobs"
    container = build_job(facts=make_facts(), generation=1, settings=settings_of("production with Kueue"))
    requests = container["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    # A Job that asks for something that the queue does not cover is inadmissible for ever.
    assert set(requests) <= set(group["coveredResources"])


def test_every_file_belongs_to_something():
    named = set()
    for path in ROOT.rglob("kustomization.yaml"):
        (own,) = documents(path)
        named |= {(path.parent / part).resolve() for part in own.get("resources", [])}
        named |= {(path.parent / patch["path"]).resolve() for patch in own.get("patches", [])}
    files = {path for folder in ("base", "components", "overlays") for path in (ROOT / folder).rglob("*.yaml")}
    assert {path for path in files if path.name != "kustomization.yaml"} <= named


def test_what_pods_refer_to_is_there_or_the_operators(manifests, request):
    dev = ("planarena", "planarena-postgres") in names_of(manifests, "Secret")
    secrets = names_of(manifests, "Secret") | (set() if dev else OPERATORS)
    for item in of_kind(manifests, "Deployment", "Job"):
        space, pod = item["metadata"]["namespace"], pod_of(item)
        if account := pod.get("serviceAccountName"):
            assert (space, account) in names_of(manifests, "ServiceAccount"), name_of(item)
        for source in (source for container in containers_of(item) for source in container.get("envFrom", [])):
            if "secretRef" in source:
                assert (space, source["secretRef"]["name"]) in secrets, name_of(item)
            else:
                assert (space, source["configMapRef"]["name"]) in names_of(manifests, "ConfigMap"), name_of(item)
        for volume in pod.get("volumes", []):
            if claim := volume.get("persistentVolumeClaim"):
                assert (space, claim["claimName"]) in names_of(manifests, "PersistentVolumeClaim"), name_of(item)
    for ingress in of_kind(manifests, "Ingress"):
        for tls in ingress["spec"].get("tls", []):
            assert (ingress["metadata"]["namespace"], tls["secretName"]) in secrets


def test_what_the_operator_brings_is_documented():
    overlay = (ROOT / "overlays/production/kustomization.yaml").read_text(encoding="utf-8")
    for namespace, name in OPERATORS:
        assert f"{namespace}/{name}" in overlay
        assert f"`{name}`" in MANUAL


def settings_of(variant):
    manifests = build(*VARIANTS[variant])
    data = next(item["data"] for item in of_kind(manifests, "ConfigMap"))
    # The template's digest stands for one that the operator puts there.
    environment = {name: value.replace("REGISTRY", "registry.example") for name, value in data.items()}
    if "PLANARENA_KUBERNETES_VLLM_IMAGE" in environment:
        environment["PLANARENA_KUBERNETES_VLLM_IMAGE"] = f"registry.example/vllm@sha256:{'ab' * 32}"
    return settings_from(environment=environment, api_url=data["PLANARENA_API_URL"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_settings_make_valid_model_servers_in_gvisor_unless_it_is_left_out(variant, version):
    settings = settings_of(variant)
    job = build_job(facts=make_facts(loads_model=True), generation=1, settings=settings)
    job["metadata"]["uid"] = "uid"
    made = build_model_servers(job=job, settings=settings)
    for item in made:
        validate(item, version=version)
        assert item["metadata"]["namespace"] == settings.namespace
    pod = pod_of(made[-1])
    in_gvisor = pod.get("runtimeClassName") == "gvisor"
    assert in_gvisor is (variant not in {"dev", "production without gVisor"})
    assert ("vllm" in pod["containers"][0]["command"][0]) is (variant == "production with vLLM")
    if variant != "dev":
        assert all("@sha256:" in one["image"] for one in containers_of(made[-1]))


def test_the_placeholder_of_vllm_s_image_is_refused():
    data = next(item["data"] for item in of_kind(build(*VARIANTS["production with vLLM"]), "ConfigMap"))
    environment = {name: value.replace("REGISTRY", "registry.example") for name, value in data.items()}
    with pytest.raises(SettingsError, match="in place of the zeros"):
        settings_from(environment=environment, api_url="http://site")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_settings_make_valid_jobs_that_fit_the_namespace(variant, version):
    manifests, settings = build(*VARIANTS[variant]), settings_of(variant)
    job = build_job(facts=make_facts(calls_endpoint=True), generation=1, settings=settings)
    validate(job, version=version)
    assert (settings.namespace, settings.service_account) in names_of(manifests, "ServiceAccount")
    assert settings.namespace == job["metadata"]["namespace"]
    assert settings.suspend is (variant == "production with Kueue")
    assert not [item for item in of_kind(manifests, "Secret") if item["metadata"]["namespace"] == settings.namespace], (
        "workers have no token in common"
    )
    host = re.sub(r"^http://|:8000$", "", settings.api_url)
    data = next(item["data"] for item in of_kind(manifests, "ConfigMap"))
    assert host in data["PLANARENA_ALLOWED_HOSTS"].split(",")


def test_every_setting_is_a_documented_one(manifests):
    for item in of_kind(manifests, "ConfigMap"):
        for name in item["data"]:
            assert f"`{name}`" in MANUAL, name


def test_pods_are_hardened(manifests):
    for item in of_kind(manifests, "Deployment", "Job"):
        pod = pod_of(item)
        assert pod["securityContext"]["runAsNonRoot"] is True, name_of(item)
        assert pod["securityContext"]["runAsUser"] > 0, name_of(item)
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name_of(item)
        for container in containers_of(item):
            where = f"{name_of(item)}: {container['name']}"
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, where
            assert container["securityContext"]["allowPrivilegeEscalation"] is False, where
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, where
            assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"]), where
            assert not container["image"].endswith(":latest"), where
            assert ":" in container["image"], where
        assert all("sizeLimit" in volume["emptyDir"] for volume in pod.get("volumes", []) if "emptyDir" in volume)


@pytest.mark.parametrize("variant", VARIANTS)
def test_programs_run_where_there_is_nothing_to_take(variant):
    manifests = build(*VARIANTS[variant])
    [item] = [one for one in of_kind(manifests, "Deployment") if one["metadata"]["name"] == "planarena-programs"]
    pod = pod_of(item)
    [container] = pod["containers"]
    assert item["metadata"]["namespace"] == "planarena-jobs"
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert "volumes" not in pod
    assert not {"env", "envFrom", "volumeMounts"} & set(container)
    assert not any("gpu" in name for amounts in container["resources"].values() for name in amounts)
    workers = build_job(facts=make_facts(), generation=1, settings=settings_of(variant))
    assert pod["securityContext"]["runAsUser"] != pod_of(workers)["securityContext"]["runAsUser"]
    assert (pod.get("runtimeClassName") == "gvisor") is (variant not in {"dev", "production without gVisor"})


def test_workers_are_told_where_programs_run():
    manifests = build(*VARIANTS["production"])
    [service] = [one for one in of_kind(manifests, "Service") if one["metadata"]["name"] == "planarena-programs"]
    where = f"planarena-programs.{service['metadata']['namespace']}.svc:{service['spec']['ports'][0]['port']}"
    job = build_job(facts=make_facts(), generation=1, settings=settings_of("production"))
    assert {"name": "PLANARENA_PROGRAMS", "value": where} in pod_of(job)["containers"][0]["env"]


def test_in_production_images_are_named_by_digest():
    for item in build("overlays/production"):
        assert all("@sha256:" in container["image"] for container in containers_of(item)), name_of(item)


def test_only_what_asks_the_api_server_has_a_token(manifests):
    with_token = {
        item["metadata"]["name"]
        for item in of_kind(manifests, "Deployment", "Job")
        if pod_of(item)["automountServiceAccountToken"]
    }
    assert with_token == {"planarena-queue", "planarena-watch"}
    assert all(item["automountServiceAccountToken"] is False for item in of_kind(manifests, "ServiceAccount"))


def test_only_web_pods_have_the_keys_of_the_web_process(manifests):
    for item in of_kind(manifests, "Deployment"):
        for container in containers_of(item):
            named = [source.get("secretRef", {}).get("name", "") for source in container.get("envFrom", [])]
            if not [name for name in named if name.startswith("planarena-secrets")]:
                continue
            is_web = item["metadata"]["name"] == "planarena-web"
            assert any(name.startswith("planarena-web-secrets") for name in named) is is_web
            role = {"name": "PLANARENA_ROLE", "value": "queue"}
            assert (role in container.get("env", [])) is not is_web, f"{name_of(item)}: {container['name']}"


def test_no_secret_of_the_queue_holds_a_key_of_the_web_process():
    for item in of_kind(build(*VARIANTS["dev"]), "Secret"):
        if item["metadata"]["name"].startswith("planarena-secrets"):
            assert not set(ONLY_WEB) & set(item["stringData"])


def test_the_role_allows_what_the_launcher_does_and_nothing_else():
    manifests = build(*VARIANTS["production with Kueue"])
    allowed = {
        (resource, verb)
        for role in of_kind(manifests, "Role")
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert allowed == used_by_the_launcher()
    assert {role["metadata"]["namespace"] for role in of_kind(manifests, "Role")} == {"planarena-jobs"}
    assert of_kind(manifests, "ClusterRole", "ClusterRoleBinding") == []
    for binding in of_kind(manifests, "RoleBinding"):
        assert [subject["name"] for subject in binding["subjects"]] == ["planarena-controller"]


def used_by_the_launcher():
    """Every kind of call that it makes, seen by the server."""
    with FakeKubernetesApi().serving() as api:
        cluster = FakeCluster(api, fate=lambda *_: None)
        launcher = make_launcher(api, cluster, suspend=True)
        handle = launcher.ensure(evaluation_id=EVALUATION)
        api.put("workloads", {"metadata": {"name": "w", "labels": {}}})
        launcher.alive(handle=handle)
        launcher.alive(handle=f"{handle}-abcde")
        launcher.stop_one(handle=f"{handle}-abcde")
        launcher._end(job=api.all("jobs")[0], because=launcher.status(evaluation_id=EVALUATION))
        client = api.client()
        for kind, prefix in (("jobs", "/apis/batch/v1"), ("pods", "/api/v1")):
            list(client.watch(api=prefix, kind=kind, selector="a=b", version="0", seconds=0))
        client.pods("a=b")
        client.refused_pods(job_uid="u")
        launcher.stop(handle=handle)
        models = KubernetesLauncher(
            client=client, settings=make_settings(), enrolments=FakeEnrolments(), now=lambda: cluster.now,
            facts=lambda evaluation: make_facts(evaluation_id=evaluation, loads_model=True),
        )  # fmt: skip
        models.ensure(evaluation_id=EVALUATION)
        models.stop_orphans(wanted=lambda _: [])
        return {call for request in api.requests if (call := verb_of(*request))}


def verb_of(method, path):
    found = re.search(r"/namespaces/planarena-jobs/(\w+)(/[^?]+)?(\?.*)?$", path)
    kind, name, query = found.groups()
    if kind == "workloads" and "v1beta1" in path:
        return None
    if method == "GET":
        return kind, "watch" if "watch=true" in (query or "") else "get" if name else "list"
    return kind, {"POST": "create", "PATCH": "patch", "DELETE": "delete"}[method]


def test_everything_that_runs_is_probed(manifests):
    for item in of_kind(manifests, "Deployment"):
        container = pod_of(item)["containers"][0]
        assert "livenessProbe" in container, name_of(item)
        serves = "ports" in container
        assert ("readinessProbe" if serves else "startupProbe") in container, name_of(item)


def labels_of(item):
    return item["spec"]["template"]["metadata"]["labels"]


def test_selectors_meet_pods(manifests):
    pods = [(item["metadata"]["namespace"], labels_of(item)) for item in of_kind(manifests, "Deployment", "Job")]
    worker = build_job(facts=make_facts(calls_endpoint=True), generation=1, settings=settings_of("dev"))
    pods.append(("planarena-jobs", labels_of(worker)))
    # The operator's, if there is one.
    pods.append(("planarena", {"app.kubernetes.io/component": "model-mirror"}))
    for item in of_kind(manifests, "Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service"):
        spec = item["spec"]
        selector = spec.get("podSelector", spec.get("selector", {}))
        selector = {"matchLabels": selector} if item["kind"] == "Service" else selector
        space = item["metadata"]["namespace"]
        assert any(space == where and matches(selector, labels) for where, labels in pods), name_of(item)


def test_nothing_is_allowed_that_is_not_named(manifests):
    policies = of_kind(manifests, "NetworkPolicy")
    denied = [item for item in policies if item["metadata"]["name"] == "default-deny"]
    spaces = {item["metadata"]["name"] for item in of_kind(manifests, "Namespace")}
    assert {item["metadata"]["namespace"] for item in denied} == spaces >= {"planarena", "planarena-jobs"}
    for item in denied:
        assert item["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    jobs = [item for item in policies if item["metadata"]["namespace"] == "planarena-jobs"]
    assert [item["metadata"]["name"] for item in jobs if "ingress" in item["spec"]] == ["programs"]
    rules = [rule for item in jobs for rule in item["spec"].get("egress", [])]
    assert all(rule.get("to") and rule.get("ports") for rule in rules)


def test_only_pods_that_call_endpoints_may_go_out():
    plain = build_job(facts=make_facts(), generation=1, settings=settings_of("dev"))
    for variant in VARIANTS.values():
        policies = of_kind(build(*variant), "NetworkPolicy")
        (out,) = [item for item in policies if item["metadata"]["name"] == "worker-endpoints"]
        assert not matches(out["spec"]["podSelector"], labels_of(plain))


def test_services_and_ingress_lead_to_ports_that_are_there(manifests):
    (web,) = [item for item in of_kind(manifests, "Deployment") if item["metadata"]["name"] == "planarena-web"]
    port = pod_of(web)["containers"][0]["ports"][0]
    (service,) = [item for item in of_kind(manifests, "Service") if item["metadata"]["name"] == "planarena-web"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert f"--port={port['containerPort']}" in pod_of(web)["containers"][0]["command"]
    (ingress,) = of_kind(manifests, "Ingress")
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] == service["metadata"]["name"]


def test_probes_ask_by_a_name_that_the_site_answers_to(manifests):
    hosts = next(item["data"] for item in of_kind(manifests, "ConfigMap"))["PLANARENA_ALLOWED_HOSTS"].split(",")
    for item in of_kind(manifests, "Deployment"):
        container = pod_of(item)["containers"][0]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if get := container.get(probe, {}).get("httpGet"):
                assert get["httpHeaders"][0]["value"] in hosts
                assert get["path"] in {"/health/live", "/health/ready"}


def test_commands_are_there(manifests):
    from django.core.management import get_commands

    known = get_commands()
    for item in of_kind(manifests, "Deployment", "Job"):
        for container in containers_of(item):
            line = " ".join(container.get("command", []))
            for command in re.findall(r"manage\.py (\S+)", line):
                assert command in known, f"{name_of(item)}: {line}"
            for module in re.findall(r"leaderboard\.[\w.]+(?=:\w)", line):
                assert Path(f"{module.replace('.', '/')}.py").is_file(), f"{name_of(item)}: {line}"
