"""What a cluster refuses although the schema of the API allows it: custom resources, PodSecurity, immutable fields."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.fakes.kubernetes_schemas import validate

Json = dict[str, Any]
_CRDS = Path(__file__).with_name("crds.yaml")
_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
_IMMUTABLE = {
    "Deployment": ("spec.selector",),
    "Job": ("spec.selector", "spec.template", "spec.completions", "spec.completionMode", "spec.podFailurePolicy",
            "spec.podReplacementPolicy", "spec.backoffLimitPerIndex", "spec.successPolicy", "spec.managedBy"),
    "RoleBinding": ("roleRef",),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.storageClassName", "spec.selector", "spec.volumeMode",
                              "spec.volumeName"),
    "PersistentVolume": ("spec.local", "spec.nodeAffinity", "spec.volumeMode"),
    "Service": ("spec.clusterIP", "spec.clusterIPs"),
    "PriorityClass": ("value", "preemptionPolicy"),
    "Secret": ("type",),
    "LocalQueue": ("spec.clusterQueue",),
}  # fmt: skip


@cache
def crds() -> Json:
    """Schemas of the specs of custom resources, by `apiVersion kind`."""
    found: Json = yaml.safe_load(_CRDS.read_text(encoding="utf-8"))
    return found


def is_custom(item: Json) -> bool:
    """Whether a manifest is of a kind that Kubernetes itself does not have."""
    group = item["apiVersion"].rpartition("/")[0]
    return group in {"keda.sh", "kueue.x-k8s.io", "monitoring.coreos.com"}


def check(item: Json, *, version: str) -> None:
    """Refuse a manifest that this release of Kubernetes, or the operator of a custom resource, would refuse.

    Raises:
        jsonschema.ValidationError, kubernetes_validate.ValidationError, KeyError: it would.
    """
    if not is_custom(item):
        validate(item, version=version)
        return
    schema = crds()[f"{item['apiVersion']} {item['kind']}"] | {"definitions": crds()["definitions"]}
    assert set(item) <= {"apiVersion", "kind", "metadata", "spec"}
    jsonschema.validate(item.get("spec", {}), schema)


def not_restricted(pod: Json) -> Iterator[str]:
    """Why PodSecurity's level `restricted` refuses a pod; nothing if it admits it.

    Args:
        pod: the pod's spec.
    """
    general = pod.get("securityContext", {})
    yield from (f"{name} is set" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name))
    for volume in pod.get("volumes", []):
        if not set(volume) - {"name"} <= _VOLUMES:
            yield f"volume {volume['name']} is of a kind that is not allowed"
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        own = container.get("securityContext", {})
        yield from (f"{container['name']}: {why}" for why in _of_container(general | own, own=own))
        if any(port.get("hostPort") for port in container.get("ports", [])):
            yield f"{container['name']}: a port of the host"


def _of_container(both: Json, *, own: Json) -> Iterator[str]:
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"
    if own.get("privileged"):
        yield "privileged"
    capabilities = own.get("capabilities", {})
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "capabilities are not dropped"
    if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
        yield "may run as root"
    if both.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        yield "no seccomp profile"


def refused_changes(*, before: Json, after: Json) -> list[str]:
    """Immutable fields that differ between two manifests of one object."""
    paths = _IMMUTABLE.get(after["kind"], ())
    changed = [path for path in paths if _at(before, path) != _at(after, path)]
    if after["kind"] == "PersistentVolumeClaim" and _size(after) < _size(before):
        changed.append("spec.resources.requests.storage")
    return changed


def _at(item: Json, path: str) -> Any:
    found: Any = item
    for part in path.split("."):
        found = (found or {}).get(part)
    return found


def _size(claim: Json) -> int:
    text = str(claim["spec"]["resources"]["requests"]["storage"])
    return int(text[:-2]) * {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40}[text[-2:]]
