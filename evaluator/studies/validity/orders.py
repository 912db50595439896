"""Regret: what a plan scores less than the best order of the same tools (OpenAGI, figure 3).

Only steps in a row whose result has the type of their input, such as restorations of a picture, can be reordered. All
orders of a plan are executed on the same samples; they share the steps that they begin with.

The best of many orders on some samples is partly the luckiest. Regret is therefore measured on samples that the best
order was not chosen by: it is chosen by the even samples and compared on the odd ones, and the reverse. The mean of
both is an unbiased estimate of what the chosen order gains, and may be negative.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations, product
from math import factorial, fsum, prod

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.tools.types import Catalogue
from evaluator.planners.ablations import VariantPlanner
from evaluator.scoring.metrics.statistics import DIFFERENCES, Interval, mean_of_tasks

MOST_ORDERS = 24
"""Plans with more orders are left out: five steps in a row have 120."""
LEAST_SAMPLES = 2

Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRegret:
    """The orders of a task's plan."""

    task: str
    metric: str
    tools: tuple[str, ...]
    """The tools that can be reordered, in the plan's order."""
    orders: int
    own: float
    """Mean score of the plan's order."""
    best: float
    """Mean score of the best order on the same samples, at least `own`."""
    worst: float
    best_tools: tuple[str, ...]
    """The tools in the best order; the plan's own if none is better."""
    regret: float
    """Gain of an order chosen on other samples, in [-1, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretReport:
    """The regret of one plan for each task."""

    suite: str
    samples: int
    tasks: tuple[TaskRegret, ...]
    left_out: Mapping[str, int]
    """Number of tasks without a regret, by the reason as a clause."""

    @property
    def regret(self) -> Interval | None:
        """Mean regret over tasks; None without tasks."""
        return self._mean(lambda task: task.regret)

    @property
    def spread(self) -> Interval | None:
        """Mean difference of the best and the worst order."""
        return self._mean(lambda task: task.best - task.worst)

    @property
    def already_best(self) -> int:
        """Number of tasks of which no other order scores higher on these samples."""
        return sum(task.own >= task.best for task in self.tasks)

    def to_json(self) -> dict[str, JsonValue]:
        """The report as a JSON object."""
        intervals = {"regret": self.regret, "spread": self.spread}
        summary = {name: None if value is None else asdict(value) for name, value in intervals.items()}
        return {
            **asdict(self), "tasks": [asdict(task) for task in self.tasks], "already_best": self.already_best,
            "summary": summary,
        }  # fmt: skip

    def _mean(self, value: Callable[[TaskRegret], float]) -> Interval | None:
        values = [value(task) for task in self.tasks]
        return mean_of_tasks(values, bounds=DIFFERENCES) if values else None


def chains_of(*, plan: Plan, catalogue: Catalogue) -> list[list[Step]]:
    """The rows of at least two steps that can be reordered: each takes one value, returns one of the same type, and is
    the only one to use the result of the step before."""
    users: dict[str, int] = defaultdict(int)
    for value in (*(value for step in plan.steps for value in step.inputs.values()), *plan.answers):
        users[value] += 1
    chains: list[list[Step]] = []
    by_end: dict[str, list[Step]] = {}
    for step in execution_order(plan):
        tool = catalogue[step.tool]
        kinds = [*tool.inputs.values(), *tool.outputs.values()]
        if len(kinds) != 2 or kinds[0] is not kinds[1]:
            continue
        (taken,), (made,) = step.inputs.values(), step.outputs.values()
        chain = by_end.pop(taken, None) if users[taken] == 1 else None
        if chain is None or catalogue[chain[-1].tool].inputs.keys() != tool.inputs.keys():
            chain = []
            chains.append(chain)
        chain.append(step)
        by_end[made] = chain
    return [chain for chain in chains if len({step.tool for step in chain}) > 1]


def orders_of(*, plan: Plan, catalogue: Catalogue) -> list[Plan]:
    """All plans that call the same tools in another order within their chains, the plan itself first.

    Returns:
        An empty list if there are more than `MOST_ORDERS`, one plan if nothing can be reordered.
    """
    chains = chains_of(plan=plan, catalogue=catalogue)
    if prod(factorial(len(chain)) for chain in chains) > MOST_ORDERS:
        return []
    found: dict[tuple[tuple[str, ...], ...], Plan] = {}
    for order in product(*(permutations(step.tool for step in chain) for chain in chains)):
        tools = {
            step.id: tool
            for chain, names in zip(chains, order, strict=True)
            for step, tool in zip(chain, names, strict=True)
        }
        steps = tuple(replace(step, tool=tools.get(step.id, step.tool)) for step in plan.steps)
        found.setdefault(order, Plan(steps=steps, answers=plan.answers))
    return list(found.values())


def measure_regret(
    *, suite: Suite, plans: Mapping[str, Plan], evaluate: Evaluate, samples: int,
    on_order: Callable[[int, int], None] = lambda done, of: None,  # noqa: ARG005
) -> RegretReport:  # fmt: skip
    """Execute every order of some plans.

    Args:
        suite: the suite of the tasks.
        plans: a valid plan for each task, by its key.
        evaluate: evaluates a planner on tasks; it should cache executed steps.
        samples: data points per task that `evaluate` uses, at least `LEAST_SAMPLES`.
        on_order: called after each round of orders with the number of finished rounds and of all.

    Raises:
        ValueError: too few samples.
    """
    if samples < LEAST_SAMPLES:
        raise ValueError(f"regret needs at least {LEAST_SAMPLES} samples: one to choose an order by, one to compare on")
    orders = {task: orders_of(plan=plan, catalogue=suite.catalogue) for task, plan in plans.items()}
    several = {task: found for task, found in orders.items() if len(found) > 1}
    left_out: dict[str, int] = defaultdict(int)
    for found in orders.values():
        if len(found) < 2:
            left_out[f"more than {MOST_ORDERS} orders" if not found else "nothing can be reordered"] += 1
    scores: dict[str, list[list[float]]] = defaultdict(list)
    rounds = max(map(len, several.values()), default=0)
    for number in range(rounds):
        chosen = {task: found[number] for task, found in several.items() if number < len(found)}
        for record in evaluate(VariantPlanner(name="order", plans=chosen), list(chosen)):
            if record.outcome is Outcome.SCORED:
                scores[record.task].append([sample.score or 0.0 for sample in record.samples])
        on_order(number + 1, rounds)
    complete = {task: found for task, found in several.items() if len(scores[task]) == len(found)}
    if len(complete) < len(several):
        left_out["an order could not be executed"] = len(several) - len(complete)
    tasks = tuple(
        _of_task(suite=suite, task=task, orders=found, scores=scores[task]) for task, found in complete.items()
    )
    return RegretReport(suite=suite.slug, samples=samples, tasks=tasks, left_out=dict(left_out))


def _of_task(*, suite: Suite, task: str, orders: Sequence[Plan], scores: Sequence[Sequence[float]]) -> TaskRegret:
    moved = [step.id for chain in chains_of(plan=orders[0], catalogue=suite.catalogue) for step in chain]

    def tools(plan: Plan) -> tuple[str, ...]:
        by_id = {step.id: step.tool for step in plan.steps}
        return tuple(by_id[step] for step in moved)

    means = [_mean(values) for values in scores]
    # The plan's own order is the first, so that ties are no regret.
    best = means.index(max(means))
    return TaskRegret(
        task=task, metric=suite.task(task).metric, tools=tools(orders[0]), orders=len(orders), own=means[0],
        best=means[best], worst=min(means), best_tools=tools(orders[best]), regret=crossed_regret(scores),
    )  # fmt: skip


def crossed_regret(scores: Sequence[Sequence[float]]) -> float:
    """What the order that is best on one half of the samples gains over the first order on the other half; the mean of
    both directions.

    Args:
        scores: for each order the score of each sample, at least two; the plan's own order first.
    """
    halves = [[values[start::2] for values in scores] for start in (0, 1)]
    gains = []
    for chosen_by, compared_on in (halves, halves[::-1]):
        means = [_mean(values) for values in chosen_by]
        gains.append(_mean(compared_on[means.index(max(means))]) - _mean(compared_on[0]))
    return _mean(gains)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
