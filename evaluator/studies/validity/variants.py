"""Gold plans compared with changed ones, over a whole suite.

Expected of the image score: gold > restoration in another order > one restoration left out > nothing done. Expected of
the text scores: the gold plan beats every plan that lacks one of its steps. Both refer to means over samples and tasks;
single samples may differ.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.tools.types import ResourceType
from evaluator.planners.ablations import Kind, Variant, VariantPlanner, variants
from evaluator.scoring.metrics.statistics import DIFFERENCES, Interval, mean_of_tasks

ORDER = (Kind.GOLD, Kind.SHUFFLED, Kind.DROPPED, Kind.NOTHING)
"""From the best to the worst, as a valid image score ranks them."""

Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


@dataclass(frozen=True, slots=True)
class Scored:
    """The mean score of a variant of a task's gold plan."""

    task: str
    metric: str
    variant: Variant
    score: float


@dataclass(frozen=True, slots=True)
class Loss:
    """A task in which a plan with a missing step scores at least as well as the gold plan."""

    task: str
    variant: str
    gold: float
    other: float


@dataclass(frozen=True, slots=True)
class MetricReport:
    """Gold plans compared with plans with a missing step, on the tasks of a metric."""

    metric: str
    tasks: int
    """Number of tasks with at least one step that can be left out."""
    won: int
    """Number of tasks in which the gold plan scores higher than all others."""
    margin: Interval
    """Gold minus the mean of the others, by task."""
    losses: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class ValidityReport:
    """The scores of gold plans and their variants."""

    samples: int
    ranking: Mapping[str, Interval]
    """Mean image score of each kind of plan, over the tasks that have all kinds."""
    steps: Mapping[str, Interval]
    """By `better > worse`: the difference by task between neighbours of `ORDER`."""
    metrics: tuple[MetricReport, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The report as a JSON object."""
        return dict(asdict(self))


def measure_validity(
    *,
    suite: Suite,
    evaluate: Evaluate,
    tasks: Sequence[str],
    samples: int,
    on_record: Callable[[ResultRecord, Kind], None] = lambda record, kind: None,  # noqa: ARG005
) -> ValidityReport:
    """Score every variant of the gold plans of some tasks.

    Args:
        evaluate: evaluates a planner on tasks; it should cache executed steps.
        samples: data points per task that `evaluate` uses, for the report.
        on_record: called with every record and the kind of its plan.
    """
    by_metric: dict[str, list[Scored]] = defaultdict(list)
    for row in _scores(suite=suite, evaluate=evaluate, tasks=tasks, on_record=on_record):
        by_metric[row.metric].append(row)
    ranked = _by_kind(by_metric.get("ViT", []))
    return ValidityReport(
        samples=samples,
        ranking={kind.value: mean_of_tasks(list(rows.values())) for kind, rows in ranked.items() if rows},
        steps={
            f"{better.value} > {worse.value}": mean_of_tasks(
                [score - ranked[worse][task] for task, score in ranked[better].items()], bounds=DIFFERENCES
            )
            for better, worse in itertools.pairwise(ORDER)
            if ranked[better]
        },
        metrics=tuple(_report(metric=metric, rows=rows) for metric, rows in sorted(by_metric.items())),
    )


def _scores(
    *, suite: Suite, evaluate: Evaluate, tasks: Sequence[str], on_record: Callable[[ResultRecord, Kind], None]
) -> Iterator[Scored]:
    """In rounds, one variant of every task in each, so that experts see large batches."""
    # Texts are repaired by a single tool; the tools that can be reordered restore images.
    movable = frozenset(
        tool.name
        for tool in suite.catalogue.tools.values()
        if set(tool.inputs.values()) == set(tool.outputs.values()) == {ResourceType.IMAGE}
    )
    waiting = {key: list(variants(task=suite.task(key), catalogue=suite.catalogue, movable=movable)) for key in tasks}
    while any(waiting.values()):
        chosen = {key: rest.pop(0) for key, rest in waiting.items() if rest}
        planner = VariantPlanner(name="variant", plans={key: variant.plan for key, variant in chosen.items()})
        for record in evaluate(planner, list(chosen)):
            on_record(record, chosen[record.task].kind)
            if record.outcome is Outcome.NOT_RUN:
                waiting[record.task] = []
            elif record.score is not None:
                yield Scored(record.task, record.metric, chosen[record.task], record.score)


def _by_kind(rows: Sequence[Scored]) -> dict[Kind, dict[str, float]]:
    """Score by kind and task, for the tasks that have every kind; several plans of one kind are averaged."""
    scores: dict[str, dict[Kind, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        scores[row.task][row.variant.kind].append(row.score)
    complete = {task: kinds for task, kinds in scores.items() if all(kind in kinds for kind in ORDER)}
    return {kind: {task: _mean(kinds[kind]) for task, kinds in complete.items()} for kind in ORDER}


def _report(*, metric: str, rows: Sequence[Scored]) -> MetricReport:
    gold = {row.task: row.score for row in rows if row.variant.kind is Kind.GOLD}
    others: dict[str, list[Scored]] = defaultdict(list)
    for row in rows:
        if row.variant.kind in (Kind.DROPPED, Kind.NOTHING):
            others[row.task].append(row)
    compared = [task for task in gold if task in others]
    losses = tuple(
        Loss(task=task, variant=row.variant.name, gold=gold[task], other=row.score)
        for task in compared
        for row in others[task]
        if row.score >= gold[task]
    )
    lost = {loss.task for loss in losses}
    margins = [gold[task] - _mean([row.score for row in others[task]]) for task in compared]
    return MetricReport(
        metric=metric,
        tasks=len(compared),
        won=len(compared) - len(lost),
        margin=mean_of_tasks(margins or [0.0], bounds=DIFFERENCES),
        losses=losses,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
