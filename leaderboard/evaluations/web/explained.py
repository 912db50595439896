"""The section "Why below gold" of an evaluation: causes with their costs and mistakes. No database.

Sentences and figures come from `evaluator.scoring.causes.explanation`, which commands and reports use, too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column
from evaluator.scoring.causes.costs import CauseCost, Costs, ExplainedTask, Mistake, as_json, costs_of
from evaluator.scoring.causes.explanation import cost_label, cost_words, headline, tasks_words
from evaluator.scoring.causes.taxonomy import Cause, Finding
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.metrics.statistics import LEAST_VALUES
from leaderboard.evaluations.causes import NOT_FOUND, RAN, words_of_cause
from leaderboard.evaluations.results.task_rows import FAULTS, TaskRow

SHOWN_CAUSES = 6
SHOWN_MISTAKES = 3
MOST_MISTAKES = 30
"""Mistakes of a cause on the page."""
MOST_EXAMPLES = 3
_SCALES = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the scale that all costs of a page are drawn on."""


class ShownMistake(NamedTuple):
    """One mistake with its tasks."""

    sentence: str
    tasks: int
    key: str
    """The value of the filter `cause`."""
    examples: tuple[str, ...]
    """Keys of the first tasks, or their ids in requests."""


class ShownCause(NamedTuple):
    """The tasks with one main cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    tasks: str
    """The number of tasks in words."""
    cost_label: str
    cost: str
    """In words; empty if it is not known."""
    value: Mapping[str, Any] | None
    """The cost as a value for template tags."""
    mistakes: tuple[ShownMistake, ...]
    further: tuple[ShownMistake, ...]
    """Less frequent mistakes."""
    left_out: int
    """Number of mistakes that are not shown."""


class WhyBelowGold(NamedTuple):
    """The section."""

    headline: str
    causes: tuple[ShownCause, ...]
    further: tuple[ShownCause, ...]
    """Less costly causes."""
    scale: tuple[float, float]
    """That of all costs."""
    has_costs: bool
    unknown: int
    """Tasks whose causes are not known yet."""


def costs_of_rows(
    rows: Iterable[TaskRow],
    *,
    column: Column,
    samples: int,
    has_experts: bool,
    gold: Mapping[str, TaskScore] = MappingProxyType({}),
) -> Costs:
    """What each cause costs an evaluation.

    Args:
        rows: all its tasks.
        column: the column that the board ranks by.
        samples: of each task.
        has_experts: whether experts execute the plans.
        gold: results of gold plans under the same conditions, by task.
    """
    tasks = [ExplainedTask(score=_score(row), findings=_findings(row)) for row in rows if row.outcome in RAN]
    return costs_of(tasks, column=column, samples=samples, has_experts=has_experts, gold=gold)


def costs_of_faults(rows: Iterable[TaskRow], *, column: Column) -> Costs:
    """The faults of an evaluation as causes without costs, where scored tasks are not explained."""
    faults = [row for row in rows if row.outcome in FAULTS]
    costs = costs_of_rows(faults, column=column, samples=1, has_experts=False)
    return replace(costs, gap=None, causes=tuple(replace(one, cost=None) for one in costs.causes))


def sealed(costs: Costs, *, faults: Costs, name_of: Callable[[str], str | None]) -> Costs:
    """Costs without what reveals the result of a single task: costs of few tasks, and mistakes unless they are faults,
    which their owner has to correct. Faults name tasks by the ids in requests.

    Args:
        costs: of an evaluation.
        faults: those of its faults (`costs_of_faults`).
        name_of: the id of a task in requests; None if it is not known.
    """
    known = {one.cause: one.mistakes for one in faults.causes}
    causes = [
        replace(
            one,
            cost=one.cost if one.tasks >= LEAST_VALUES else None,
            mistakes=tuple(map(_renamed(name_of), known.get(one.cause, ()))),
        )
        for one in costs.causes
    ]
    return replace(costs, causes=tuple(causes))


def _renamed(name_of: Callable[[str], str | None]) -> Callable[[Mistake], Mistake]:
    return lambda one: replace(one, tasks=tuple(name for key in one.tasks if (name := name_of(key))))


def why_below_gold(costs: Costs, *, metric: str) -> WhyBelowGold | None:
    """The section; None if no task has run.

    Args:
        costs: of the evaluation.
        metric: label of the column that the board ranks by.
    """
    if not costs.ran:
        return None
    known = [one.cost for one in costs.causes if one.cost is not None]
    highest = max((cost.mean if cost.high is None else cost.high for cost in known), default=0.0)
    shown = tuple(map(_shown, costs.causes))
    return WhyBelowGold(
        headline=_faults_sentence(costs) if costs.below and costs.gap is None else headline(costs, metric=metric),
        causes=shown[:SHOWN_CAUSES],
        further=shown[SHOWN_CAUSES:],
        scale=(0.0, next((end for end in _SCALES if end >= highest), 1.0)),
        has_costs=bool(known),
        unknown=costs.unknown,
    )


def _faults_sentence(costs: Costs) -> str:
    count = costs.below
    return f"{count} task{'' if count == 1 else 's'} ended with a fault."


def _shown(one: CauseCost) -> ShownCause:
    mistakes = tuple(
        ShownMistake(
            sentence=mistake.sentence,
            tasks=len(mistake.tasks),
            key=mistake.key,
            examples=mistake.tasks[:MOST_EXAMPLES],
        )
        for mistake in one.mistakes[:MOST_MISTAKES]
    )
    return ShownCause(
        cause=one.cause.value,
        label=words_of_cause(one.cause.value),
        definition=one.cause.definition,
        tasks=tasks_words(one),
        cost_label=cost_label(one),
        cost="" if one.cost is None else cost_words(one.cost),
        value=None if one.cost is None else as_json(one.cost),
        mistakes=mistakes[:SHOWN_MISTAKES],
        further=mistakes[SHOWN_MISTAKES:],
        left_out=len(one.mistakes) - len(mistakes),
    )


def _score(row: TaskRow) -> TaskScore:
    return TaskScore(
        task=row.key,
        metric=row.metric,
        outcome=Outcome(row.outcome),
        score=row.score,
        indicators=row.indicators,
        samples=row.samples,
    )


def _findings(row: TaskRow) -> Sequence[Finding] | None:
    """The main cause with its details, and the others by their names alone."""
    others = [Finding(cause=Cause(code)) for code in row.why if code != NOT_FOUND]
    if row.main is None:
        return None if row.why else ()
    return (row.main, *(finding for finding in others if finding.cause is not row.main.cause))
