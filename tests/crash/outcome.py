"""What a run came to, without times and ids: what must be the same whatever was killed."""

from pathlib import Path
from typing import Any

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
    "record_digest", "accepted",
)  # fmt: skip
_NOT_COMPARED = ("evaluation", "finished")


def outcome_of(*, store: Path) -> dict[str, Any]:
    """The final rows, and the objects of the site's store."""
    return {
        "planners": list(Planner.objects.order_by("name").values("name", "kind")),
        "submissions": Submission.objects.count(),
        "evaluations": list(Evaluation.objects.order_by("created").values(*_EVALUATION)),
        "results": list(TaskResult.objects.order_by("evaluation__created", "task__position").values(*_RESULT)),
        "open_shards": Shard.objects.exclude(state="done").count(),
        "shards": list(Shard.objects.order_by("evaluation__created", "number").values("number", "task_keys")),
        "verifications": list(Verification.objects.order_by("created").values("verdict", "detail", "tasks")),
        "live_attempts": Attempt.objects.filter(state="live").count(),
        "boards": [_board(snapshot) for snapshot in Snapshot.objects.order_by("number")],
        "objects": sorted(str(path.relative_to(store)) for path in store.glob("*/objects/*/*") if _whole(path)),
    }


def _board(snapshot: Snapshot) -> dict[str, Any]:
    rows = [{key: value for key, value in row.items() if key not in _NOT_COMPARED} for row in snapshot.content["rows"]]
    return {"number": snapshot.number, "rows": rows, "coverage": snapshot.content["coverage"]}


def _whole(path: Path) -> bool:
    # What a killed process was writing is beside the objects under a name that nobody looks for.
    return path.suffix in {".png", ".txt"}
