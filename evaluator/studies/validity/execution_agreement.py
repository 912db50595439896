"""Anchors' plans and damaged gold plans, judged and executed: does the judgement predict the result?"""

from collections.abc import Callable, Iterator, Sequence

from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.planners.ablations import VariantPlanner
from evaluator.planners.bundled import bundled_planner, each_once
from evaluator.studies.validity.damages import DAMAGES, damaged
from evaluator.studies.validity.executed_plans import AgreementReport, ExecutedPlan, agreement_of
from evaluator.studies.validity.plan_texts import Donors

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
