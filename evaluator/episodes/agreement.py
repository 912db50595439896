"""Indicators of executed plans: agreement with the gold plan, and whether closed answers are right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum

from evaluator.core.records import ArtefactReference, ResultRecord, SampleResult
from evaluator.core.suites.base import CLOSED, EXACT, NEAR, Task
from evaluator.core.values import Value
from evaluator.episodes.parts import Planned
from evaluator.scoring.metrics.closed_answers import is_right
from evaluator.scoring.metrics.plan_equality import edge_f1, is_same_plan


def with_agreement(item: ResultRecord | Planned) -> ResultRecord | Planned:
    """Note how a valid plan agrees with the gold plan of its task, as the planner gave it: an empty plan is one."""
    gold = None if isinstance(item, ResultRecord) else item.task.gold
    if isinstance(item, ResultRecord) or gold is None:
        return item
    plan = item.plan.plan
    indicators = {EXACT: float(is_same_plan(plan=plan, other=gold)), NEAR: edge_f1(plan=plan, other=gold)}
    return replace(item, record=item.record.model_copy(update={"indicators": indicators}))


def closed_answers(
    *, task: Task, samples: Sequence[SampleResult], value: Callable[[ArtefactReference], Value]
) -> list[dict[str, float]]:
    """For each sample the share of its closed answers that are right, as an indicator; none where none is closed.

    Args:
        task: what was asked.
        samples: executed and scored.
        value: reads an artefact.
    """
    closed = [number for number, answer in enumerate(task.answers) if answer.is_closed]
    if not closed:
        return [{} for _ in samples]
    return [{CLOSED: _mean([_is_right(sample, number=number, value=value) for number in closed])} for sample in samples]


def means_of(samples: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each indicator over the samples, all of which have the same."""
    return {name: _mean([sample[name] for sample in samples]) for name in (samples[0] if samples else ())}


def _is_right(sample: SampleResult, *, number: int, value: Callable[[ArtefactReference], Value]) -> float:
    own = sample if number == 0 else sample.further[number - 1]
    if own.answer is None or own.reference is None:
        return 0.0
    answer, reference = value(own.answer), value(own.reference)
    return float(
        isinstance(answer, str) and isinstance(reference, str) and is_right(answer=answer, reference=reference)
    )


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
