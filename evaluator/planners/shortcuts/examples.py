"""What shortcuts learn from: public requests with their gold plans, and never a hidden one.

A suite with a generator gives requests of its public grammar (`Suite.public_draws`), none of which is a public task, so
that scores on the public split are not recitals. A released list has only its own requests: they are split into folds
by their words, and each is answered by a model of the other folds.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Suite, Task

DRAWS = 20_000
"""Requests that are drawn where a suite has a generator."""
FOLDS = 5
"""Models of a suite without a generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A public request and its gold plan."""

    text: str
    resources: Mapping[str, str]
    """Types by name, in order."""
    given: Mapping[str, JsonValue]
    """Of `values_of`."""
    wanted: tuple[str, ...]
    """Types of the answers, as far as planners are told."""
    plan: Plan


def examples_of(suite: Suite, *, draws: int = DRAWS) -> tuple[Example, ...]:
    """The public examples of a suite, distinct in their words.

    Args:
        suite: of the registry, with its public tasks. Only these and `public_draws` are read.
        draws: at most so many where the suite has a generator.
    """
    if suite.public_draws is None:
        return tuple(_distinct(suite.tasks))
    public = frozenset(map(_identity, suite.tasks))
    drawn = islice(suite.public_draws(draws), draws)
    return tuple(_distinct([task for task in drawn if _identity(task) not in public]))


def values_of(given: Mapping[str, JsonValue], *, resources: Mapping[str, str]) -> dict[str, JsonValue]:
    """What a request gives by value instead of in words: without marks, which are resources too."""
    return {name: value for name, value in given.items() if name not in resources}


def fold_of(text: str) -> int:
    """The fold of a request, from its words alone."""
    return hashlib.sha256(text.encode()).digest()[0] % FOLDS


def folds_of(suite: Suite, examples: Sequence[Example]) -> list[Sequence[Example]]:
    """What the model of each fold learns from: all examples for a suite with a generator, which has one model."""
    if suite.public_draws is not None:
        return [examples]
    return [[example for example in examples if fold_of(example.text) != fold] for fold in range(FOLDS)]


def _distinct(tasks: Sequence[Task]) -> Iterator[Example]:
    seen: set[tuple[str, str]] = set()
    for task in tasks:
        if task.gold is None or _identity(task) in seen:
            continue
        seen.add(_identity(task))
        resources = {name: str(kind) for name, kind in task.resources.items()}
        # As `request_for` tells planners.
        answers = (task,) if task.expects is not None else task.answers
        yield Example(
            text=task.text, resources=resources, given=values_of(task.values_given, resources=resources),
            wanted=tuple(str(answer.expects) for answer in answers if answer.expects is not None), plan=task.gold,
        )  # fmt: skip


def _identity(task: Task) -> tuple[str, str]:
    return task.text, repr(dict(task.values_given))
