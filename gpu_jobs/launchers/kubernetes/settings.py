"""The operator's settings of the launcher, read from the environment, and names and labels of worker pools in the
cluster, as the Helm chart gives them. Pods themselves are described by the chart's values."""

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
    """A variable has a value that cannot be used; the message names both and says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """Where an installation's worker pools are. docs/install.md has the table of the variables."""

    pools: tuple[Pool, ...]
    namespace: str = "planarena-jobs"
    """Of the pools."""
    context: str = ""
    """Of the kubeconfig, where the site does not run in the cluster itself."""
    scale_patience_seconds: int = _SCALE_PATIENCE_SECONDS
    """How long a pool that is needed may have no replica until the scaler is named as the reason."""

    def __post_init__(self) -> None:
        if not self.pools:
            raise SettingsError(f"{VARIABLE} is not set: it lists the worker pools, as the Helm chart does.")
        if not _NAME.fullmatch(self.namespace):
            raise _wrong("namespace", self.namespace, "a name that Kubernetes accepts")


def settings_from(environment: Mapping[str, str]) -> KubernetesSettings:
    """The settings that the environment's `PLANARENA_KUBERNETES_*` variables make.

    Raises:
        SettingsError: a variable is missing or wrong, or is none of the known ones.
    """
    given = {
        name.removeprefix(PREFIX).lower(): value.strip()
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != VARIABLE and value.strip()
    }
    for name in sorted(given.keys() - set(_KNOWN)):
        known = ", ".join(["POOLS", *map(str.upper, _KNOWN)])
        raise SettingsError(
            f"{PREFIX}{name.upper()} is no setting; known are, after {PREFIX}: {known}. What pods look like is said by "
            "the values of the Helm chart."
        )
    try:
        pools = pools_from(environment.get(VARIABLE, ""))
    except PoolsError as error:
        raise SettingsError(f"{error}.") from None
    patience = given.pop("scale_patience_seconds", "")
    if patience and (not patience.isdecimal() or not int(patience)):
        raise _wrong("scale_patience_seconds", patience, "a whole number of at least 1")
    return KubernetesSettings(pools=pools, scale_patience_seconds=int(patience or _SCALE_PATIENCE_SECONDS), **given)


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
"""Annotation of pods: a Deployment that is scaled down deletes the ready ones with the lowest cost first."""
SELECTOR = f"{NAME}={APPLICATION},{COMPONENT}={WORKER},{POOL}"
"""The label selector of all pools' Deployments and pods."""
_PREFIX = "planarena-pool-"
_POD = re.compile(rf"{_PREFIX}(?P<pool>[a-z0-9-]+)-[a-z0-9]{{1,10}}-[a-z0-9]{{5}}")


def pool_handle(pool: str) -> str:
    """The name of a pool's Deployment, Secret and ScaledObject, and the handle under which evaluations know it."""
    return f"{_PREFIX}{pool}"


def pool_of_handle(*, handle: str, pools: Collection[Pool]) -> str:
    """The pool that a handle names; empty if it names none of these."""
    return next((pool.name for pool in pools if pool_handle(pool.name) == handle), "")


def pool_of_pod(*, handle: str, pools: Collection[Pool]) -> str:
    """The pool whose pod a handle names; empty if it names no pod of these."""
    found = _POD.fullmatch(handle)
    return found["pool"] if found and any(pool.name == found["pool"] for pool in pools) else ""


def pool_label(resource: dict[str, Any]) -> str:
    """The pool that a Deployment or pod belongs to; empty if it does not say so."""
    return str((resource.get("metadata", {}).get("labels") or {}).get(POOL, ""))


def name_of(resource: dict[str, Any]) -> str:
    """The name of an object of the cluster."""
    return str(resource["metadata"]["name"])
