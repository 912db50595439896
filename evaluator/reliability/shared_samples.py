"""Data points of a profile's runs. Further runs use fewer data points than the first, and runs are compared on the
common ones. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from evaluator.core.records import Outcome, ResultRecord, SampleResult

Records = Mapping[str, ResultRecord]
"""Records of one run, by task."""
_SHARE = 8
FEWEST = 8
"""On 8 data points, 6 % of OpenAGI's gold plans without one step count as a success; on one, 29 %
(docs/validity.md#reliability-of-a-planner, "Success")."""
_FAILS_LATER = "Its plan fails on a data point that other runs of the profile do not have."


def samples_of_further_runs(count: int) -> int:
    """Data points per task in further runs: an eighth of the first run's `count`, but at least `FEWEST` or all."""
    return min(count, max(FEWEST, count // _SHARE))


def on_shared_samples(runs: Sequence[Records]) -> list[Records]:
    """The runs with each task reduced to the data points that all its executed records have."""
    shared: dict[str, int] = {}
    for record in _executed(runs):
        shared[record.task] = min(len(record.samples), shared.get(record.task, len(record.samples)))
    return [
        {task: _on_first(record, count=shared.get(task, 0)) for task, record in records.items()} for records in runs
    ]


def most_samples(runs: Sequence[Records]) -> int | None:
    """The maximum number of data points of a plan; None if none was executed."""
    return max((len(record.samples) for record in _executed(runs)), default=None)


def _executed(runs: Iterable[Records]) -> Iterable[ResultRecord]:
    return (record for records in runs for record in records.values() if record.samples)


def _on_first(record: ResultRecord, *, count: int) -> ResultRecord:
    """The record reduced to its first data points, with the means over these."""
    if len(record.samples) <= count:
        return record
    samples = sorted(record.samples, key=lambda sample: sample.index)[:count]
    if record.outcome is Outcome.SCORED:
        scores = [sample.score for sample in samples if sample.score is not None]
        score = fsum(scores) / len(scores) if scores else None
        indicators = _indicators(record, samples=samples)
        return record.model_copy(update={"samples": samples, "score": score, "indicators": indicators})
    if record.outcome is Outcome.PLANNER_FAULT and not any(step.error for sample in samples for step in sample.steps):
        # The score on the common data points is unknown: treated as missing.
        unmeasured = {"outcome": Outcome.INFRA_FAULT, "reason": None, "reason_text": _FAILS_LATER, "score": None}
        return record.model_copy(update={"samples": samples, **unmeasured})
    return record.model_copy(update={"samples": samples})


def _indicators(record: ResultRecord, *, samples: Sequence[SampleResult]) -> dict[str, float]:
    """Means of the data points' indicators, with the plan's indicators unchanged."""
    by_sample = {name for sample in record.samples for name in sample.indicators}
    means = {name: value for name, value in record.indicators.items() if name not in by_sample}
    for name in by_sample & set(record.indicators):
        values = [sample.indicators[name] for sample in samples if name in sample.indicators]
        if values:
            means[name] = fsum(values) / len(values)
    return {name: means[name] for name in record.indicators if name in means}
