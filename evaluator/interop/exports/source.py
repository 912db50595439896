"""An evaluation to export."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluator import __version__
from evaluator.core.records import Outcome, ResultRecord

_CONDITIONS = ("profile", "data", "judge")
"""Facts of a report."""
_UNSIGNED = "unsigned"
UNSIGNED = f"{_UNSIGNED}: measured by whoever ran `planarena evaluate`"


class ExportError(ValueError):
    """An evaluation cannot be exported; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMetric:
    """A metric of an evaluation."""

    key: str
    label: str
    description: str
    higher_is_better: bool
    primary: bool
    least: float
    """Range of a task's value."""
    most: float | None
    mean: float
    low: float | None
    """Ends of the 95 % interval; None over too few tasks or scenes."""
    high: float | None
    tasks: int
    method: str
    """Of the interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedEvaluation:
    """An evaluation."""

    id: str
    address: str
    """Page of the evaluation; empty for a report."""
    planner: str
    model: str
    """The language model, as boards show it; empty: none or unknown."""
    open_weights: bool | None
    suite: str
    suite_title: str
    suite_version: str
    suite_digest: str
    conditions: Mapping[str, Any]
    """Profile, split, samples and digests."""
    finished: datetime | None
    metrics: Sequence[ExportedMetric]
    records: Sequence[ResultRecord]
    """Of all tasks that have one."""
    library: str
    """Version of PlanArena, or its commit."""
    signature: str
    """Of the row, as JSON; or why there is none."""
    verify: str
    """The command that verifies it; empty: nothing does."""

    @property
    def primary(self) -> ExportedMetric:
        """The metric that boards rank by.

        Raises:
            ExportError: it was not measured.
        """
        found = next((metric for metric in self.metrics if metric.primary), None)
        if found is None:
            raise ExportError(f"evaluation {self.id} has no value of the metric that boards rank by")
        return found

    @property
    def scored(self) -> list[ResultRecord]:
        """The records with a score: what was not measured is no zero."""
        counted = (Outcome.SCORED, Outcome.PLANNER_FAULT)
        return [record for record in self.records if record.outcome in counted and record.score is not None]

    @property
    def facts(self) -> dict[str, str]:
        """Everything that identifies and verifies the result, as texts."""
        return {
            "evaluation": self.id,
            "suite_version": self.suite_version,
            "suite_digest": self.suite_digest,
            **{name: str(value) for name, value in self.conditions.items() if value not in (None, "")},
            "signature": self.signature,
            "verify": self.verify,
        }


def signature_text(signature: Mapping[str, Any] | None) -> str:
    """The signed statement on an evaluation as JSON, or why there is none."""
    if signature is None:
        return f"{_UNSIGNED}: the site has no key, or has not signed it yet"
    return json.dumps(signature, sort_keys=True)


def verifying_command(*, address: str, suite: str, signature: str) -> str:
    """The command that verifies the board of an evaluation; empty if it is unsigned.

    Args:
        address: of the evaluation's page.
        suite: slug of its suite.
        signature: as `signature_text` gives it.
    """
    site = address.partition("/evaluations/")[0]
    return "" if signature.startswith(_UNSIGNED) else f"planarena verify {site}/boards/{suite}/"


def of_report(file: Path) -> ExportedEvaluation:
    """A report of `planarena evaluate`, which nobody has signed.

    Raises:
        ExportError: it is not a report on this version of the suite.
    """
    from evaluator.core.suites.registry import suite_of

    try:
        document = json.loads(file.read_bytes())
        if document["version"] != "evaluation/1":
            raise ValueError("another version")
        suite = suite_of(document["suite"]["slug"])
        records = [ResultRecord.model_validate(record) for record in document["results"]]
        metrics = {key: value for key, value in document["summary"]["metrics"].items() if value is not None}
        return ExportedEvaluation(
            id=file.stem, address="", planner=str(document["planner"]), model="", open_weights=None, suite=suite.slug,
            suite_title=suite.title, suite_version=str(document["suite"]["version"]),
            suite_digest=str(document["suite"]["digest"]),
            conditions={
                name: json.dumps(document[name], sort_keys=True)
                for name in _CONDITIONS
                if document.get(name) is not None
            },
            finished=datetime.fromtimestamp(file.stat().st_mtime).astimezone(),
            metrics=exported_metrics(metrics, columns=[column.to_json() for column in suite.metrics]), records=records,
            library=str((document.get("provenance") or {}).get("commit") or __version__), signature=UNSIGNED, verify="",
        )  # fmt: skip
    except OSError as error:
        raise ExportError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ValidationError) as error:
        raise ExportError(f"{file} is no report that can be exported: {type(error).__name__}") from None


def exported_metrics(
    measured: Mapping[str, Mapping[str, Any]], *, columns: Sequence[Mapping[str, Any]]
) -> list[ExportedMetric]:
    """The metrics in the suite's order."""
    return [
        ExportedMetric(
            key=key, label=str(column.get("label") or key), description=str(column.get("description") or ""),
            higher_is_better=bool(column.get("higher_is_better", True)), primary=bool(column.get("primary")),
            least=float(column.get("low") or 0.0), most=column.get("high"), mean=found["mean"], low=found.get("low"),
            high=found.get("high"), tasks=int(found.get("tasks") or 0), method=str(column.get("interval") or ""),
        )
        for column in columns
        for key in [str(column.get("key"))]
        if (found := measured.get(key)) is not None
    ]  # fmt: skip
