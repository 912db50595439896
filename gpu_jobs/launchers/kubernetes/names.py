"""Names and labels of worker pools in the cluster, as the Helm chart gives them. Pure."""

import re
from collections.abc import Collection
from typing import Any

from gpu_jobs.launchers.pools import Pool

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
