"""Gold plans against changed ones, over a whole suite.

Asked of the image score: gold > restoration in another order > one restoration left out > nothing done. Asked of the
text scores: the gold plan beats every plan that lacks one of its steps. Both are about means over samples and tasks;
a single sample may well come out otherwise.
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
from evaluator.scoring.metrics.statistics import DIFFERENCES, Interval, cluster_bootstrap

ORDER = (Kind.GOLD, Kind.SHUFFLED, Kind.DROPPED, Kind.NOTHING)
"""From the best to the worst, as a valid image score ranks them."""

Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


@dataclass(frozen=True, slots=True)
class Scored:
    """The mean score of one variant of one task's gold plan."""

    task: str
    metric: str
    variant: Variant
    score: float


@dataclass(frozen=True, slots=True)
class Loss:
    """A task in which a plan without one step scores at least as well as the gold plan."""

    task: str
    variant: str
    gold: float
    other: float


@dataclass(frozen=True, slots=True)
class MetricReport:
    """How gold plans fare against plans with one step less, on the tasks of one metric."""

    metric: str
    tasks: int
    """Tasks of which at least one step can be left out."""
    won: int
    """Tasks in which the gold plan scores more than each of them."""
    margin: Interval
    """Gold minus the mean of the others, by task."""
    losses: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class ValidityReport:
    """What became of the changed plans."""

    samples: int
    ranking: Mapping[str, Interval]
    """Mean image score of each kind of plan, over the tasks that have all kinds."""
    steps: Mapping[str, Interval]
    """By `better > worse`: the difference by task between neighbours of `ORDER`."""
    metrics: tuple[MetricReport, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """As a JSON object."""
        return dict(asdict(self))


def measure_validity(
    *,
    suite: Suite,
    evaluate: Evaluate,
    tasks: Sequence[str],
    samples: int,
    seen: Callable[[ResultRecord, Kind], None] = lambda record, kind: None,  # noqa: ARG005
) -> ValidityReport:
    """Score every variant of the gold plans of the named tasks.

    Args:
        evaluate: evaluates a planner on tasks; what it has executed before should be remembered.
        samples: data points per task that `evaluate` uses, for the report.
        seen: called with every record and the kind of plan that it is of.
    """
    scored = list(_scores(suite=suite, evaluate=evaluate, tasks=tasks, seen=seen))
    by_metric: dict[str, list[Scored]] = defaultdict(list)
    for row in scored:
        by_metric[row.metric].append(row)
    ranked = _by_kind(by_metric.get("ViT", []))
    return ValidityReport(
        samples=samples,
        ranking={kind.value: cluster_bootstrap(list(rows.values())) for kind, rows in ranked.items() if rows},
        steps=_neighbours(ranked),
        metrics=tuple(_report(metric=metric, rows=rows) for metric, rows in sorted(by_metric.items())),
    )


def _scores(
    *, suite: Suite, evaluate: Evaluate, tasks: Sequence[str], seen: Callable[[ResultRecord, Kind], None]
) -> Iterator[Scored]:
    """In rounds, one variant of every task in each, so that experts see large batches."""
    # Texts are repaired by one tool only; what can stand in another order restores images.
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
            seen(record, chosen[record.task].kind)
            if record.outcome is Outcome.NOT_RUN:
                waiting[record.task] = []
            elif record.score is not None:
                yield Scored(record.task, record.metric, chosen[record.task], record.score)


def _by_kind(rows: Sequence[Scored]) -> dict[Kind, dict[str, float]]:
    """Score by kind and task, for the tasks that have every kind; several plans of one kind are averaged."""
    found: dict[str, dict[Kind, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.task][row.variant.kind].append(row.score)
    whole = {task: kinds for task, kinds in found.items() if all(kind in kinds for kind in ORDER)}
    return {kind: {task: _mean(kinds[kind]) for task, kinds in whole.items()} for kind in ORDER}


def _neighbours(ranked: Mapping[Kind, Mapping[str, float]]) -> dict[str, Interval]:
    pairs = itertools.pairwise(ORDER)
    return {
        f"{better.value} > {worse.value}": cluster_bootstrap(
            [score - ranked[worse][task] for task, score in ranked[better].items()], bounds=DIFFERENCES
        )
        for better, worse in pairs
        if ranked[better]
    }


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
        margin=cluster_bootstrap(margins or [0.0], bounds=DIFFERENCES),
        losses=losses,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
