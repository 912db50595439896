"""k8s/chart, rendered by Helm's own engine as an installation renders it, with the values of several operators."""

import copy
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import helm_python
import yaml

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent.parent / "k8s"
CHART = ROOT / "chart"
HOOK = "helm.sh/hook"
SITE, JOBS, EGRESS = "planarena", "planarena-jobs", "planarena-egress"


def merged(*layers: Mapping[str, Any]) -> Json:
    """Values as Helm merges files of them: maps merge, everything else replaces."""
    found: Json = {}
    for layer in layers:
        for key, value in layer.items():
            before = found.get(key)
            both = isinstance(before, dict) and isinstance(value, Mapping)
            found[key] = merged(before, value) if both else copy.deepcopy(value)
    return found


def _digest(text: str) -> str:
    return f"sha256:{text * 32}"


DEV: Json = yaml.safe_load((CHART / "values-dev.yaml").read_text(encoding="utf-8"))
PRODUCTION: Json = {
    "images": {
        "web": {"repository": "registry.example/planarena-web", "digest": _digest("ab")},
        "worker": {"repository": "registry.example/planarena-worker", "digest": _digest("cd")},
    },
    "host": "arena.example",
    "store": {"bucket": "s3://arena/site"},
    "network": {"to": {"s3": {"enabled": True, "peers": [{"ipBlock": {"cidr": "198.51.100.0/24"}}]}}},
}
GPU = {
    "name": "gpu", "device": "cuda", "takes": ["executed", "judged", "models"], "endpoints": True,
    "gpu": {"count": 1}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}  # fmt: skip
CPU = {"name": "cpu", "takes": ["judged"]}
KUEUE: Json = {
    "kueue": {"enabled": True, "cohort": "research", "localQueues": ["team-a", "team-b"]},
    "pools": [
        CPU | {"queue": "team-a"},
        GPU | {"queue": "team-b", "queuePriority": "low", "modelServer": {"kind": "pod", "gpu": {"count": 1}}},
    ],
}
LANGUAGE_MODELS: Json = {
    "images": {"vllm": {"digest": _digest("ef")}},
    "monitoring": {"serviceMonitor": {"enabled": True}},
    "languageModels": [
        {"name": "one", "model": "org/one", "revision": "ab" * 20, "claim": "weights", "servedName": "org/one:8b",
         "arguments": ["--max-model-len", 4096], "podAnnotations": {"a": "b"}},
        {"name": "two", "model": "/models/two", "claim": "weights", "gpu": {"count": 4}, "scaling": "hpa", "most": 3,
         "image": f"registry.example/vllm@{_digest('23')}", "runtimeClass": "kata"},
    ],
}  # fmt: skip
MIG = {"resource": "nvidia.com/mig-2g.20gb", "count": 1}
EVERYTHING: Json = {
    "images": {"pullSecrets": ["registry"], "nginx": {"image": f"docker.io/nginx-unprivileged:1.28@{_digest('01')}"}},
    "pageCache": {"enabled": True},
    "settings": {"PLANARENA_LOG_LEVEL": "DEBUG", "PLANARENA_SAMPLES": 8, "PLANARENA_LOG_FORMAT": "json"},
    "locks": {"paper": {"lock": "{}", "signature": "{}"}, "another": {"lock": "{}"}},
    "database": {"host": "db.internal", "options": "sslmode=require", "pooler": {"host": "pgbouncer.internal"}},
    "store": {"kind": "volume", "bucket": "", "existingClaim": "artefacts"},
    "podDefaults": {
        "podLabels": {"azure.workload.identity/use": "true"},
        "extraEnv": [{"name": "EXTRA", "value": "all"}],
        "extraVolumes": [{"name": "extra", "emptyDir": {"sizeLimit": "1Mi"}}],
        "extraVolumeMounts": [{"name": "extra", "mountPath": "/extra"}],
    },
    "nodePools": {"site": {"nodeSelector": {"pool": "site"}}, "h100": {"nodeSelector": {"gpu": "h100"}}},
    "serviceAccounts": {
        "site": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/site"}},
        "worker": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/worker"}},
    },
    "privateCA": {"certificates": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"},
    "gateway": {"enabled": True, "parents": [{"name": "public", "namespace": "gateways", "sectionName": "https"}]},
    "web": {"autoscaling": {"enabled": True}, "podAnnotations": {"a": "b"}},
    "beat": {"extraEnv": [{"name": "OF_BEAT", "valueFrom": {"secretKeyRef": {"name": "site-bucket", "key": "a"}}}]},
    "ingress": {"className": "nginx"},
    "namespaces": {"createSite": True},
    "modelMirror": "http://model-mirror.planarena.svc:8080",
    "monitoring": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
                   "rules": {"enabled": True}, "podMonitor": {"enabled": True}, "dashboards": {"enabled": True}},
    "tracing": {"endpoint": "http://collector.observability.svc:4318", "ratio": 0.1, "headersSecret": "collector"},
    "network": {"to": {
        "s3": {"enabled": True, "ports": [9000], "peers": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "storage"}}}]},
        "identity": {"enabled": True, "ports": [80], "peers": [{"ipBlock": {"cidr": "169.254.170.23/32"}}]},
        "traces": {"peers": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "observability"}}}]},
    }},
    "modelCaches": [
        {"name": "models-node-1", "size": "200Gi", "local": {"node": "node-1", "path": "/srv/models"}},
        {"name": "models-shared", "size": "1Ti", "storageClass": "nfs", "accessModes": ["ReadWriteMany"]},
    ],
    "pools": [
        CPU | {"scaling": "hpa", "maxUnavailable": 1, "store": "s3://arena/steps",
               "storeEndpoint": "http://minio.storage.svc:9000", "envFrom": ["bucket"]},
        GPU | {"gpu": MIG, "modelsClaim": "models-node-1", "modelsLimit": "150GB", "weightsClaim": "weights",
               "nodeSelector": {"kubernetes.io/hostname": "node-1"}, "runtimeClass": "kata",
               "modelServer": {"kind": "pod", "gpu": MIG}},
        GPU | {"name": "shared", "gpu": {"claimTemplate": "one-gpu"}, "modelServer": {"kind": "container"},
               "modelsClaim": "models-shared", "podAnnotations": {"c": "d"}, "env": {"PLANARENA_ARBITER": "none"}},
        {"name": "always", "scaling": "none", "replicas": 2},
    ],
}  # fmt: skip
BUCKET: Json = {
    "store": {"bucket": "s3://arena/site", "endpoint": "http://minio.storage.svc:9000",
              "publicEndpoint": "https://s3.example", "secret": "site-bucket"},
    "network": {"to": {"s3": {"enabled": True, "ports": [9000], "peers": [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "storage"}}}]}}},
}  # fmt: skip
VOLUME: Json = {"store": {"kind": "volume", "bucket": ""}, "network": {"to": {"s3": {"enabled": False, "peers": []}}}}
EXAMPLES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / "examples").glob("*.yaml")}
"""The files of values that the documentation names, for use after an operator's own."""
VARIANTS: dict[str, Json] = {
    "dev": DEV,
    "production": PRODUCTION,
    "production with Kueue": merged(PRODUCTION, KUEUE),
    "production without proxy": merged(PRODUCTION, {"egress": {"mode": "direct"}}),
    "production with a gateway": merged(PRODUCTION, {"egress": {"mode": "gateway"}}),
    "production without gVisor": merged(
        PRODUCTION,
        {"programs": {"runtimeClass": ""}, "poolDefaults": {"modelServer": {"runtimeClass": ""}}},
    ),
    "production with a bucket": merged(PRODUCTION, BUCKET),
    "production with a volume": merged(PRODUCTION, VOLUME),
    "production with language models": merged(PRODUCTION, LANGUAGE_MODELS),
    "production with everything": merged(PRODUCTION, EVERYTHING),
    **{f"example {name}": merged(PRODUCTION, values) for name, values in EXAMPLES.items()},
}


def of_each(**cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A decorator: a test that runs for every combination of arguments, and names those for which it fails.

    As one case for pytest: a thousand cases of a millisecond each would take seconds to collect.
    """

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed = {}
            for values in itertools.product(*(list(chosen) for chosen in cases.values())):
                try:
                    check(**dict(zip(cases, values, strict=True)))
                except AssertionError as error:
                    failed[values] = str(error)
            assert failed == {}

        # Without `__wrapped__`, by which pytest would look for fixtures.
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def of_every_variant(check: Callable[[list[Json]], None]) -> Callable[[], None]:
    """The test for the manifests of each way to install."""

    @of_each(variant=VARIANTS)
    def named(variant: str) -> None:
        check(build(variant))

    named.__name__, named.__doc__, named.__module__ = check.__name__, check.__doc__, check.__module__
    return named


def render(values: Mapping[str, Any], *, revision: int = 1) -> list[Json]:
    """The manifests that `helm install` (revision 1) or `helm upgrade` applies with these values; without hooks.

    Raises:
        helm_python.HelmError: the values are refused.
    """
    return [item for item in _all(values, revision=revision) if HOOK not in item["metadata"].get("annotations", {})]


def build(variant: str) -> list[Json]:
    """The manifests of one of `VARIANTS`, with the Job of `helm test`."""
    return _all(VARIANTS[variant], revision=1)


def _all(values: Mapping[str, Any], *, revision: int) -> list[Json]:
    return copy.deepcopy(_rendered(json.dumps(values), revision))


def chart_values() -> Json:
    """The chart's own values."""
    return copy.deepcopy(_chart().values)


@functools.cache
def _chart() -> helm_python.Chart:
    return helm_python.Chart.load(CHART)


@functools.cache
def _rendered(values: str, revision: int) -> list[Json]:
    """The manifests for these values, as JSON: each set of values is rendered once in a process."""
    files = _chart().render(
        json.loads(values), name="planarena", namespace=SITE, revision=revision, is_install=revision == 1,
        is_upgrade=revision > 1,
    )  # fmt: skip
    found: list[Json] = []
    for name, text in files.items():
        if name.endswith(".yaml"):
            found += [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item is not None]
    assert len({identity(item) for item in found}) == len(found), "something is there twice"
    return found


def identity(item: Json) -> tuple[str, str, str]:
    """What a manifest is told from others by."""
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def of_kind(manifests: list[Json], *kinds: str) -> list[Json]:
    """The manifests of these kinds."""
    return [item for item in manifests if item["kind"] in kinds]


def named(manifests: list[Json], kind: str, name: str) -> Json:
    """The one manifest of a kind and name."""
    (found,) = [item for item in of_kind(manifests, kind) if item["metadata"]["name"] == name]
    return found


def pod_of(item: Json) -> Json | None:
    """The spec of the pods that a manifest makes, if it makes any."""
    return _job_of(item)["spec"]["template"]["spec"] if item["kind"] in {"Deployment", "Job", "CronJob"} else None


def _job_of(item: Json) -> Json:
    """A CronJob's template of Jobs; other manifests themselves."""
    return item["spec"]["jobTemplate"] if item["kind"] == "CronJob" else item


def labels_of(item: Json) -> dict[str, str]:
    """The labels of the pods that a manifest makes."""
    return _job_of(item)["spec"]["template"]["metadata"]["labels"]


def containers_of(item: Json) -> list[Json]:
    """All containers of a manifest."""
    pod = pod_of(item)
    return [] if pod is None else [*pod.get("initContainers", []), *pod["containers"]]


def environment_of(container: Json) -> dict[str, str]:
    """Variables with a value of their own."""
    return {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}
