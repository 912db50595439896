"""What the API server checks beyond types of fields and `helm lint`, as far as the chart's manifests could break it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests.k8s.chart import Json, containers_of, labels_of, pod_of
from tests.k8s.policies import matches

_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PORT = re.compile(r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")
_UNITS = {"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30,
          "Ti": 2.0**40}  # fmt: skip
_FINITE = ("hugepages-", "nvidia.com/")
"""Resources that cannot be overcommitted: the request is the limit."""


def problems(item: Json) -> Iterator[str]:
    """Why the API server refuses a manifest whose fields have the right types; nothing if it takes it."""
    yield from _labels(item["metadata"].get("labels", {}))
    if pod_of(item) is not None:
        yield from _pod(item)
    if item["kind"] == "PodDisruptionBudget" and len({"minAvailable", "maxUnavailable"} & set(item["spec"])) != 1:
        yield "neither or both of minAvailable and maxUnavailable"
    if item["kind"] == "HorizontalPodAutoscaler" and item["spec"]["minReplicas"] > item["spec"]["maxReplicas"]:
        yield "minReplicas above maxReplicas"
    if item["kind"] == "NetworkPolicy":
        yield from _policy(item["spec"])


def _labels(labels: Json) -> Iterator[str]:
    for key, value in labels.items():
        if not _KEY.fullmatch(key) or not isinstance(value, str) or not _VALUE.fullmatch(value):
            yield f"label {key}: {value}"


def _pod(item: Json) -> Iterator[str]:
    pod, labels = pod_of(item), labels_of(item)
    assert pod is not None
    yield from _labels(labels)
    if "selector" in item["spec"] and not matches(item["spec"]["selector"], labels):
        yield "its selector does not match its pods"
    containers = containers_of(item)
    yield from _twice("container", (one["name"] for one in containers))
    yield from _twice("volume", (volume["name"] for volume in pod.get("volumes", [])))
    yield from _twice(
        "port name", (port["name"] for one in containers for port in one.get("ports", []) if "name" in port)
    )
    claims = {claim["name"] for claim in pod.get("resourceClaims", [])}
    for one in containers:
        yield from (f"{one['name']}: {why}" for why in _container(one, claims=claims))
    for one in pod.get("initContainers", []):
        probes = {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} & set(one)
        if probes and one.get("restartPolicy") != "Always":
            yield f"{one['name']}: an init container with {sorted(probes)}"


def _container(one: Json, *, claims: set[str]) -> Iterator[str]:
    yield from _twice("variable", (variable["name"] for variable in one.get("env", [])))
    yield from _twice("mount", (mount["mountPath"] for mount in one.get("volumeMounts", [])))
    yield from (f"mount {mount['mountPath']}" for mount in one.get("volumeMounts", []) if ":" in mount["mountPath"])
    ports = {port.get("name") for port in one.get("ports", [])}
    yield from (f"port name {name}" for name in ports - {None} if not _PORT.fullmatch(name))
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        found = one.get(probe, {})
        handlers = [found[kind] for kind in ("httpGet", "tcpSocket", "exec", "grpc") if kind in found]
        if found and len(handlers) != 1:
            yield f"{probe} has not one way to ask"
        yield from (
            f"{probe} asks {get['port']}"
            for get in handlers
            if isinstance(get.get("port"), str) and get["port"] not in ports
        )
    resources = one.get("resources", {})
    yield from _resources(resources.get("requests", {}), resources.get("limits", {}))
    yield from (f"claim {claim['name']}" for claim in resources.get("claims", []) if claim["name"] not in claims)


def _resources(requests: Json, limits: Json) -> Iterator[str]:
    for name, amount in requests.items():
        if name in limits and _number(amount) > _number(limits[name]):
            yield f"more {name} requested than allowed"
    for name in {*requests, *limits}:
        if name.startswith(_FINITE) and requests.get(name, limits.get(name)) != limits.get(name):
            yield f"{name} is overcommitted"


def _policy(spec: Json) -> Iterator[str]:
    for rule in [*spec.get("ingress", []), *spec.get("egress", [])]:
        for port in rule.get("ports", []):
            if port.get("endPort", port["port"]) < port["port"]:
                yield f"a range of ports that ends before {port['port']}"
        for peer in [*rule.get("from", []), *rule.get("to", [])]:
            if not peer or ("ipBlock" in peer and len(peer) > 1):
                yield f"peer {peer}"


def _number(amount: Any) -> float:
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(amount))
    assert found is not None, amount
    return float(found[1]) * _UNITS[found[2]]


def _twice(what: str, names: Iterable[str]) -> Iterator[str]:
    yield from (f"{what} {name} is there twice" for name, count in Counter(names).items() if count > 1)
