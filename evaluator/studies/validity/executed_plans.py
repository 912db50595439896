"""Agreement of judgement and execution: whether plans judged to solve a request produce good results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.planners.ablations import VariantPlanner
from evaluator.planners.bundled import bundled_planner, each_once
from evaluator.scoring.metrics.statistics import Interval, clustered_mean
from evaluator.studies.validity.damages import DAMAGES
from evaluator.studies.validity.plan_texts import Donors

GOOD = 0.9
"""Least share of the gold plan's score for a good result."""


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """A plan that was judged and executed."""

    task: str
    maker: str
    """The bundled planner, or the kind of damage to the gold plan."""
    solves: bool
    """Judgement (SE)."""
    undecided: bool
    """Whether the judge is undecided, in which case SE is 0."""
    relative: float
    """Score as a share of the gold plan's, in [0, 1]."""

    @property
    def is_good(self) -> bool:
        """Whether its score is nearly that of the gold plan."""
        return self.relative >= GOOD


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Figures over judged and executed plans."""

    suite: str
    plans: int
    good_if_solved: Interval
    """Share of good results among plans with SE = 1, over requests."""
    good_if_not: Interval
    """Share of good results among decided plans with SE = 0."""
    good_if_undecided: Interval | None
    """Share of good results among undecided plans; None if there are none."""
    mean_if_solved: Interval
    """Mean share of the gold plan's score among plans with SE = 1."""
    mean_if_not: Interval
    agree: Interval
    """Share of decided plans whose SE agrees with whether the result is good."""
    by_maker: Mapping[str, tuple[int, float, float]]
    """For each planner or kind of damage: plans, mean SE, mean share of the gold plan's score."""
    disagreements: tuple[ExecutedPlan, ...]
    """Decided plans with SE = 1 and a bad result, or the reverse."""

    def figures(self) -> tuple[tuple[str, Interval], ...]:
        """The figures with their titles."""
        titled = (
            ("Good results among plans with SE = 1", self.good_if_solved),
            ("Good results among plans with SE = 0", self.good_if_not),
            ("Good results among undecided plans", self.good_if_undecided),
            ("Share of the gold plan's score, SE = 1", self.mean_if_solved),
            ("Share of the gold plan's score, SE = 0", self.mean_if_not),
            ("SE and a good result agree", self.agree),
        )
        return tuple((title, interval) for title, interval in titled if interval is not None)

    def to_json(self) -> dict[str, JsonValue]:
        """The report as a JSON object."""
        return asdict(self)


def agreement_of(*, suite: str, plans: Sequence[ExecutedPlan]) -> AgreementReport:
    """The agreement of SE and execution over plans for a suite, by its slug.

    Raises:
        ValueError: no plans with SE = 1, or none with SE = 0.
    """
    decided = [plan for plan in plans if not plan.undecided]
    solved = [plan for plan in decided if plan.solves]
    not_solved = [plan for plan in decided if not plan.solves]
    undecided = [plan for plan in plans if plan.undecided]
    if not solved or not not_solved:
        raise ValueError(f"agreement on {suite} needs executed plans with SE = 1 and with SE = 0")
    makers: dict[str, list[ExecutedPlan]] = {}
    for plan in plans:
        makers.setdefault(plan.maker, []).append(plan)
    return AgreementReport(
        suite=suite,
        plans=len(plans),
        good_if_solved=_mean(solved, value=lambda plan: float(plan.is_good)),
        good_if_not=_mean(not_solved, value=lambda plan: float(plan.is_good)),
        good_if_undecided=_mean(undecided, value=lambda plan: float(plan.is_good)) if undecided else None,
        mean_if_solved=_mean(solved, value=lambda plan: plan.relative),
        mean_if_not=_mean(not_solved, value=lambda plan: plan.relative),
        agree=_mean(decided, value=lambda plan: float(plan.is_good is plan.solves)),
        by_maker={
            maker: (len(own), sum(p.solves for p in own) / len(own), sum(p.relative for p in own) / len(own))
            for maker, own in makers.items()
        },
        disagreements=tuple(plan for plan in decided if plan.is_good is not plan.solves),
    )


def _mean(plans: Sequence[ExecutedPlan], *, value: Callable[[ExecutedPlan], float]) -> Interval:
    """The mean over plans, with the plans of a request as a cluster."""
    clusters: dict[str, list[float]] = {}
    for plan in plans:
        clusters.setdefault(plan.task, []).append(value(plan))
    return clustered_mean(list(clusters.values()))


Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


def measure_agreement(*, suite: Suite, evaluate: Evaluate, tasks: Sequence[str], seed: str = "") -> AgreementReport:
    """Judge and execute the anchors' plans, and gold plans with each kind of damage.

    Plans that cannot be executed are left out: they score 0 whatever the judge says. So are gold plans, with which
    scores are compared.

    Args:
        suite: judged and executed.
        evaluate: evaluates a planner on tasks.
        tasks: keys of the tasks.
        seed: draws the damage.

    Raises:
        ValueError: no plans with SE = 1, or none with SE = 0, were executed.
    """
    executed: list[ExecutedPlan] = []
    for name in each_once(suite.slug):
        if name != "gold":
            executed += _executed(maker=name, records=evaluate(bundled_planner(name=name, suite=suite), tasks))
    donors = Donors(suite)
    for damage in DAMAGES:
        if plans := damage.plans(tasks=tasks, donors=donors, seed=seed):
            planner = VariantPlanner(name=damage.name, plans=plans)
            executed += _executed(maker=damage.name, records=evaluate(planner, list(plans)))
    return agreement_of(suite=suite.slug, plans=executed)


def _executed(*, maker: str, records: Iterator[ResultRecord]) -> list[ExecutedPlan]:
    return [
        ExecutedPlan(
            task=record.task,
            maker=maker,
            solves=record.indicators["SE"] > 0,
            undecided=record.indicators.get("undecided", 0) > 0,
            relative=record.indicators[RELATIVE],
        )
        for record in records
        if record.outcome is Outcome.SCORED and RELATIVE in record.indicators
    ]
