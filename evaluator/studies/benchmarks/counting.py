"""The least number of expert calls that some results need, counted without the engine and its keys."""

from collections import Counter
from collections.abc import Collection, Iterable

from evaluator.core.plans.model import Plan
from evaluator.core.records import ResultRecord, SampleResult
from evaluator.core.values import encode

_Call = tuple[str, tuple[tuple[str, str], ...], int | None]
"""Tool, names and digests of its inputs, and the sample where an expert samples."""


def distinct_calls(
    *, records: Iterable[ResultRecord], plans: dict[str, Plan], sampling: Collection[str]
) -> Counter[str]:
    """Distinct (tool, inputs) of all plans on all samples, by tool.

    A pure walk: it follows each plan through the digests that the record names.

    Args:
        records: results whose steps all succeeded.
        plans: the plan of each task.
        sampling: tools whose experts sample, so that a call belongs to its sample.
    """
    found: set[_Call] = set()
    for record in records:
        for sample in record.samples:
            found |= _calls(plan=plans[record.task], sample=sample, sampling=sampling)
    return Counter(tool for tool, _, _ in found)


def _calls(*, plan: Plan, sample: SampleResult, sampling: Collection[str]) -> set[_Call]:
    runs = {run.step: run for run in sample.steps}
    # A plan may name a file of the request without "$".
    digests = {key: reference.digest for name, reference in sample.inputs.items() for key in (f"${name}", name)}
    for step in plan.steps:
        made = runs[step.id].outputs
        digests |= {reference: made[name].digest for name, reference in step.outputs.items() if name in made}
    return {
        (
            step.tool,
            tuple(sorted((name, digests.get(value) or encode(value).digest) for name, value in step.inputs.items())),
            sample.index if step.tool in sampling else None,
        )
        for step in plan.steps
    }
