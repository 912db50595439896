"""What a real API server and Kueue's webhook refuse although the schema allows it, with status and words. Pure."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_IMMUTABLE = {
    "Job": (
        "spec.selector", "spec.template", "spec.completions", "spec.completionMode", "spec.podFailurePolicy",
        "spec.backoffLimitPerIndex", "spec.successPolicy", "spec.managedBy",
    ),
    "Deployment": ("spec.selector",),
    "RoleBinding": ("roleRef",),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.storageClassName", "spec.selector", "spec.volumeMode"),
}  # fmt: skip
_GROUPS = {"Job": ".batch", "Deployment": ".apps", "RoleBinding": ".rbac.authorization.k8s.io"}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The answer to a create or update that is not admitted."""

    status: int
    message: str
    reason: str
    """Of the Status object: `Invalid`, `Forbidden`, ..."""


def refusal_of_create(item: Json) -> Refusal | None:
    """Why this object may not be created, if it may not."""
    return _partial_admission(item) if item["kind"] == "Job" else None


def refusal_of_update(*, before: Json, after: Json) -> Refusal | None:
    """Why `before` may not become `after`, if it may not."""
    kind = after["kind"]
    changed = [path for path in _IMMUTABLE.get(kind, ()) if _at(before, path) != _at(after, path)]
    if changed:
        name = after["metadata"]["name"]
        why = ", ".join(f"{path}: Invalid value: ...: field is immutable" for path in changed)
        return Refusal(
            status=422, message=f'{kind}{_GROUPS.get(kind, "")} "{name}" is invalid: {why}', reason="Invalid"
        )
    if kind == "Job" and _annotation(before) != _annotation(after):
        return _partial_admission(after)
    return None


def _partial_admission(job: Json) -> Refusal | None:
    """Kueue's `validatePartialAdmissionCreate`: the minimum must be positive and less than the number of pods."""
    given = _annotation(job)
    if given is None:
        return None
    pods = _pods(job["spec"])
    if given.isdecimal() and 0 < int(given) < pods:
        return None
    why = (
        f'admission webhook "vjob.kb.io" denied the request: metadata.annotations[{_MIN_PARALLELISM}]: '
        f"Invalid value: {given}: should be between 0 and {pods - 1}"
    )
    return Refusal(status=403, message=why, reason="Forbidden")


def _pods(spec: Json) -> int:
    parallelism = int(spec.get("parallelism", 1))
    return min(parallelism, int(spec.get("completions", parallelism)))


def _annotation(job: Json) -> str | None:
    found = (job["metadata"].get("annotations") or {}).get(_MIN_PARALLELISM)
    return None if found is None else str(found)


def _at(item: Json, path: str) -> Any:
    found: Any = item
    for part in path.split("."):
        found = (found or {}).get(part)
    return found
