"""What the results of an evaluation were made with."""

from typing import Any
from uuid import UUID

from django.db import transaction

from evaluator import canonical_json
from evaluator.planners.storable import unkeepable
from leaderboard.evaluations.models import Evaluation

_LARGEST = 20_000
_MOST_WORKERS = 50


def note_worker(*, attempt_id: UUID, provenance: dict[str, Any]) -> None:
    """Add what a worker says of itself (code, packages, device) to its evaluation, once for all equal workers.

    A record that is too large or cannot be kept, or one of too many, is left out: provenance must not stop a result.
    """
    with transaction.atomic():
        found = Evaluation.objects.select_for_update(no_key=True, of=("self",)).get(shards__attempts=attempt_id)
        note_worker_of(evaluation=found, provenance=provenance)


def note_worker_of(*, evaluation: Evaluation, provenance: dict[str, Any]) -> None:
    """`note_worker` for an evaluation that is locked."""
    if not provenance or unkeepable(provenance) or len(canonical_json.dumps(provenance)) > _LARGEST:
        return
    workers = evaluation.provenance.setdefault("workers", [])
    if provenance not in workers and len(workers) < _MOST_WORKERS:
        workers.append(provenance)
        evaluation.save(update_fields=["provenance"])
