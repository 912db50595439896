"""Suites that each have one fault, made of `tests.toy_suite`. They have no metadata."""

import random
from collections.abc import Callable
from dataclasses import replace

from evaluator.core import canonical_json
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.registry import Entry
from evaluator.episodes.judgement import JudgedPlans, Judgement
from tests.toy_suite import COLUMNS, SumJudge, sums


class GenerousJudge(SumJudge):
    """Every plan is right."""

    def __call__(self, **planned) -> Judgement:
        return Judgement(score=1.0, indicators={"right": 1.0, "steps": 1.0})


class FickleJudge(SumJudge):
    """Draws its explanations."""

    def __call__(self, **planned) -> Judgement:
        return replace(super().__call__(**planned), explanations={"right": str(random.random())})


class StrictJudge(SumJudge):
    """No plan is right."""

    def __call__(self, **planned) -> Judgement:
        return Judgement(score=0.0, indicators={"right": 0.0, "steps": 1.0})


class RaisingJudge(SumJudge):
    """Knows no plan without steps."""

    def __call__(self, **planned) -> Judgement:
        _ = planned["planned"].plan.plan.steps[0]
        return super().__call__(**planned)


class BoundlessJudge(SumJudge):
    """Counts a negative number of steps."""

    def __call__(self, **planned) -> Judgement:
        judgement = super().__call__(**planned)
        return replace(judgement, indicators={**judgement.indicators, "steps": -1.0})


class SilentJudge(SumJudge):
    """Gives no plan a value in the column that ranks."""

    def __call__(self, **planned) -> Judgement:
        return Judgement(score=0.0, indicators={"rihgt": 1.0, "steps": 1.0})


class HashedJudge(SumJudge):
    """Its digest follows from Python's hashes, which differ between processes."""

    def digest(self) -> str:
        return canonical_json.digest({"judge": hash("sums")})


def _with_tasks(change: Callable[[Task], Task]) -> Callable[[str], Suite]:
    return lambda slug: replace(sums(), slug=slug, tasks=tuple(map(change, sums().tasks)))


def _told(task: Task) -> Task:
    """Its first step is in the request."""
    assert task.gold is not None
    return replace(task, text=f"{task.text} {canonical_json.dumps(plan_to_json(task.gold)['steps'][0])}")


def _told_in_quotes(task: Task) -> Task:
    """Its first step, with a text in quotes, is in the request."""
    assert task.gold is not None
    (step,) = task.gold.steps
    return _told(replace(task, gold=replace(task.gold, steps=(replace(step, inputs={"number": 'a "b" c'}),))))


def _keyed(task: Task) -> Task:
    """A text of its gold plan is its key, and not in the request."""
    assert task.gold is not None
    (step,) = task.gold.steps
    number = str(4711000 + int(task.key))
    return replace(task, key=number, gold=replace(task.gold, steps=(replace(step, inputs={"number": number}),)))


def _misspelt(task: Task) -> Task:
    """Its gold plan calls a tool that is not there."""
    assert task.gold is not None
    (step,) = task.gold.steps
    return replace(task, gold=replace(task.gold, steps=(replace(step, tool="Duplicate"),)))


def _ranked_twice(slug: str) -> Suite:
    return replace(sums(), slug=slug, metrics=tuple(replace(column, primary=True) for column in COLUMNS))


def _plain(slug: str) -> Suite:
    return replace(sums(), slug=slug)


def _raising(slug: str) -> Suite:
    raise ValueError(f"no data for {slug}")


def _entry(slug: str, build: Callable[[str], Suite], *, judge: SumJudge | None = None) -> Entry:
    return Entry(slug=slug, build=lambda: build(slug), episode=JudgedPlans(judge=judge or SumJudge()))


SUITES = (
    _entry("told", _with_tasks(_told)),
    _entry("told-in-quotes", _with_tasks(_told_in_quotes)),
    _entry("keyed", _with_tasks(_keyed)),
    _entry("misspelt", _with_tasks(_misspelt)),
    _entry("ranked-twice", _ranked_twice),
    _entry("raising", _raising),
    _entry("generous", _plain, judge=GenerousJudge()),
    _entry("fickle", _plain, judge=FickleJudge()),
    _entry("strict", _plain, judge=StrictJudge()),
    _entry("unprepared", _plain, judge=RaisingJudge()),
    _entry("boundless", _plain, judge=BoundlessJudge()),
    _entry("silent", _plain, judge=SilentJudge()),
    _entry("hashed", _plain, judge=HashedJudge()),
)
