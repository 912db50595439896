"""What a real API server refuses although the schema allows it, in its words: PodSecurity, immutable fields, and what a
role does not permit. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]

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
    "Pod": ("spec.containers", "spec.initContainers", "spec.volumes", "spec.nodeName", "spec.serviceAccountName"),
}  # fmt: skip
_GROUPS = {"deployments": "apps", "jobs": "batch", "scaledobjects": "keda.sh", "workloads": "kueue.x-k8s.io"}
_USER = "system:serviceaccount:planarena:planarena-controller"


def forbidden(rules: Sequence[Json], *, verb: str, kind: str, name: str) -> str:
    """Why a role with these rules does not permit a call, in the server's words; empty if it does.

    Args:
        rules: of a Role, as in its manifest.
        verb: `get`, `list`, `watch`, `create`, `patch`, `delete`.
        kind: plural, lower case.
        name: of the object; empty for lists and creates, which no rule with names permits.
    """
    group = _GROUPS.get(kind, "")
    for rule in rules:
        names = rule.get("resourceNames")
        if (
            group in rule["apiGroups"]
            and kind in rule["resources"]
            and verb in rule["verbs"]
            and (not names or name in names)
        ):
            return ""
    what = f"{kind}{f'.{group}' if group else ''}{f' {chr(34)}{name}{chr(34)}' if name else ''}"
    return (
        f'{what} is forbidden: User "{_USER}" cannot {verb} resource "{kind}" in API group "{group}" in the namespace '
        '"planarena-jobs"'
    )


def refused_changes(*, before: Json, after: Json) -> list[str]:
    """Immutable fields that differ between two manifests of one object."""
    paths = _IMMUTABLE.get(after["kind"], ())
    changed = [path for path in paths if _at(before, path) != _at(after, path)]
    if after["kind"] == "PersistentVolumeClaim" and _size(after) < _size(before):
        changed.append("spec.resources.requests.storage")
    return changed


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


def _at(item: Json, path: str) -> Any:
    found: Any = item
    for part in path.split("."):
        found = (found or {}).get(part)
    return found


def _size(claim: Json) -> int:
    text = str(claim["spec"]["resources"]["requests"]["storage"])
    return int(text[:-2]) * {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40}[text[-2:]]
