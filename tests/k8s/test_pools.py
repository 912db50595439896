"""Pools of workers: what their pods are told, given and kept from, how they are scaled, and what the site knows."""

import json

import pytest
import yaml

from evaluator.execution.experts.host_memory import host_memory
from evaluator.execution.experts.profile import PROFILES, load_profile, profile_names
from gpu_jobs.__main__ import parser as worker_options
from gpu_jobs.model_server.serving import parser as server_options
from tests.k8s.chart import (
    CHART,
    GPU,
    JOBS,
    PRODUCTION,
    build,
    containers_of,
    environment_of,
    labels_of,
    merged,
    named,
    of_every_variant,
    of_kind,
    pod_of,
    render,
)

LOG_FORMAT = "PLANARENA_LOG_FORMAT"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


def pools(manifests, component="worker"):
    return [
        item
        for item in of_kind(manifests, "Deployment")
        if item["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]


def told(manifests):
    """What the site knows of its pools, by name."""
    data = named(manifests, "ConfigMap", "planarena-settings")["data"]
    return {pool["name"]: pool for pool in json.loads(data["PLANARENA_KUBERNETES_POOLS"])}


def container(item, name):
    (found,) = [one for one in containers_of(item) if one["name"] == name]
    return found


def torch_containers(item):
    """The containers of a worker or model server that load models."""
    return [one for one in containers_of(item) if one["name"] in {"worker", "model-server"}]


def pool_with(**values):
    manifests = render(merged(PRODUCTION, {"pools": [GPU | {"modelServer": {"kind": "pod"}} | values]}))
    return named(manifests, "Deployment", "planarena-pool-gpu")


@of_every_variant
def test_the_site_knows_every_pool_in_the_order_of_the_values(manifests):
    names = [f"planarena-pool-{name}" for name in told(manifests)]
    assert names == [item["metadata"]["name"] for item in pools(manifests)]
    for pool in told(manifests).values():
        assert set(pool) == {"name", "device", "takes", "endpoints", "most"}
        assert set(pool["takes"]) <= {"executed", "judged", "models"}


@of_every_variant
def test_what_a_pool_takes_its_pods_can_do(manifests):
    for item in pools(manifests):
        pool = told(manifests)[item["metadata"]["labels"]["planarena.io/pool"]]
        environment = environment_of(container(item, "worker"))
        assert environment["PLANARENA_DEVICE"] == pool["device"]
        assert ("models" in pool["takes"]) <= ("PLANARENA_MODEL_SERVER" in environment)
        resources = container(item, "worker")["resources"]
        has_gpu = "claims" in resources or any(name.startswith("nvidia.com/") for name in resources["limits"])
        assert has_gpu is (pool["device"] == "cuda")
        if pool["endpoints"]:
            assert labels_of(item)["planarena.io/egress"] == "endpoint"


@of_every_variant
def test_a_worker_gets_its_token_as_a_file_that_the_site_writes(manifests):
    for item in pools(manifests):
        name = item["metadata"]["name"]
        secret = named(manifests, "Secret", name)
        assert secret["metadata"]["namespace"] == JOBS
        assert not {"data", "stringData", "immutable"} & set(secret), "the site writes it, and an upgrade leaves it"
        (volume,) = [one for one in pod_of(item)["volumes"] if one["name"] == "enrolment"]
        assert volume["secret"]["secretName"] == name
        worker = container(item, "worker")
        (mount,) = [one for one in worker["volumeMounts"] if one["name"] == "enrolment"]
        assert mount["readOnly"] is True
        command = worker["command"]
        assert command[command.index("--token-file") + 1] == f"{mount['mountPath']}/token"
        others = [one for one in containers_of(item) if one["name"] != "worker"]
        assert not any(one["name"] == "enrolment" for other in others for one in other["volumeMounts"])
        assert "TOKEN" not in str([one.get("env") for one in containers_of(item)])


@of_every_variant
def test_workers_are_told_where_the_site_is_and_a_name_by_pod(manifests):
    for item in pools(manifests):
        worker = container(item, "worker")
        environment = environment_of(worker)
        assert environment["PLANARENA_API_URL"] == "http://planarena-web.planarena.svc:8000"
        service = named(manifests, "Service", "planarena-programs")
        where = f"planarena-programs.{JOBS}.svc:{service['spec']['ports'][0]['port']}"
        assert environment["PLANARENA_PROGRAMS"] == where
        parsed = worker_options().parse_args(worker["command"][3:])
        assert str(parsed.token_file) == "/run/planarena/enrolment/token"
        assert parsed.name == "$(POD_NAME)"
        assert parsed.idle_seconds is None, "a worker of a pool never ends by itself"
        assert parsed.evaluation is None


@of_every_variant
def test_workers_log_and_trace_as_the_site_does(manifests):
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    shared = {name: value for name, value in settings.items() if name.startswith("OTEL_") or name == LOG_FORMAT}
    for item in pools(manifests):
        worker = container(item, "worker")
        assert shared.items() <= environment_of(worker).items()
        headers = {"secretRef": {"name": "collector"}}
        assert (headers in worker.get("envFrom", [])) is bool(settings.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


@of_every_variant
def test_pods_of_a_pool_are_spread_and_a_rollout_waits_for_a_worker_that_has_started(manifests):
    for item in [*pools(manifests), *pools(manifests, "model-server")]:
        spread = pod_of(item)["topologySpreadConstraints"]
        assert {one["topologyKey"] for one in spread} == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
        for one in spread:
            assert one["whenUnsatisfiable"] == "ScheduleAnyway"
            assert one["labelSelector"] == item["spec"]["selector"]
    for item in pools(manifests):
        worker = container(item, "worker")
        alive, ready = (environment_of(worker)[f"PLANARENA_{sign}_FILE"] for sign in ("ALIVE", "READY"))
        assert worker["startupProbe"]["exec"]["command"] == ["test", "-e", alive]
        assert worker["readinessProbe"]["exec"]["command"] == ["test", "-e", ready]
        assert alive != ready
        assert item["spec"]["minReadySeconds"] < item["spec"]["progressDeadlineSeconds"]
        assert any(alive.startswith(mount["mountPath"]) for mount in worker["volumeMounts"])


@of_every_variant
def test_torch_has_shared_memory_everywhere_it_runs(manifests):
    for item in [*pools(manifests), *pools(manifests, "model-server")]:
        for one in torch_containers(item):
            (mount,) = [mount for mount in one["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
            (volume,) = [volume for volume in pod_of(item)["volumes"] if volume["name"] == mount["name"]]
            assert volume["emptyDir"]["medium"] == "Memory"


@of_every_variant
def test_a_model_server_has_nothing_of_the_worker(manifests):
    workers = {item["metadata"]["labels"]["planarena.io/pool"]: item for item in pools(manifests)}
    for item in pools(manifests, "model-server"):
        pod, pool = pod_of(item), item["metadata"]["labels"]["planarena.io/pool"]
        worker = workers[pool]
        assert pod["securityContext"]["runAsUser"] != pod_of(worker)["securityContext"]["runAsUser"]
        assert "serviceAccountName" not in pod
        assert pod["automountServiceAccountToken"] is False
        assert (pod["dnsPolicy"], pod["dnsConfig"]["nameservers"]) == ("None", ["127.0.0.1"])
        assert all(set(volume) == {"name", "emptyDir"} for volume in pod["volumes"])
        assert not any("PLANARENA_API_URL" in environment_of(one) for one in containers_of(item))
        service = named(manifests, "Service", f"planarena-models-{pool}")
        assert service["spec"]["clusterIP"] == "None"
        port = service["spec"]["ports"][0]["port"]
        where = environment_of(container(worker, "worker"))["PLANARENA_MODEL_SERVER"]
        assert where == f"planarena-models-{pool}.{JOBS}.svc:{port}"
        first = containers_of(item)[0]["command"]
        assert first[first.index("--listen") + 1] == f"0.0.0.0:{port}"


def test_a_model_server_in_the_worker_s_pod_is_a_sidecar_behind_a_socket():
    for variant, name in (("dev", "cpu"), ("production with everything", "shared")):
        item = named(build(variant), "Deployment", f"planarena-pool-{name}")
        server = container(item, "model-server")
        assert server in pod_of(item)["initContainers"]
        assert server["restartPolicy"] == "Always", "or the worker would wait for its end"
        own, worker = server["securityContext"], pod_of(item)["securityContext"]
        assert own["runAsUser"] != worker["runAsUser"]
        assert own["runAsGroup"] == worker["runAsGroup"], "they share the socket"
        mounts = {mount["name"] for mount in server["volumeMounts"]}
        assert mounts == {"model", "model-tmp", "model-shared-memory", "model-socket"}
        shared = mounts & {mount["name"] for mount in container(item, "worker")["volumeMounts"]}
        assert shared == {"model-socket"}
        options = server_options().parse_args(server["command"][3:])
        where = environment_of(container(item, "worker"))["PLANARENA_MODEL_SERVER"]
        assert where == f"unix:{options.listen.path}"


def test_one_gpu_for_worker_and_model_server_is_one_claim():
    item = named(build("production with everything"), "Deployment", "planarena-pool-shared")
    assert pod_of(item)["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    for one in torch_containers(item):
        assert one["resources"]["claims"] == [{"name": "gpu"}]
        assert "nvidia.com/gpu" not in one["resources"]["limits"]
    assert server_options().parse_args(container(item, "model-server")["command"][3:]).device == "cuda"


def test_quantities_of_every_kind_become_numbers():
    for cpu, threads in (("1500m", "1"), ("500m", "1"), ("4", "4"), (8, "8")):
        item = render(merged(PRODUCTION, {"pools": [
            GPU | {"modelServer": {"kind": "pod", "resources": {"cpu": cpu, "memory": "500M", "storage": "1.5Ti"}}}
        ]}))  # fmt: skip
        (server,) = containers_of(named(item, "Deployment", "planarena-models-gpu"))
        assert environment_of(server)["OMP_NUM_THREADS"] == threads
        assert environment_of(server)["PLANARENA_MODEL_MEMORY"] == "450000000", "nine tenths"
        assert str(3 * 2**39) in server["command"]


def test_downloaded_models_are_shared_by_the_pods_of_a_node():
    manifests = build("production with everything")
    item = named(manifests, "Deployment", "planarena-pool-gpu")
    mounts = {mount["name"]: mount for mount in container(item, "worker")["volumeMounts"]}
    # As gpu_jobs/__main__.py has it.
    assert mounts["models"]["mountPath"] == "/data/worker-models"
    assert mounts["weights"] == {"name": "weights", "mountPath": "/weights", "readOnly": True}
    assert environment_of(container(item, "worker"))["PLANARENA_WEIGHTS"] == "/weights"
    assert environment_of(container(item, "worker"))["PLANARENA_MODEL_LIMIT"] == "150GB"
    claim = named(manifests, "PersistentVolumeClaim", "models-node-1")
    volume = named(manifests, "PersistentVolume", "models-node-1")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"] == {"namespace": JOBS, "name": claim["metadata"]["name"]}
    assert volume["spec"]["local"] == {"path": "/srv/models"}
    assert claim["spec"]["accessModes"] == volume["spec"]["accessModes"]
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""


def test_workers_of_an_offline_pool_ask_no_hub_and_have_no_way_to_one():
    offline = pool_with(offline=True, endpoints=False, modelsClaim="models-node-1", weightsClaim="weights")
    environment = environment_of(container(offline, "worker"))
    assert (environment["HF_HUB_OFFLINE"], environment["TRANSFORMERS_OFFLINE"]) == ("1", "1")
    assert "planarena.io/egress" not in labels_of(offline)
    online = pool_with(endpoints=False)
    assert "HF_HUB_OFFLINE" not in environment_of(container(online, "worker"))
    assert labels_of(online)["planarena.io/egress"] == "endpoint"


# --- Scaling ----------------------------------------------------------------------------------------------------------


def test_keda_scales_by_the_numbers_of_the_site():
    manifests = build("production")
    scaled = {item["metadata"]["name"]: item for item in of_kind(manifests, "ScaledObject")}
    assert set(scaled) == {"planarena-pool-cpu", "planarena-pool-gpu", "planarena-models-gpu"}
    for name, item in scaled.items():
        pool = item["metadata"]["labels"]["planarena.io/pool"]
        (trigger,) = item["spec"]["triggers"]
        assert trigger["metadata"] == {
            "url": f"http://planarena-web.planarena.svc:8000/metrics/pools/{pool}",
            "valueLocation": "models" if "models" in name else "workers",
            "targetValue": "1",
            "authMode": "bearer",
        }
        assert item["spec"]["minReplicaCount"] == 0
        if "pool" in name:
            assert item["spec"]["maxReplicaCount"] == told(manifests)[pool]["most"]
        target = item["spec"]["scaleTargetRef"]
        assert named(manifests, "Deployment", target["name"])["metadata"]["namespace"] == item["metadata"]["namespace"]
    (authentication,) = of_kind(manifests, "TriggerAuthentication")
    assert authentication["metadata"]["namespace"] == JOBS, "KEDA reads it beside what it scales"
    assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
    (reference,) = authentication["spec"]["secretTargetRef"]
    assert reference == {"parameter": "token", "name": "planarena-metrics", "key": "PLANARENA_METRICS_TOKEN"}


def test_without_keda_a_pool_is_scaled_by_a_metric_or_has_a_number():
    manifests = build("production with everything")
    (hpa,) = [
        item for item in of_kind(manifests, "HorizontalPodAutoscaler") if item["metadata"]["name"] != "planarena-web"
    ]
    (metric,) = hpa["spec"]["metrics"]
    assert metric["external"]["metric"] == {
        "name": "planarena_pool_workers",
        "selector": {"matchLabels": {"pool": "cpu"}},
    }
    assert hpa["spec"]["minReplicas"] == 1
    assert named(manifests, "Deployment", "planarena-pool-always")["spec"]["replicas"] == 2
    names = {item["spec"]["scaleTargetRef"]["name"] for item in of_kind(manifests, "ScaledObject")}
    assert names == {"planarena-pool-gpu", "planarena-pool-shared", "planarena-models-gpu"}
    only = render(merged(PRODUCTION, {"poolDefaults": {"scaling": "none"}}))
    assert not of_kind(only, "ScaledObject", "TriggerAuthentication")


@of_every_variant
def test_a_worker_is_replaced_only_when_its_gpu_is_free_and_another_after_its_successor_is_ready(manifests):
    for item in [*pools(manifests), *pools(manifests, "model-server")]:
        has_gpu = "nvidia.com" in str(pod_of(item)["containers"]) or "resourceClaims" in pod_of(item)
        surge = {"maxSurge": 0, "maxUnavailable": 1} if has_gpu else {"maxSurge": 1, "maxUnavailable": 0}
        assert item["spec"]["strategy"]["rollingUpdate"] == surge
        assert item["spec"]["minReadySeconds"] == 20


def test_a_model_server_that_is_scaled_down_serves_its_worker_to_the_end():
    manifests = build("production")
    server = pod_of(named(manifests, "Deployment", "planarena-models-gpu"))
    worker = pod_of(named(manifests, "Deployment", "planarena-pool-gpu"))
    assert server["terminationGracePeriodSeconds"] == 1800 > worker["terminationGracePeriodSeconds"] == 45


# --- Kueue ------------------------------------------------------------------------------------------------------------


def test_kueue_admits_the_pods_of_a_pool_by_its_queue():
    manifests = build("production with Kueue")
    queues = {item["metadata"]["name"]: item for item in of_kind(manifests, "LocalQueue")}
    for item in [*pools(manifests), *pools(manifests, "model-server")]:
        labels = item["metadata"]["labels"]
        assert {name: labels_of(item).get(name) for name in (QUEUE, PRIORITY)} == {
            name: labels.get(name) for name in (QUEUE, PRIORITY)
        }
        assert queues[labels[QUEUE]]["metadata"]["namespace"] == item["metadata"]["namespace"]
        assert (labels.get(PRIORITY) == "low") is (labels["planarena.io/pool"] == "gpu")
    assert not any(QUEUE in item["metadata"]["labels"] for item in of_kind(build("production"), "Deployment"))


def test_kueue_s_objects_refer_to_each_other_and_the_quota_covers_every_request():
    manifests = build("production with Kueue")
    (queue,), (flavor,) = of_kind(manifests, "ClusterQueue"), of_kind(manifests, "ResourceFlavor")
    (group,) = queue["spec"]["resourceGroups"]
    assert group["flavors"][0]["name"] == flavor["metadata"]["name"]
    assert [resource["name"] for resource in group["flavors"][0]["resources"]] == group["coveredResources"]
    assert {item["spec"]["clusterQueue"] for item in of_kind(manifests, "LocalQueue")} == {queue["metadata"]["name"]}
    assert queue["spec"]["cohortName"] == "research"
    # A pod that asks for something that the queue does not cover is inadmissible for ever.
    for item in [*pools(manifests), *pools(manifests, "model-server")]:
        for one in containers_of(item):
            assert set(one["resources"]["requests"]) <= set(group["coveredResources"])


def test_the_operator_s_variables_win():
    worker = container(pool_with(env={"HOME": "/elsewhere", "PLANARENA_VERBOSE": 1}), "worker")
    found = environment_of(worker)
    assert (found["HOME"], found["PLANARENA_VERBOSE"]) == ("/elsewhere", "1")
    assert len({one["name"] for one in worker["env"]}) == len(worker["env"])


def test_memory_is_what_loading_the_profile_takes_for_each_worker_process():
    def memory(pool, **changes):
        manifests = render(merged(PRODUCTION, {"pools": [pool | changes]}))
        return container(pools(manifests)[0], "worker")["resources"]["limits"]["memory"]

    card, cpu = GPU | {"takes": ["executed"], "profile": "paper"}, {"name": "cpu", "takes": ["executed"]}
    paper = host_memory(load_profile("paper"), device="cuda").total
    assert memory(card) == f"{paper + 2}Gi"
    assert memory(card, gpu={"count": 2}, sharedMemory="1500Mi") == f"{2 * paper + 2}Gi"
    assert memory(cpu) == f"{host_memory(load_profile('lilliput'), device='cpu').total + 2}Gi"
    assert memory(cpu, takes=["judged"]) == "6Gi", "no expert is loaded"
    assert memory(cpu, resources={"memory": "9Gi"}) == "9Gi"
    with pytest.raises(Exception, match="profile ours, whose needs are not known"):
        memory(cpu, profile="ours")


def test_the_charts_needs_are_those_of_the_profiles():
    written = yaml.safe_load((CHART / "files" / "host-memory.yaml").read_text(encoding="utf-8"))
    del written["judged"]
    assert written == {
        name: {device: host_memory(load_profile(name), device=device).total for device in ("cpu", "cuda")}
        for name in profile_names(folder=PROFILES)
    }
