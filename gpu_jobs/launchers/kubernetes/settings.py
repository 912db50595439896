"""Settings of the launcher, read from the environment, and the names and labels of worker pools in the Helm chart."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_jobs.launchers.pools import VARIABLE, Pool, PoolsError, pools_from

PREFIX = "PLANARENA_KUBERNETES_"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_SCALE_PATIENCE_SECONDS = 180
_KNOWN = ("namespace", "context", "scale_patience_seconds")


class SettingsError(ValueError):
    """A variable has an invalid value; the message says what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """Settings of an installation's worker pools. docs/install.md has the table of the variables."""

    pools: tuple[Pool, ...]
    namespace: str = "planarena-jobs"
    """Namespace of the pools."""
    context: str = ""
    """Context of the kubeconfig, if the site runs outside of the cluster."""
    scale_patience_seconds: int = _SCALE_PATIENCE_SECONDS
    """How long a needed pool may have no replica before the scaler is reported as the reason."""

    def __post_init__(self) -> None:
        if not self.pools:
            raise SettingsError(f"{VARIABLE} is not set: it lists the worker pools, as the Helm chart does.")
        if not _NAME.fullmatch(self.namespace):
            raise _wrong("namespace", self.namespace, "a name that Kubernetes accepts")


def settings_from(environment: Mapping[str, str]) -> KubernetesSettings:
    """The settings from the environment's `PLANARENA_KUBERNETES_*` variables.

    Raises:
        SettingsError: a variable is missing, invalid or unknown.
    """
    values = {
        name.removeprefix(PREFIX).lower(): value.strip()
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != VARIABLE and value.strip()
    }
    for name in sorted(values.keys() - set(_KNOWN)):
        known = ", ".join(["POOLS", *map(str.upper, _KNOWN)])
        raise SettingsError(
            f"{PREFIX}{name.upper()} is not a setting; known are, after {PREFIX}: {known}. The values of the Helm "
            "chart configure the pods."
        )
    try:
        pools = pools_from(environment.get(VARIABLE, ""))
    except PoolsError as error:
        raise SettingsError(f"{error}.") from None
    patience = values.pop("scale_patience_seconds", "")
    if patience and (not patience.isdecimal() or not int(patience)):
        raise _wrong("scale_patience_seconds", patience, "a whole number of at least 1")
    return KubernetesSettings(pools=pools, scale_patience_seconds=int(patience or _SCALE_PATIENCE_SECONDS), **values)


def _wrong(name: str, value: str, right: str) -> SettingsError:
    return SettingsError(f"{PREFIX}{name.upper()} is {value!r}: it must be {right}.")


NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
POOL = "planarena.io/pool"
APPLICATION = "planarena"
WORKER = "worker"
CONTAINER = "worker"
TOKEN_KEY = "token"  # noqa: S105 - the key in a pool's Secret
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation of pods: when scaled down, a Deployment deletes the ready pods with the lowest cost first."""
SELECTOR = f"{NAME}={APPLICATION},{COMPONENT}={WORKER},{POOL}"
"""The label selector of all pools' Deployments and pods."""
_PREFIX = "planarena-pool-"
_POD = re.compile(rf"{_PREFIX}(?P<pool>[a-z0-9-]+)-[a-z0-9]{{1,10}}-[a-z0-9]{{5}}")


def pool_handle(pool: str) -> str:
    """The name of a pool's Deployment, Secret and ScaledObject, and the handle under which evaluations know it."""
    return f"{_PREFIX}{pool}"


def pool_of_handle(*, handle: str, pools: Collection[Pool]) -> str:
    """The pool of a handle; empty if it is not the handle of a pool."""
    return next((pool.name for pool in pools if pool_handle(pool.name) == handle), "")


def pool_of_pod(*, handle: str, pools: Collection[Pool]) -> str:
    """The pool of a pod's name; empty if it is not a pod of these pools."""
    match = _POD.fullmatch(handle)
    return match["pool"] if match and any(pool.name == match["pool"] for pool in pools) else ""


def pool_label(resource: dict[str, Any]) -> str:
    """The pool in the labels of a Deployment or pod; empty if there is none."""
    return str((resource.get("metadata", {}).get("labels") or {}).get(POOL, ""))


def name_of(resource: dict[str, Any]) -> str:
    """Name of an object."""
    return str(resource["metadata"]["name"])
