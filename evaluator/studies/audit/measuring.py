"""Measures attacks and floors on a suite, through the code that scores every evaluation."""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from evaluator.core.planner import Planner
from evaluator.core.records import Outcome
from evaluator.core.suites.audits import MOST_POINTS, Audit, AuditedAttack, AuditedFlaw, AuditedFloor
from evaluator.core.suites.base import Column, Suite
from evaluator.core.suites.hidden import HIDDEN, LEAST_SHOWN, HiddenSeed, suite_on_split
from evaluator.core.turns import TurnPlanner
from evaluator.episodes.base import Evaluator, Setting, episode_of
from evaluator.planners.attacks.base import Attack, Figures, GroupFigure, Knowledge, Target
from evaluator.planners.attacks.floors import floors
from evaluator.planners.bundled import GoldPlanner
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from evaluator.studies.audit.registry import flaws

QUICK_TASKS = 24
TASKS = 120
"""All tasks up to this number, of suites without data points."""
EXECUTED_TASKS = 32
"""Of suites that execute plans on data points."""

_FURTHER = 2
"""Hidden splits on which attacks with too many points are measured again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """An attack or floor that was measured."""

    name: str
    score: float


def audit(
    *,
    suite: Suite,
    setting: Setting,
    seed: int = 0,
    is_quick: bool = False,
    most_tasks: int | None = None,
    listener: Callable[[Progress], object] = lambda progress: None,  # noqa: ARG005
) -> Audit:
    """Measure every attack that applies to a suite.

    Hidden requests are attacked where the suite has any, drawn from a seed that only the audit uses.

    Args:
        suite: of the registry.
        setting: profile, store, device and number of samples; the split is chosen here.
        seed: draws the tasks and the hidden requests.
        is_quick: few tasks, and no slow attacks.
        most_tasks: number of tasks instead of the default.
        listener: is called after each attack and floor.

    Raises:
        SettingError: the suite cannot be evaluated in this setting.
    """
    episode = episode_of(suite.slug)
    most = most_tasks or (QUICK_TASKS if is_quick else EXECUTED_TASKS if suite.conditions.samples else TASKS)

    def split_of(seed: int) -> _Measured:
        return _measured(suite=suite, setting=setting, seed=seed, most=most, listener=listener)

    measured = split_of(seed)
    target = measured.target
    others = _Others(lambda: [split_of(seed + number) for number in range(1, _FURTHER + 1)] if target.is_hidden else [])
    bottom = {knows: list(measured.floors(knows)) for knows in _knowledge(target)}
    found = tuple(
        AuditedFlaw(
            name=flaw.name, title=flaw.title, description=flaw.description,
            attacks=tuple(
                others.confirmed(measured.attack(attack, bottom=bottom[attack.knows]), attack=attack)
                for attack in flaw.attacks
                if attack.applies(target) and attack.knows in bottom and not (is_quick and attack.is_slow)
            ),
        )
        for flaw in flaws()
    )  # fmt: skip
    return Audit(
        suite=suite.slug, suite_version=suite.version, digest=suite.digest,
        rules=episode.rules_digest(setting.profile), column=measured.column.key, split=target.split,
        tasks=len(target.tasks), samples=setting.samples if suite.conditions.samples else 1,
        gold=measured.score("gold", planner=GoldPlanner(target.asked)), flaws=found,
        floors=tuple(floor for own in bottom.values() for floor in own),
    )  # fmt: skip


def _measured(
    *, suite: Suite, setting: Setting, seed: int, most: int, listener: Callable[[Progress], object]
) -> "_Measured":
    """Measures on the hidden split of a seed; on the first split of suites without hidden requests."""
    episode = episode_of(suite.slug)
    split = HIDDEN if HIDDEN in suite.conditions.splits else suite.conditions.splits[0]
    hidden = HiddenSeed(hashlib.sha256(f"planarena audit {suite.slug} {seed}".encode()).hexdigest())
    setting = replace(setting, split=split, hidden=hidden)
    evaluator = episode.evaluator(suite=suite, setting=setting)
    asked = suite_on_split(suite=suite, split=split, hidden_seed=hidden.secret) if suite.hidden_requests else suite
    left_out = episode.not_run(suite=suite, setting=setting)
    keys = _drawn([task.key for task in suite.tasks if task.key not in left_out], count=most, seed=seed)
    target = Target(
        public=suite, asked=asked, split=split, tasks=tuple(keys), in_turns=episode.in_turns, executes=episode.executes
    )
    measured = _Measured(evaluator, target=target, listener=listener)
    measured.target = replace(target, practised=measured.figures)
    return measured


class _Others:
    """Further hidden splits, on which attacks with too many points are measured again, since few tasks leave much to
    chance."""

    def __init__(self, make: "Callable[[], list[_Measured]]") -> None:
        self._make = make
        self._splits: list[_Measured] | None = None
        self._bottom: dict[tuple[int, Knowledge], list[AuditedFloor]] = {}

    def confirmed(self, first: AuditedAttack, *, attack: Attack) -> AuditedAttack:
        """The attack with the means over all splits, if it has too many points on the first."""
        if first.points <= MOST_POINTS or first.breach or first.inherent:
            return first
        if self._splits is None:
            self._splits = self._make()
        found = [first, *(self._again(place, attack=attack) for place in range(len(self._splits)))]
        return first.model_copy(
            update={
                "score": round(sum(each.score for each in found) / len(found), 6),
                "points": round(sum(each.points for each in found) / len(found), 2),
                "splits": len(found),
                "breach": next((each.breach for each in found if each.breach), ""),
            }
        )

    def _again(self, place: int, *, attack: Attack) -> AuditedAttack:
        assert self._splits is not None
        measured = self._splits[place]
        if (place, attack.knows) not in self._bottom:
            self._bottom[place, attack.knows] = list(measured.floors(attack.knows))
        return measured.attack(attack, bottom=self._bottom[place, attack.knows])


def _knowledge(target: Target) -> tuple[Knowledge, ...]:
    """What attackers of a suite may know: the tools only where texts beside them are judged."""
    return (Knowledge.REQUEST,) if target.in_turns else tuple(Knowledge)


def _drawn(keys: Sequence[str], *, count: int, seed: int) -> list[str]:
    if len(keys) <= count:
        return list(keys)
    chosen = set(random.Random(f"audit {seed}").sample(range(len(keys)), count))  # noqa: S311 - not for secrets
    return [key for place, key in enumerate(keys) if place in chosen]


class _Measured:
    """Scores planners on the tasks of an audit."""

    def __init__(self, evaluator: Evaluator, *, target: Target, listener: Callable[[Progress], object]) -> None:
        self._evaluator, self.target, self._listener = evaluator, target, listener
        self.column = next(column for column in target.public.metrics if column.primary)

    def score(self, name: str, *, planner: "Planner | TurnPlanner") -> float:
        """The mean of the primary column over all tasks.

        A task without a score counts as a fault: a site ranks no evaluation before such tasks are faults, too.
        """
        mean = _mean(self.column, results=self._results(planner))
        self._listener(Progress(name=name, score=mean))
        return mean

    def figures(self, planner: "Planner | TurnPlanner") -> Figures:
        """What the owner of an evaluation sees while a season is open: means of all tasks, and of large groups."""
        results = self._results(planner)
        asked = {task.key: task.asked_as or task.key for task in self.target.asked.tasks}
        groups = [[result for result in results if result.task in keys] for keys in _groups(self.target)]
        return [
            GroupFigure(tasks=frozenset(asked[result.task] for result in group), mean=_mean(self.column, results=group))
            for group in (results, *(group for group in groups if len(group) >= LEAST_SHOWN))
        ]

    def _results(self, planner: "Planner | TurnPlanner") -> list[TaskScore]:
        records = self._evaluator.run(planner=planner, tasks=self.target.tasks)  # type: ignore[arg-type]
        return sorted((TaskScore.of(record) for record in records), key=lambda result: result.task)

    def floors(self, knows: Knowledge) -> Iterator[AuditedFloor]:
        """The floors of attackers with this knowledge."""
        for floor in floors(self.target, knows=knows):
            score = self.score(floor.name, planner=floor.make(self.target))
            yield AuditedFloor(name=floor.name, knows=knows, score=score)

    def attack(self, attack: Attack, *, bottom: Sequence[AuditedFloor]) -> AuditedAttack:
        """The score of an attack, and its distance to the best floor."""
        score = self.score(attack.name, planner=attack.make(self.target))
        breach = attack.breach()
        floor = max(bottom, key=lambda floor: floor.score)
        points = 100.0 if breach else round(100 * (score - floor.score), 2)
        return AuditedAttack(
            name=attack.name, description=attack.description, knows=attack.knows, score=score, floor=floor.name,
            points=points, breach=breach, inherent=attack.inherent(self.target),
        )  # fmt: skip


def _groups(target: Target) -> Iterator[frozenset[str]]:
    """The tasks of each value of each facet by which sites group scores, by their keys."""
    suite = target.public
    members: dict[tuple[str, str], set[str]] = {}
    for facet in suite.facets.named(suite.facets.breakdowns):
        for task in suite.tasks if not facet.tells_gold else ():
            value = task.attributes.get(facet.attribute) if facet.attribute else getattr(task, facet.name, None)
            for each in value if isinstance(value, list | tuple) else [value]:
                if each is not None:
                    members.setdefault((facet.name, str(each)), set()).add(task.key)
    counted = set(target.tasks)
    yield from (frozenset(keys & counted) for keys in members.values())


def _mean(column: Column, *, results: Sequence[TaskScore]) -> float:
    unscored = (Outcome.INFRA_FAULT, Outcome.CANCELLED)
    settled = [
        replace(result, outcome=Outcome.PLANNER_FAULT, score=0.0) if result.outcome in unscored else result
        for result in results
    ]
    values = [value for value in counted(column=column, results=settled) if value is not None]
    return round(sum(values) / len(values), 6) if values else 0.0
