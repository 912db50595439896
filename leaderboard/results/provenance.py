"""What the results of an evaluation were made with."""

from typing import Any

from evaluator import canonical_json
from evaluator.planners.storable import unkeepable
from leaderboard.evaluations.models import Evaluation

_LARGEST = 20_000
_MOST_WORKERS = 50


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
