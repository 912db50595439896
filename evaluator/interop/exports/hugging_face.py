"""Hugging Face: `.eval_results/*.yaml` of a model's repository, and the `eval.yaml` of the suite's data set.

The format has no interval and no signature of ours: they are in the notes, with the command that verifies them. JSON is
YAML, so that texts need no quoting rules of their own.
"""

import json
from typing import Any

from evaluator.interop.exports.source import ExportedEvaluation

_LONGEST_NOTES = 2000


def hugging_face(exported: ExportedEvaluation, *, dataset: str) -> dict[str, bytes]:
    """The files by their path in the repositories of model and data set.

    Args:
        exported: the evaluation.
        dataset: id of the data set of the suite on the hub, `ORG/NAME`.
    """
    metric = exported.primary
    entry: dict[str, Any] = {
        "dataset": {"id": dataset, "task_id": exported.suite},
        "value": metric.mean,
        "notes": notes(exported),
    }
    if exported.finished is not None:
        entry["date"] = exported.finished.date().isoformat()
    if exported.address:
        entry["source"] = {"url": exported.address, "name": "PlanArena"}
    suite = {
        "name": exported.suite_title,
        "description": f"{exported.suite_title}: {metric.description or metric.label}",
        "evaluation_framework": "planarena",
        "tasks": [
            {"id": exported.suite, "config": "default", "split": str(exported.conditions.get("split") or "test")}
        ],
    }
    return {f".eval_results/{exported.suite}.yaml": _yaml([entry]), "eval.yaml": _yaml(suite)}


def notes(exported: ExportedEvaluation) -> str:
    """Interval, planner, conditions and verification in sentences."""
    metric = exported.primary
    known = metric.low is not None and metric.high is not None
    interval = f"95 % interval {metric.low:.4f} to {metric.high:.4f}, " if known else ""
    parts = [
        f"{metric.label} of planner {exported.planner}, {interval}{metric.tasks} tasks.",
        f"Suite {exported.suite} {exported.suite_version}, digest {exported.suite_digest[:12]}.",
        f"Verify with: {exported.verify}" if exported.verify else f"Not signed ({exported.signature}).",
    ]
    return " ".join(parts)[:_LONGEST_NOTES]


def _yaml(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
