"""The one file of values: what is wrong in it is refused with its place, and what the documentation shows works."""

import re
from pathlib import Path

import helm_python
import yaml

from tests.k8s.chart import (
    CHART,
    DEV,
    EXAMPLES,
    JOBS,
    PRODUCTION,
    VARIANTS,
    chart_values,
    containers_of,
    environment_of,
    merged,
    named,
    of_kind,
    render,
)

MANUAL = Path("docs/install.md").read_text(encoding="utf-8")


def test_the_chart_has_nothing_to_be_corrected():
    for values in VARIANTS.values():
        report = helm_python.lint(CHART, values, strict=True, namespace="planarena")
        assert report["errors"] == []
        assert [one["error"] for one in report["messages"]] == ["icon is recommended"]


WRONG = [
    ({"host": ""}, "/host"),
    ({"podDefaults": {"extraVolume": []}}, "'/podDefaults': additional properties 'extraVolume'"),
    ({"podDefaults": {"podLabels": {"app.kubernetes.io/component": "web"}}}, "Name 'app.kubernetes.io/component'"),
    ({"web": {"podLabels": {"a": "no spaces"}}}, "/web/podLabels/a"),
    ({"web": {"extraEnv": [{"name": "A", "values": "b"}]}}, "/web/extraEnv/0.*'values'"),
    ({"queue": {"extraEnv": [{"name": "A-B", "value": "b"}]}}, "/queue/extraEnv/0/name"),
    ({"beat": {"extraVolumes": [{"name": "host", "hostPath": {"path": "/"}}]}}, "/beat/extraVolumes/0.*'hostPath'"),
    ({"beat": {"extraVolumes": [{"name": "tmp", "emptyDir": {}}]}}, "/beat/extraVolumes/0/name"),
    ({"watch": {"extraVolumeMounts": [{"name": "a"}]}}, "/watch/extraVolumeMounts/0.*'mountPath'"),
    ({"serviceAccounts": {"web": {}}}, "/serviceAccounts.*'web'"),
    ({"nodePools": {"cuda": {"taints": []}}}, "/nodePools/cuda.*'taints'"),
    ({"privateCA": {"certificates": "AA=="}}, "/privateCA/certificates"),
    ({"privateCA": {"certificates": "-----BEGIN CERTIFICATE-----", "configMap": "a"}}, "both certificates and configM"),
    ({"gateway": {"enabled": True}}, "gateway.parents is empty"),
    ({"gateway": {"parents": [{"namespace": "a"}]}}, "/gateway/parents/0.*'name'"),
    ({"gateway": {"requestTimeout": "1 hour"}}, "/gateway/requestTimeout"),
    ({"store": {"kind": "folder"}}, "/store/kind"),
    ({"network": {"to": {"identity": {"enabled": True}}}}, "network.to.identity.peers is empty"),
    ({"hots": "arena.example"}, "'hots'"),
    ({"web": {"replica": 3}}, "'/web': additional properties 'replica'"),
    ({"web": {"replicas": "3"}}, "/web/replicas"),
    ({"web": {"resources": {"limits": {"memory": "4 GB"}}}}, "/web/resources/limits/memory"),
    ({"images": {"web": {"digest": "sha256:abc"}}}, "/images/web/digest"),
    ({"images": {"web": {"digest": f"sha256:{'0' * 64}"}}}, r"images\.web\.digest: replace the zeros"),
    ({"images": {"worker": {"digest": ""}}}, r"images\.worker\.digest is not set"),
    ({"images": {"worker": {"digest": "", "tag": "1.0"}}}, r"images\.worker\.digest is not set"),
    ({"images": {"worker": {"tag": "latest"}}}, "/images/worker/tag"),
    ({"settings": {"DATABASE_URL": "postgresql://x"}}, r"settings\.DATABASE_URL is a secret"),
    ({"settings": {"PLANARENA_SECRET_KEY": "x"}}, r"settings\.PLANARENA_SECRET_KEY is a secret"),
    ({"settings": {"lower": "x"}}, "lower"),
    ({"locks": {"paper": {"signature": "{}"}}}, "/locks/paper.*'lock'"),
    ({"locks": {"paper": "lock.json"}}, "/locks/paper"),
    ({"locks": {"../paper": {"lock": "{}"}}}, r"propertyName '\.\./paper'"),
    ({"store": {"accessModes": ["ReadWrite"]}}, "/store/accessModes/0"),
    ({"pools": [{"name": "a", "store": "/data"}]}, "/pools/0/store"),
    ({"egress": {"mode": "open"}}, "/egress/mode"),
    ({"tracing": {"endpoint": "collector:4318"}}, "/tracing/endpoint"),
    ({"tracing": {"endpoint": "http://user:password@collector:4318"}}, "/tracing/endpoint"),
    ({"tracing": {"ratio": 1.5}}, "/tracing/ratio"),
    ({"settings": {"OTEL_EXPORTER_OTLP_HEADERS": "x"}}, r"settings\.OTEL_EXPORTER_OTLP_HEADERS is a secret"),
    ({"egress": {"ports": [0]}}, "/egress/ports/0"),
    ({"network": {"from": {"grafana": {"enabled": True}}}}, "'grafana'"),
    ({"network": {"to": {"database": {"ports": []}}}}, "/network/to/database/ports"),
    ({"namespaces": {"jobs": "planarena"}}, r"namespaces: .* need namespaces of their own"),
    ({"pools": [{"name": "GPU"}]}, "/pools/0/name"),
    ({"pools": [{"name": "a-name-of-21-letters-"}]}, "/pools/0/name"),
    ({"pools": [{"takes": ["judged"]}]}, "/pools/0.*'name'"),
    ({"pools": [{"name": "a", "takes": ["plans"]}]}, "/pools/0/takes/0"),
    ({"pools": [{"name": "a", "gpu": {"count": "one"}}]}, "/pools/0/gpu/count"),
    ({"pools": [{"name": "a", "scaling": "knative"}]}, "/pools/0/scaling"),
    ({"pools": [{"name": "a"}, {"name": "a"}]}, "two are named a"),
    ({"pools": [{"name": "a", "device": "cuda"}]}, r"a has the device cuda, so gpu\.count"),
    ({"pools": [{"name": "a", "takes": ["models"]}]}, "a takes models and no suites"),
    ({"pools": [{"name": "a", "takes": ["models", "judged"]}]}, r"a takes models, so its modelServer\.kind"),
    ({"languageModels": [{"name": "a", "model": "/models/a", "claim": "b", "arguments": ["--trust_remote_code"]}]},
     "a sets --trust_remote_code"),
    ({"languageModels": [{"name": "a"}]}, "a has neither model, for vLLM, nor url"),
    ({"languageModels": [{"name": "a", "model": "org/a", "claim": "b"}]}, "is org/a of a hub's cache without a revisi"),
    ({"languageModels": [{"name": "a", "model": "org/a", "revision": "main"}]}, "/languageModels/0/revision"),
    ({"languageModels": [{"name": "a", "model": "/models/a"}]}, "a needs a claim with the files of /models/a"),
    ({"languageModels": [{"name": "a", "model": "/models/a", "claim": "b", "scaling": "keda"}]}, "a is scaled by keda"),
    ({"languageModels": [{"name": "a", "model": "/models/a", "claim": "b", "least": 2}]}, "at least 2 pods and at m"),
    ({"languageModels": [{"name": "a", "url": "http://a/v1"}]}, "a has a url, so peers must say"),
    ({"languageModels": [{"name": "a", "url": "http://u:p@a/v1"}]}, "/languageModels/0/url"),
    ({"pools": [{"name": "a", "gpu": {"count": 1, "claimTemplate": "b"}}]}, r"a has both gpu\.count"),
    ({"pools": [{"name": "a", "scaling": "none", "replicas": 9}]}, "a has 9 replicas, more than its most of 4"),
    ({"pools": [{"name": "a", "device": "cuda", "gpu": {"count": 3}, "scaling": "none", "replicas": 2}]},
     "a has 2 replicas of 3 workers, more than its most of 4"),
    ({"pools": [{"name": "a", "device": "cuda", "gpu": {"count": 2}, "modelServer": {"kind": "container"}}]},
     r"a has 2 workers in a pod \(gpu.count\), and a model server in the same pod would serve one of them"),
    ({"pools": [{"name": "a", "modelServer": {"kind": "pod", "gpu": {"count": 2}}}]}, "a model server uses one GPU"),
    ({"pools": [{"name": "a", "takes": ["models", "judged"], "offline": True, "modelServer": {"kind": "pod"}}]},
     "a is offline and takes models, so modelsClaim"),
    ({"languageModels": [{"name": "a", "model": "/models/a", "claim": "b"}]}, r"images\.vllm\.digest is not set"),
]  # fmt: skip


def test_a_wrong_value_is_refused_with_its_place():
    assert [(values, message) for values, message in WRONG if not re.search(message, refusal_of(values))] == []


def refusal_of(values):
    try:
        render(merged(PRODUCTION, values))
    except helm_python.HelmError as error:
        return str(error)
    return ""


def test_the_schema_knows_exactly_the_values_of_the_chart():
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    undescribed = set(paths_of(chart_values(), schema, schema["$defs"]))
    assert undescribed == set()


ADDED_TO_PODS = {
    "podLabels", "podAnnotations", "extraEnv", "extraVolumes", "extraVolumeMounts", "nodeSelector", "tolerations",
    "affinity", "nodePool",
}  # fmt: skip
"""Values that every workload accepts, and that the file of values describes once."""


def paths_of(values, schema, definitions, where=""):
    """Values without a schema, and properties of the schema without a value."""
    while "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    properties = schema.get("properties")
    if not isinstance(values, dict) or properties is None or where.endswith("resources"):
        return
    optional = {"global", "ports", "peers", "ipBlock", "tag", "digest"} | ADDED_TO_PODS
    yield from (f"{where}.{name}" for name in (set(values) ^ set(properties)) - optional)
    for name in set(values) & set(properties):
        yield from paths_of(values[name], properties[name], definitions, f"{where}.{name}")


def test_the_values_that_the_documentation_shows_install():
    (example,) = re.findall(r"```yaml\n(images:.*?)```", MANUAL, re.S)
    values = yaml.safe_load(example.replace("sha256:...", f"sha256:{'ab' * 32}"))
    manifests = render(values)
    names = {item["metadata"]["name"] for item in of_kind(manifests, "Deployment")}
    assert {"planarena-pool-cpu", "planarena-pool-gpu", "planarena-models-gpu"} <= names


def test_every_file_of_examples_is_documented():
    assert EXAMPLES
    assert [name for name in EXAMPLES if f"`k8s/examples/{name}.yaml`" not in MANUAL] == []


def test_every_value_that_the_documentation_names_is_there():
    section = MANUAL[MANUAL.index("### Installing\n") : MANUAL.index("### Settings\n")]
    values = chart_values()
    named_there = {
        name for name in re.findall(r"`((?:[a-z]\w*\.)+\w+)`", section)
        if name.partition(".")[0] in values and not name.endswith((".yaml", ".io"))
    }  # fmt: skip
    assert len(named_there) > 8
    for name in named_there:
        found = values
        for part in name.split("."):
            if part in ADDED_TO_PODS:
                break
            assert part in found, name
            found = found[part]


def test_development_brings_its_own_services_and_secrets():
    manifests = render(DEV)
    site = named(manifests, "Secret", "planarena-secrets")["stringData"]
    web = named(manifests, "Deployment", "planarena-web")["spec"]["template"]["spec"]["containers"][0]
    urls = {one["name"]: one.get("value") for one in web["env"]}
    assert urls["DATABASE_URL"] == "postgresql://planarena:$(DATABASE_PASSWORD)@planarena-postgres:5432/planarena"
    services = {item["metadata"]["name"]: item["spec"]["ports"][0]["port"] for item in of_kind(manifests, "Service")}
    assert services["planarena-postgres"] == 5432
    assert site["BROKER_URL"] == f"redis://planarena-redis:{services['planarena-redis']}/0"
    assert len(named(manifests, "Secret", "planarena-web-secrets")["stringData"]["PLANARENA_SECRET_KEY"]) >= 50
    metrics = [item for item in of_kind(manifests, "Secret") if item["metadata"]["name"] == "planarena-metrics"]
    assert {item["metadata"]["namespace"] for item in metrics} == {"planarena", JOBS}
    assert not of_kind(manifests, "ScaledObject", "PriorityClass")
    assert not any("nvidia.com" in str(item) for item in of_kind(manifests, "Deployment"))


def test_without_development_no_secret_has_data():
    for name, values in VARIANTS.items():
        if name != "dev":
            assert all(not {"data", "stringData"} & set(item) for item in of_kind(render(values), "Secret"))


def test_numbers_are_written_out():
    large = 33_554_432
    manifests = render(merged(VARIANTS["production with language models"], {
        "settings": {"PLANARENA_MAX_OBJECT_BYTES": large, "PLANARENA_ARBITER_THRESHOLD": 0.95},
        "kueue": {"enabled": True, "quota": {"cpu": large}},
        "poolDefaults": {"env": {"SOME": large}, "resources": {"cpu": 8}},
        "pools": [{"name": "a"}],
        "languageModels": [{"name": "a", "model": "/models/a", "claim": "b", "arguments": [large]}],
    }))  # fmt: skip
    data = named(manifests, "ConfigMap", "planarena-settings")["data"]
    assert (data["PLANARENA_MAX_OBJECT_BYTES"], data["PLANARENA_ARBITER_THRESHOLD"]) == (str(large), "0.95")
    (flavor,) = named(manifests, "ClusterQueue", "planarena")["spec"]["resourceGroups"][0]["flavors"]
    assert {one["name"]: one["nominalQuota"] for one in flavor["resources"]}["cpu"] == str(large)
    (worker,) = containers_of(named(manifests, "Deployment", "planarena-pool-a"))
    assert environment_of(worker)["SOME"] == str(large)
    assert worker["resources"]["requests"]["cpu"] == "8"
    assert containers_of(named(manifests, "Deployment", "planarena-llm-a"))[0]["command"][-1] == str(large)
