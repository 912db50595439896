"""What floors and shortcuts score on a suite, beside gold plans, without running experts where plans are executed.

Where plans are executed, a plan counts if it is the gold plan, or if the suite's judge says that it solves the request.
Where plans are judged, and in turns, the score is that of the board. Hidden splits are drawn from seeds of this module.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner, PlannerReply, PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.records import Outcome, PlannerCall, ResultRecord
from evaluator.core.suites.base import IntervalMethod, Suite
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, suite_on_split
from evaluator.core.suites.registry import entry_of, suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.judgement import JudgementEvaluator, all_tools
from evaluator.episodes.parts import plan_all
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.bundled import BUNDLED, shortcuts_of
from evaluator.planners.named import offline_planner, offline_planners
from evaluator.planners.shortcuts import Skeleton, abstracted, examples_of, filled
from evaluator.planners.shortcuts.skeletons import tokens_of
from evaluator.scoring.metrics.plan_equality import is_same_plan

SEEDS = 3
"""Hidden splits that are drawn."""
ALLOWED = 0.6
"""Share of the gold plans' score that the best shortcut may reach on a hidden split of a generated suite."""
FLOORS = ("no-op", "majority", "last-number", "identity")
"""Bundled planners that are floors, where a suite has them."""
ASKING = "ask-everything"
RULES = "rules"
"""A strategy that is a shortcut: keyword rules on a released list."""
CONSTANT, COPIED = "constant plan", "request copied"
EXACT, JUDGED, TURNS = "exact", "judged", "turns"
"""How plans are counted."""
_FEW = 2_000
"""Examples that show which plan is frequent."""
_NO_TIME = PlannerCall(seconds=0.0)


class ConstantPlanner:
    """The most frequent public plan that the request's resources fill; with the whole request as every copied text if
    `copies`."""

    def __init__(self, suite: Suite, *, copies: bool = False) -> None:
        self.name = COPIED if copies else CONSTANT
        self._copies = copies
        self._plans = _frequent_plans(suite.slug)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        for skeleton, words in self._plans:
            if skeleton.fits(request.task.resources):
                texts = [request.task.request] * len(words) if self._copies else words
                plan = filled(skeleton, words=texts, resources=request.task.resources)
                if plan.steps:
                    return PlannerReply(plan=plan_to_json(plan), call=_NO_TIME)
        return PlannerReply(plan=abstention("No public plan has only these resources."), call=_NO_TIME)


@cache
def _frequent_plans(slug: str) -> list[tuple[Skeleton, list[str]]]:
    """Public plans with the words of their slots, the most frequent first."""
    counts: Counter[str] = Counter()
    known: dict[str, tuple[Skeleton, list[str]]] = {}
    for example in examples_of(suite_of(slug), draws=_FEW):
        tokens = tokens_of(example.text)
        skeleton, spans = abstracted(
            plan=example.plan, tokens=tokens, resources=example.resources, has_slots=not example.given
        )
        words = [example.text[tokens[start].start : tokens[end - 1].end] for start, end in spans]
        counts[skeleton.key] += 1
        known.setdefault(skeleton.key, (skeleton, words))
    return [known[key] for key, _ in counts.most_common()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReport:
    """The scores on one split."""

    tasks: int
    """Of all drawn splits together."""
    means: Mapping[str, float]
    """Mean score of each planner, in [0, 1]; `gold` first."""

    @property
    def best(self) -> str:
        """Name of the best shortcut; empty if there is none."""
        names = [name for name in self.means if name == RULES or (name in BUNDLED and BUNDLED[name].is_shortcut)]
        return max(names, key=lambda name: self.means[name], default="")

    @property
    def share(self) -> float | None:
        """Score of the best shortcut as a share of the gold plans'; None without one."""
        return self.means[self.best] / self.means["gold"] if self.best and self.means.get("gold") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortcutReport:
    """All scores of a suite."""

    suite: str
    version: str
    digest: str
    counted: str
    """`exact`, `judged` or `turns`."""
    estimand: str
    units: str
    column: str
    """Label of the column that boards rank by."""
    splits: Mapping[str, SplitReport]

    def to_json(self) -> dict[str, JsonValue]:
        """The report as it is kept in `measured`."""
        splits: dict[str, JsonValue] = {
            name: {"tasks": split.tasks, "means": {key: round(mean, 4) for key, mean in split.means.items()}}
            for name, split in self.splits.items()
        }
        return {
            "suite": self.suite, "version": self.version, "digest": self.digest, "counted": self.counted,
            "estimand": self.estimand, "units": self.units, "column": self.column, "splits": splits,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ShortcutReport":
        """The inverse of `to_json`."""
        splits = {name: SplitReport(**split) for name, split in value["splits"].items()}
        return cls(**{**value, "splits": splits})


_UNITS = {
    IntervalMethod.FIXED_TASKS: "scenes, which all requests share",
    IntervalMethod.SAMPLED_TASKS: "requests and scenes, crossed",
}


def measure_shortcuts(slug: str, *, seeds: int = SEEDS) -> ShortcutReport:
    """Measure gold plans, floors and shortcuts on the public and hidden splits of a suite.

    Raises:
        LookupError: there is no such suite, or its files were not fetched.
    """
    suite = suite_of(slug)
    column = next(column for column in suite.metrics if column.primary)
    splits = {"public": _measured(suite, seeds=[None])}
    if suite.hidden_requests is not None:
        splits[HIDDEN] = _measured(suite, seeds=[seed_of(slug, number) for number in range(seeds)])
    return ShortcutReport(
        suite=slug, version=suite.version, digest=suite.digest, counted=counted_as(slug), column=column.label,
        estimand=column.interval.estimand, units=_UNITS.get(column.interval, "requests"), splits=splits,
    )  # fmt: skip


def seed_of(slug: str, number: int) -> HiddenSeed:
    """The seed of a hidden split that is drawn for measuring."""
    return HiddenSeed(hashlib.sha256(f"planarena validity {slug} {number}".encode()).hexdigest())


def counted_as(slug: str) -> str:
    """How the plans of a suite are counted here."""
    if entry_of(slug).episode.in_turns:
        return TURNS
    return JUDGED if getattr(episode_of(slug), "judge", None) is not None else EXACT


def shares_of_gold(slug: str, *, seed: HiddenSeed, every: int = 1) -> dict[str, float]:
    """The scores of a suite's shortcuts on a hidden split, as shares of the gold plans'.

    Args:
        slug: of the suite.
        seed: of the split.
        every: only each task of this distance counts.
    """
    scores = _scores(suite_of(slug), seed=seed, every=every)
    names = ("gold", *shortcuts_of(slug))
    means = {name: sum(found) / len(found) for name in names if (found := list(scores(_planner(name))))}
    return {name: mean / means["gold"] for name, mean in means.items() if name != "gold"}


def _planner(name: str) -> Callable[[Suite], Planner]:
    return lambda suite: offline_planner(name=name, suite=suite)


def _measured(suite: Suite, *, seeds: Sequence[HiddenSeed | None]) -> SplitReport:
    floors = [name for name in FLOORS if BUNDLED[name].understands(suite.slug)]
    makers: dict[str, Callable[[Suite], Planner]] = {name: _planner(name) for name in ("gold", *floors)}
    makers |= {CONSTANT: ConstantPlanner, COPIED: lambda suite: ConstantPlanner(suite, copies=True)}
    makers[ASKING] = BUNDLED[ASKING].make  # on boards only where plans are judged
    rules = (RULES,) if offline_planners()[RULES].understands(suite.slug) else ()
    makers |= {name: _planner(name) for name in (*shortcuts_of(suite.slug), *rules)}
    means, count = {}, 0
    for name, make in makers.items():
        found = [score for seed in seeds for score in _scores(suite, seed=seed)(make)]
        means[name], count = sum(found) / len(found), len(found)
    return SplitReport(tasks=count, means=means)


def _scores(
    suite: Suite, *, seed: HiddenSeed | None, every: int = 1
) -> Callable[[Callable[[Suite], Planner]], Iterator[float]]:
    """A function that scores the plans of a planner; tasks that cannot be counted are left out."""
    counted, split = counted_as(suite.slug), HIDDEN if seed is not None else suite.conditions.splits[0]
    secret = None if seed is None else seed.secret
    asked = suite_on_split(suite=suite, split=split, hidden_seed=secret)
    tasks = [task for task in asked.tasks if task.gold is not None][::every]
    keys = [task.key for task in tasks]

    def exact(make: Callable[[Suite], Planner]) -> Iterator[float]:
        context = lambda task: all_tools(suite=asked, task=task)  # noqa: E731
        for item in plan_all(planner=make(asked), suite=asked, tasks=tasks, context=context):
            is_right = not isinstance(item, ResultRecord) and is_same_plan(
                plan=item.plan.plan, other=item.task.gold or Plan(steps=(), answers=())
            )
            yield float(is_right)

    def judged(make: Callable[[Suite], Planner]) -> Iterator[float]:
        evaluator = JudgementEvaluator(suite=asked, judge=getattr(episode_of(suite.slug), "judge"))  # noqa: B009
        yield from _of_records(evaluator.run(planner=make(asked), tasks=keys))

    def in_turns(make: Callable[[Suite], Planner]) -> Iterator[float]:
        setting = Setting(split=split, hidden=seed, profile="lilliput", open_store=MemoryStore)
        evaluator = episode_of(suite.slug).evaluator(suite=suite, setting=setting)
        yield from _of_records(evaluator.run(planner=make(evaluator.suite), tasks=keys))

    return {EXACT: exact, JUDGED: judged, TURNS: in_turns}[counted]


def _of_records(records: Iterator[ResultRecord]) -> Iterator[float]:
    return (record.score or 0.0 for record in records if record.outcome is not Outcome.NOT_RUN)
