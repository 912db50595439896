"""What the results of an evaluation were made with."""

from collections.abc import Mapping
from typing import Any

from evaluator.core import canonical_json
from evaluator.core.storable import unkeepable
from leaderboard.evaluations.models import Evaluation

_LARGEST = 20_000
_MOST_WORKERS = 50


def arbiter_of(evaluation_id: str) -> str:
    """Name and revision of the arbiter that settled undecided pairs of an evaluation; empty if there was none."""
    found = Evaluation.objects.filter(pk=evaluation_id).values_list("provenance", flat=True).first() or {}
    for worker in found.get("workers", ()):
        told = worker.get("arbiter") if isinstance(worker, dict) else None
        if isinstance(told, dict) and told.get("name"):
            return arbiter_words(told)
    return ""


def arbiter_words(identity: Mapping[str, Any]) -> str:
    """An arbiter as pages name it: with its commit, the digest of its weights, or the version of its prompt."""
    pinned = identity.get("revision") or identity.get("weights")
    detail = str(pinned)[:12] if pinned else str(identity.get("prompt") or "")
    return f"{identity.get('name', 'an arbiter')}{f' ({detail})' if detail else ''}"


def note_worker_of(*, evaluation: Evaluation, provenance: dict[str, Any]) -> None:
    """Add what a worker says of itself (code, packages, device) to its evaluation, which is locked, once for all equal
    workers.

    A record that is too large or cannot be kept, or one of too many, is left out: provenance must not stop a result.
    """
    if not provenance or unkeepable(provenance) or len(canonical_json.dumps(provenance)) > _LARGEST:
        return
    workers = evaluation.provenance.setdefault("workers", [])
    if provenance not in workers and len(workers) < _MOST_WORKERS:
        workers.append(provenance)
        evaluation.save(update_fields=["provenance"])
