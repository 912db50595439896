"""What a run came to, without times and ids: what must be the same whatever was killed."""

import json
from pathlib import Path
from typing import Any

from evaluator.core import canonical_json
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Attempt, Evaluation, Shard, Submission, TaskResult
from leaderboard.planners.models import Planner
from leaderboard.queue.models import Verification

_EVALUATION = (
    "suite__slug", "profile", "split", "samples", "state", "attempt", "reason", "reason_text", "tasks_total",
    "tasks_not_run", "provenance", "summary",
)  # fmt: skip
_RESULT = (
    "task__key", "outcome", "reason", "reason_text", "score", "indicators", "seconds", "plan_summary",
    "accepted",
)  # fmt: skip
_NOT_COMPARED = ("evaluation", "finished")


def outcome_of(*, store: Path) -> dict[str, Any]:
    """The final rows, and the objects of the site's store."""
    records = [digest for digest in TaskResult.objects.values_list("record_digest", flat=True) if digest]
    return {
        "planners": list(Planner.objects.order_by("name").values("name", "kind")),
        "submissions": Submission.objects.count(),
        "evaluations": list(Evaluation.runs.order_by("created").values(*_EVALUATION)),
        "results": list(TaskResult.objects.order_by("evaluation__created", "task__position").values(*_RESULT)),
        "records": sorted(_untimed_digest(store=store, digest=digest) for digest in records),
        "open_shards": Shard.objects.exclude(state="done").count(),
        "shards": list(Shard.objects.order_by("evaluation__created", "number").values("number", "task_keys")),
        "verifications": list(Verification.objects.order_by("created").values("verdict", "detail", "tasks")),
        "live_attempts": Attempt.objects.filter(state="live").count(),
        "boards": [_board(snapshot) for snapshot in Snapshot.objects.order_by("number")],
        "objects": sorted(
            str(path.relative_to(store))
            for path in store.glob("*/objects/*/*")
            if _whole(path) and path.parent.name + path.stem not in records
        ),
    }


def _untimed_digest(*, store: Path, digest: str) -> str:
    """Of a record without the seconds in it: where something really ran, each run takes others."""
    (path,) = store.glob(f"*/objects/{digest[:2]}/{digest[2:]}.*")
    return canonical_json.digest(_untimed(json.loads(path.read_bytes())))


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(item) for key, item in value.items() if key != "seconds"}
    return [_untimed(item) for item in value] if isinstance(value, list) else value


def _board(snapshot: Snapshot) -> dict[str, Any]:
    rows = [{key: value for key, value in row.items() if key not in _NOT_COMPARED} for row in snapshot.content["rows"]]
    return {"number": snapshot.number, "rows": rows, "coverage": snapshot.content["coverage"]}


def _whole(path: Path) -> bool:
    # What a killed process was writing is beside the objects under a name that nobody looks for.
    return path.suffix in {".png", ".txt"}
