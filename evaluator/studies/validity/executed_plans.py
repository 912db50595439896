"""Whether plans that are judged to solve a request produce good results when they are executed, and others do not."""

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
from evaluator.studies.validity.damages import DAMAGES, damaged
from evaluator.studies.validity.plan_texts import Donors

GOOD = 0.9
"""Share of the gold plan's score from which on a result counts as good."""


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """One plan that was judged and executed."""

    task: str
    maker: str
    """The bundled planner, or the kind of damage to the gold plan."""
    solves: bool
    """By the judge (SE)."""
    undecided: bool
    """Whether the judge is undecided; SE is 0 then."""
    relative: float
    """Score as a share of the gold plan's, in [0, 1]."""

    @property
    def is_good(self) -> bool:
        """Whether its results are nearly as good as the gold plan's."""
        return self.relative >= GOOD


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Judged and executed plans."""

    suite: str
    plans: int
    good_if_solved: Interval
    """Share of good results among plans with SE = 1, over requests."""
    good_if_not: Interval
    """The same among plans with SE = 0 that the judge decided."""
    good_if_undecided: Interval | None
    """The same among undecided plans; None if there are none."""
    mean_if_solved: Interval
    """Mean share of the gold plan's score among plans with SE = 1."""
    mean_if_not: Interval
    agree: Interval
    """Share of decided plans of which SE and a good result agree."""
    by_maker: Mapping[str, tuple[int, float, float]]
    """For each planner or kind of damage: plans, mean SE, mean share of the gold plan's score."""
    disagreements: tuple[ExecutedPlan, ...]
    """Decided plans with SE = 1 and a bad result, or the reverse."""

    def figures(self) -> tuple[tuple[str, Interval], ...]:
        """The figures with their names."""
        named = (
            ("Good results among plans with SE = 1", self.good_if_solved),
            ("Good results among plans with SE = 0", self.good_if_not),
            ("Good results among undecided plans", self.good_if_undecided),
            ("Share of the gold plan's score, SE = 1", self.mean_if_solved),
            ("Share of the gold plan's score, SE = 0", self.mean_if_not),
            ("SE and a good result agree", self.agree),
        )
        return tuple((words, found) for words, found in named if found is not None)

    def to_json(self) -> dict[str, JsonValue]:
        """As a JSON object."""
        return asdict(self)


def agreement_of(*, suite: str, found: Sequence[ExecutedPlan]) -> AgreementReport:
    """How often SE and execution agree.

    Args:
        suite: its slug.
        found: plans that were judged and executed.

    Raises:
        ValueError: there are none with SE = 1, or none with SE = 0.
    """
    decided = [one for one in found if not one.undecided]
    solved, not_solved = ([one for one in decided if one.solves is wanted] for wanted in (True, False))
    undecided = [one for one in found if one.undecided]
    if not solved or not not_solved:
        raise ValueError(f"agreement on {suite} needs executed plans with SE = 1 and with SE = 0")
    return AgreementReport(
        suite=suite,
        plans=len(found),
        good_if_solved=_mean(solved, value=lambda one: float(one.is_good)),
        good_if_not=_mean(not_solved, value=lambda one: float(one.is_good)),
        good_if_undecided=_mean(undecided, value=lambda one: float(one.is_good)) if undecided else None,
        mean_if_solved=_mean(solved, value=lambda one: one.relative),
        mean_if_not=_mean(not_solved, value=lambda one: one.relative),
        agree=_mean(decided, value=lambda one: float(one.is_good is one.solves)),
        by_maker=_by_maker(found),
        disagreements=tuple(one for one in decided if one.is_good is not one.solves),
    )


def _mean(plans: Sequence[ExecutedPlan], *, value: Callable[[ExecutedPlan], float]) -> Interval:
    """The mean over plans, those of one request being a cluster."""
    clusters: dict[str, list[float]] = {}
    for one in plans:
        clusters.setdefault(one.task, []).append(value(one))
    return clustered_mean(list(clusters.values()))


def _by_maker(plans: Sequence[ExecutedPlan]) -> dict[str, tuple[int, float, float]]:
    own: dict[str, list[ExecutedPlan]] = {}
    for one in plans:
        own.setdefault(one.maker, []).append(one)
    return {
        maker: (len(made), sum(one.solves for one in made) / len(made), sum(one.relative for one in made) / len(made))
        for maker, made in own.items()
    }


Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


def measure_agreement(*, suite: Suite, evaluate: Evaluate, tasks: Sequence[str], seed: str = "") -> AgreementReport:
    """Judge and execute the anchors' plans, and gold plans with each kind of damage.

    Plans that cannot be executed are left out: they score 0 whatever the judge says. Gold plans are too, since they
    are what scores are compared with.

    Args:
        suite: judged and executed.
        evaluate: evaluates a planner on tasks.
        tasks: keys of the tasks.
        seed: draws the damage.

    Raises:
        ValueError: no plan of both kinds was executed.
    """
    found: list[ExecutedPlan] = []
    for name in each_once(suite.slug):
        if name != "gold":
            found += _executed(maker=name, records=evaluate(bundled_planner(name=name, suite=suite), tasks))
    donors = Donors(suite)
    for damage in DAMAGES:
        made = {key: damaged(damage=damage, task=suite.task(key), donors=donors, seed=seed) for key in tasks}
        plans = {key: plan for key, plan in made.items() if plan is not None}
        if plans:
            planner = VariantPlanner(name=damage.name, plans=plans)
            found += _executed(maker=damage.name, records=evaluate(planner, list(plans)))
    return agreement_of(suite=suite.slug, found=found)


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
