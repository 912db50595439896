"""Names and labels: how a Job says which evaluation it is for. Pure."""

import re
from dataclasses import dataclass
from typing import Any

MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
EVALUATION = "planarena.io/evaluation"
GENERATION = "planarena.io/generation"
EGRESS = "planarena.io/egress"
"""`endpoint` on pods that call planners' endpoints: the network policies tell them by it."""
ENDED_BECAUSE = "planarena.io/ended-because"
"""Annotation of a Job that the launcher itself has ended: the reason."""
ENDED_DETAIL = "planarena.io/ended-detail"
"""Annotation of such a Job: the cluster's own words about the reason. Its events are gone after an hour."""
MANAGER = "planarena"
WORKER = "worker"
CONTAINER = "worker"
MODEL_SERVER = "model-server"
"""Component of the pods that load submitted models, and name of their container."""
BESIDE = "planarena.io/model-server"
"""Annotation of a worker's Job that has model servers in pods of their own."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """What a handle names: a Job, or a pod of one."""

    job: str
    pod: str
    """Empty for a Job."""


def job_name(*, instance: str, evaluation_id: str, generation: int) -> str:
    """The name follows from the evaluation, so that whoever creates the Job a second time gets 409 and adopts it."""
    return f"{instance}-{evaluation_id}-g{generation}"


def parse_handle(*, instance: str, handle: str) -> Handle | None:
    """The Job or pod that a handle names, or None if it names neither of this installation."""
    found = re.fullmatch(rf"({re.escape(instance)}-{_UUID}-g[0-9]+)(?:-[a-z0-9]{{5}})?", handle)
    if found is None:
        return None
    return Handle(job=found[1], pod="" if found[1] == handle else handle)


def model_servers_name(job: str) -> str:
    """The name of a Job's model servers: of their Job, their Service, and the policy for them. No handle is like it."""
    return f"{job}-models"


def is_evaluation_id(text: str) -> bool:
    """Whether this can stand in names and labels."""
    return re.fullmatch(_UUID, text) is not None


def labels_of(*, instance: str, evaluation_id: str, generation: int) -> dict[str, str]:
    """What Job and pods are found by."""
    return {
        "app.kubernetes.io/name": MANAGER,
        INSTANCE: instance,
        COMPONENT: WORKER,
        MANAGED_BY: MANAGER,
        EVALUATION: evaluation_id,
        GENERATION: str(generation),
    }


def selector(*, instance: str, evaluation_id: str = "", component: str = WORKER) -> str:
    """The label selector of an installation's Jobs and pods, or of those of one evaluation."""
    parts = [f"{MANAGED_BY}={MANAGER}", f"{INSTANCE}={instance}", f"{COMPONENT}={component}"]
    return ",".join([*parts, f"{EVALUATION}={evaluation_id}"] if evaluation_id else parts)


def evaluation_of(resource: dict[str, Any]) -> str:
    """The evaluation that a Job or pod belongs to; empty if it does not say so."""
    return str(resource.get("metadata", {}).get("labels", {}).get(EVALUATION, ""))


def generation_of(job: dict[str, Any]) -> int:
    """Which Job of its evaluation this is."""
    text = str(job.get("metadata", {}).get("labels", {}).get(GENERATION, ""))
    return int(text) if text.isdecimal() else 0
