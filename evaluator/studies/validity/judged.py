"""Gold plans compared with damaged ones, and the anchors, on a suite whose plans are judged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Column, Suite
from evaluator.planners.ablations import VariantPlanner
from evaluator.planners.bundled import BUNDLED, bundled_planner, each_once
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from evaluator.scoring.metrics.statistics import LEAST_VALUES, Interval, paired_shares, wilson
from evaluator.studies.validity.damages import DAMAGES, Damage
from evaluator.studies.validity.plan_texts import Donors

INDICATORS = ("SE", "IR", "NR", "HR", "CR")
"""Keys of the compared columns: the indicators of ControlLLM (arXiv:2310.17796, section 4.2)."""

Evaluate = Callable[[Planner, Sequence[str]], Iterator[ResultRecord]]


class NotComparableError(ValueError):
    """The suite lacks columns for the comparison of damaged plans, or no task can be judged; the message says which."""


@dataclass(frozen=True, slots=True)
class AnchorReport:
    """The figures of a bundled planner."""

    name: str
    description: str
    tasks: int
    shares: Mapping[str, Interval]
    """By indicator: share of the tasks with its 95 % interval."""


@dataclass(frozen=True, slots=True)
class DamageReport:
    """Gold plans and the same plans with a kind of damage, on the tasks where it is applied."""

    name: str
    description: str
    rule: str
    indicator: str
    """Key of the column that must get worse."""
    tasks: int
    gold: Mapping[str, float]
    """Mean by indicator, in [0, 1]; empty without tasks."""
    damaged: Mapping[str, float]
    gain: Interval | None
    """By how much gold is better in `indicator`, paired by task; None without tasks."""

    @property
    def is_gold_above(self) -> bool:
        """Whether gold is better in `indicator`: the interval, or without one the mean, is above 0."""
        if self.gain is None:
            return True  # no task to compare
        # The interval of a few tasks reaches beyond 0 whatever they say.
        ends = None if self.gain.count < LEAST_VALUES else self.gain.ends
        return (self.gain.mean if ends is None else ends[0]) > 0


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """All figures of a suite."""

    suite: str
    seed: str
    judged: int
    """Number of tasks whose plans can be judged."""
    anchors: tuple[AnchorReport, ...]
    damages: tuple[DamageReport, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """The kinds of damage after which plans are not worse than gold."""
        return tuple(report.name for report in self.damages if not report.is_gold_above)

    def to_json(self) -> dict[str, JsonValue]:
        """The report as a JSON object."""
        return {**asdict(self), "failures": list(self.failures)}


def measure_judged(*, suite: Suite, evaluate: Evaluate, tasks: Sequence[str], seed: str = "") -> JudgedReport:
    """Judge the anchors, and gold plans with each kind of damage.

    Args:
        evaluate: evaluates a planner on tasks.
        tasks: keys of the tasks; those whose plans cannot be judged are left out.
        seed: draws the damage.

    Raises:
        NotComparableError: the suite lacks columns, or none of the tasks can be judged.
    """
    columns = {column.key: column for column in suite.metrics if column.key in INDICATORS}
    if missing := [key for key in INDICATORS if key not in columns]:
        raise NotComparableError(
            f"{suite.slug} has no columns {', '.join(missing)}, by which damaged plans are compared with gold plans"
        )

    def judged(planner: Planner, keys: Sequence[str]) -> dict[str, dict[str, float]]:
        """Values by task and indicator, without the tasks whose plans cannot be judged."""
        results = [TaskScore.of(record) for record in evaluate(planner, keys) if record.outcome is not Outcome.NOT_RUN]
        values: dict[str, dict[str, float]] = {result.task: {} for result in results}
        for key, column in columns.items():
            for result, value in zip(results, counted(column=column, results=results), strict=True):
                if value is not None:
                    values[result.task][key] = value
        return values

    rows = {name: judged(bundled_planner(name=name, suite=suite), tasks) for name in each_once(suite.slug)}
    gold, donors = rows["gold"], Donors(suite)
    if not gold:
        raise NotComparableError(f"no plan for these tasks of {suite.slug} can be judged")
    damages = []
    for damage in DAMAGES:
        plans = damage.plans(tasks=list(gold), donors=donors, seed=seed)
        bad = judged(VariantPlanner(name=damage.name, plans=plans), list(plans))
        damages.append(_compared(damage=damage, column=columns[damage.indicator], gold=gold, bad=bad))
    return JudgedReport(
        suite=suite.slug,
        seed=seed,
        judged=len(gold),
        anchors=tuple(_anchor(name=name, rows=own) for name, own in rows.items()),
        damages=tuple(damages),
    )


def _anchor(*, name: str, rows: Mapping[str, Mapping[str, float]]) -> AnchorReport:
    shares = {
        key: wilson(successes=round(sum(row[key] for row in rows.values())), total=len(rows)) for key in INDICATORS
    }
    return AnchorReport(name=name, description=BUNDLED[name].description, tasks=len(rows), shares=shares)


def _compared(
    *,
    damage: Damage,
    column: Column,
    gold: Mapping[str, Mapping[str, float]],
    bad: Mapping[str, Mapping[str, float]],
) -> DamageReport:
    sign = 1 if column.higher_is_better else -1
    gains = [sign * (gold[task][column.key] - row[column.key]) for task, row in bad.items()]
    return DamageReport(
        name=damage.name,
        description=damage.description,
        rule=damage.rule,
        indicator=damage.indicator,
        tasks=len(bad),
        gold=_means([gold[task] for task in bad]),
        damaged=_means(list(bad.values())),
        gain=paired_shares(gains) if gains else None,
    )


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: sum(row[key] for row in rows) / len(rows) for key in INDICATORS} if rows else {}
