"""Data points of a profile's runs. Further runs execute plans on fewer than the first one, and runs are compared on
those that all of them have. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from evaluator.core.records import Outcome, ResultRecord, SampleResult

Records = Mapping[str, ResultRecord]
"""Of one run, by task."""
_SHARE = 8
FEWEST = 8
"""Data points on which 6 % of OpenAGI's gold plans without one of their steps count as a success; on one it is 29 %
(docs/validity.md#reliability-of-a-planner, "Success")."""
_FAILS_LATER = "Its plan fails on a data point that other runs of the profile do not have."


def samples_of_further_runs(count: int) -> int:
    """How many data points each task has in the further runs of a profile: an eighth, but at least `FEWEST` or all.

    Args:
        count: that it has in the first run, at least 1.
    """
    return min(count, max(FEWEST, count // _SHARE))


def on_shared_samples(runs: Sequence[Records]) -> list[Records]:
    """The runs, each task on the first data points, as many as it has in every run that executed its plan.

    Records that were not executed stay as they are.
    """
    shared: dict[str, int] = {}
    for record in _executed(runs):
        shared[record.task] = min(len(record.samples), shared.get(record.task, len(record.samples)))
    return [
        {task: _on_first(record, count=shared.get(task, 0)) for task, record in records.items()} for records in runs
    ]


def most_samples(runs: Sequence[Records]) -> int | None:
    """The most data points that a plan was executed on; None if none was executed."""
    return max((len(record.samples) for record in _executed(runs)), default=None)


def _executed(runs: Iterable[Records]) -> Iterable[ResultRecord]:
    return (record for records in runs for record in records.values() if record.samples)


def _on_first(record: ResultRecord, *, count: int) -> ResultRecord:
    """The record on its first data points only, with the means over these."""
    if len(record.samples) <= count:
        return record
    samples = sorted(record.samples, key=lambda sample: sample.index)[:count]
    if record.outcome is Outcome.SCORED:
        scores = [sample.score for sample in samples if sample.score is not None]
        indicators = _indicators(record, samples=samples)
        return record.model_copy(update={"samples": samples, "score": _mean(scores), "indicators": indicators})
    if record.outcome is Outcome.PLANNER_FAULT and not any(step.error for one in samples for step in one.steps):
        # What the score on the shared ones would be was not measured: left out like any task without a value.
        unmeasured = {"outcome": Outcome.INFRA_FAULT, "reason": None, "reason_text": _FAILS_LATER, "score": None}
        return record.model_copy(update={"samples": samples, **unmeasured})
    return record.model_copy(update={"samples": samples})


def _indicators(record: ResultRecord, *, samples: Sequence[SampleResult]) -> dict[str, float]:
    """Means of the indicators that data points have; those of the plan as they are."""
    by_sample = {name for sample in record.samples for name in sample.indicators}
    means = {name: value for name, value in record.indicators.items() if name not in by_sample}
    for name in by_sample & set(record.indicators):
        values = [sample.indicators[name] for sample in samples if name in sample.indicators]
        if values:
            means[name] = fsum(values) / len(values)
    return {name: means[name] for name in record.indicators if name in means}


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
