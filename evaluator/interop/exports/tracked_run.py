"""An evaluation as a run of an experiment tracker: facts, metrics with ends of intervals, a row for each task."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.interop.exports.source import ExportedEvaluation

PROJECT = "planarena"
"""Project or experiment, unless the settings of the client name another."""
COLUMNS = ("task", "outcome", "score", "reason", "plan", "prompt_tokens", "completion_tokens")

_NOT_MEASURED = ("evaluation", "signature", "verify")
"""Facts without part in the identity: signing adds two of them later, and the id of a report is the name of its file.
The address has the id of a site's evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """A run, as both trackers have it."""

    identity: str
    """32 hexadecimal digits: equal for the same evaluation, so that it is one run, however often it is exported."""
    name: str
    facts: Mapping[str, str]
    """Planner, model, suite, conditions, the signed statement, and the command that verifies the board."""
    metrics: Mapping[str, float]
    """`KEY`, and `KEY.low` and `KEY.high` where there is an interval; `KEY.tasks`."""
    rows: Sequence[Sequence[JsonValue]]
    """By `COLUMNS`, a row for each record."""


def tracked_run(exported: ExportedEvaluation) -> TrackedRun:
    """The run of an evaluation."""
    facts = {
        "planner": exported.planner,
        "model": exported.model,
        "suite": exported.suite,
        **exported.facts,
        "address": exported.address,
        "library": exported.library,
    }
    metrics: dict[str, float] = {}
    for metric in exported.metrics:
        metrics |= {metric.key: metric.mean, f"{metric.key}.tasks": float(metric.tasks)}
        if metric.low is not None and metric.high is not None:
            metrics |= {f"{metric.key}.low": metric.low, f"{metric.key}.high": metric.high}
    rows: list[list[JsonValue]] = [
        [
            record.task,
            record.outcome.value,
            record.score,
            record.reason_text,
            "" if record.plan is None else json.dumps(record.plan, ensure_ascii=False),
            None if record.planner is None else record.planner.prompt_tokens,
            None if record.planner is None else record.planner.completion_tokens,
        ]
        for record in exported.records
    ]
    kept = {name: text for name, text in facts.items() if text}
    measured = {name: text for name, text in kept.items() if name not in _NOT_MEASURED}
    known = json.dumps([measured, metrics, rows], sort_keys=True)
    return TrackedRun(
        identity=hashlib.sha256(known.encode()).hexdigest()[:32],
        name=f"{exported.planner} on {exported.suite}",
        facts=kept,
        metrics=metrics,
        rows=rows,
    )
