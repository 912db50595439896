"""Language models that the operator serves: vLLM in pods of their own with probes, and services that are there."""

import re

from evaluator.network.egress_policy import egress_policy
from evaluator.network.ssrf_guard import check_url
from tests.k8s.chart import (
    EXAMPLES,
    JOBS,
    SITE,
    build,
    containers_of,
    environment_of,
    labels_of,
    named,
    of_kind,
    pod_of,
)
from tests.k8s.policies import Pod, allowed

VARIANT = "production with language models"
WEB = Pod(namespace=SITE, labels={"app.kubernetes.io/component": "web"})
QUEUE = Pod(namespace=SITE, labels={"app.kubernetes.io/component": "queue"})
WORKER = Pod(namespace=JOBS, labels={"app.kubernetes.io/component": "worker"})
MODEL_SERVER = Pod(namespace=JOBS, labels={"app.kubernetes.io/component": "model-server"})
PROMETHEUS = Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus"})


def deployment(name, variant=VARIANT):
    return named(build(variant), "Deployment", f"planarena-llm-{name}")


def vllm(name):
    (found,) = containers_of(deployment(name))
    return found


def test_vllm_serves_a_commit_of_the_cache_and_a_folder():
    assert vllm("one")["command"] == [
        "vllm", "serve", "org/one", "--revision", "ab" * 20, "--served-model-name", "org/one:8b", "--port", "8000",
        "--load-format", "safetensors", "--max-model-len", "4096",
    ]  # fmt: skip
    assert vllm("two")["command"][2:5] == ["/models/two", "--served-model-name", "two"]
    assert vllm("two")["command"][-2:] == ["--tensor-parallel-size", "4"]
    assert vllm("two")["resources"]["limits"]["nvidia.com/gpu"] == "4"
    assert vllm("one")["image"].startswith("docker.io/vllm/vllm-openai@sha256:")
    assert vllm("two")["image"].startswith("registry.example/vllm@sha256:")


def test_a_pod_is_ready_when_its_model_answers_and_may_take_its_time_to_load():
    one = vllm("one")
    (port,) = one["ports"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert one[probe]["httpGet"] == {"path": "/health", "port": port["name"]}
    assert one["startupProbe"]["periodSeconds"] * one["startupProbe"]["failureThreshold"] == 1800
    service = named(build(VARIANT), "Service", "planarena-llm-one")["spec"]
    assert service["selector"].items() <= labels_of(deployment("one")).items()
    assert not service["selector"].items() <= labels_of(deployment("two")).items()
    assert service["ports"] == [{"name": "http", "port": port["containerPort"], "targetPort": "http"}]
    assert deployment("one")["spec"]["progressDeadlineSeconds"] > 1800


def test_a_pod_holds_no_secret_reads_its_files_only_and_is_offline():
    for name in ("one", "two"):
        pod, container = pod_of(deployment(name)), vllm(name)
        assert pod["automountServiceAccountToken"] is False
        assert "serviceAccountName" not in pod
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert "envFrom" not in container
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert not re.findall("PLANARENA|TOKEN|SECRET|PROXY", " ".join(environment_of(container)))
        assert environment_of(container)["HF_HUB_OFFLINE"] == "1"
        assert environment_of(container)["HF_HUB_CACHE"] == "/models"
        assert {"name": "models", "mountPath": "/models", "readOnly": True} in container["volumeMounts"]
        assert not [argument for argument in container["command"] if "trust" in argument]


def test_workers_and_web_pods_know_every_model_and_may_call_it():
    for variant, urls in {
        VARIANT: [f"http://planarena-llm-{name}.{JOBS}.svc:8000/v1" for name in ("one", "two")],
        "example kserve": [EXAMPLES["kserve"]["languageModels"][0]["url"]],
        "production": [],
    }.items():
        manifests = build(variant)
        worker = environment_of(containers_of(named(manifests, "Deployment", "planarena-pool-cpu"))[0])
        site = named(manifests, "ConfigMap", "planarena-settings")["data"]
        for environment in (worker, site):
            policy = egress_policy({name: environment.get(name, "") for name in ("PLANARENA_OWN_MODELS",)})
            assert [model.url for model in policy.own_models] == urls
            for url in urls:
                check_url(url=url, allow_private=False, policy=policy)


def test_a_model_is_reached_by_those_who_ask_it_and_reaches_nothing():
    manifests = build(VARIANT)
    policies = of_kind(manifests, "NetworkPolicy")
    one = Pod(namespace=JOBS, labels=labels_of(deployment("one")))
    two = Pod(namespace=JOBS, labels=labels_of(deployment("two")))
    for peer in (WEB, WORKER, PROMETHEUS):
        assert allowed(policies, source=peer, target=one, port=8000)
        assert not allowed(policies, source=peer, target=one, port=22)
    for peer in (QUEUE, MODEL_SERVER, two, Pod(namespace="default")):
        assert not allowed(policies, source=peer, target=one, port=8000)
    for peer in (WEB, WORKER, QUEUE, two, PROMETHEUS):
        assert not allowed(policies, source=one, target=peer, port=8000)


def test_a_service_that_is_there_gets_a_way_to_it_and_nothing_else():
    manifests = build("example kserve")
    assert not [item for item in manifests if item["metadata"]["name"].startswith("planarena-llm")]
    policies = of_kind(manifests, "NetworkPolicy")
    qwen = Pod(namespace="models", labels={"serving.kserve.io/inferenceservice": "qwen"})
    other = Pod(namespace="models", labels={"serving.kserve.io/inferenceservice": "other"})
    for peer in (WEB, WORKER):
        assert allowed(policies, source=peer, target=qwen, port=8080)
        assert not allowed(policies, source=peer, target=qwen, port=22)
        assert not allowed(policies, source=peer, target=other, port=8080)


def test_a_model_is_scaled_by_its_requests_and_never_to_none():
    scaled = named(build("example vllm"), "ScaledObject", "planarena-llm-llama")
    assert (scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"]) == (1, 4)
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["metadata"] == {
        "serverAddress": "http://prometheus-operated.monitoring.svc:9090",
        "query": 'sum({__name__=~"vllm:num_requests_(running|waiting)",namespace="planarena-jobs",'
        'pod=~"planarena-llm-llama-[0-9a-z]+-[0-9a-z]+"})',
        "threshold": "64",
    }
    assert "replicas" not in deployment("llama", "example vllm")["spec"], "KEDA's"
    assert deployment("one")["spec"]["replicas"] == 1
    hpa = named(build(VARIANT), "HorizontalPodAutoscaler", "planarena-llm-two")
    assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (1, 3)
    assert hpa["spec"]["metrics"][0]["pods"]["metric"]["name"] == "vllm_num_requests"


def test_prometheus_reads_each_model():
    manifests = build(VARIANT)
    for name in ("one", "two"):
        monitor = named(manifests, "ServiceMonitor", f"planarena-llm-{name}")["spec"]
        service = named(manifests, "Service", f"planarena-llm-{name}")["metadata"]["labels"]
        assert monitor["selector"]["matchLabels"].items() <= service.items()
        assert monitor["endpoints"][0]["path"] == "/metrics"
