"""Are right answers in what planners get, or in what is published?"""

import os
import re
from collections.abc import Iterable, Iterator

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.hidden import SeedError, checked_seed, suite_on_split
from evaluator.planners.attacks.base import Attack, Flaw, PlansOf, Target, empty_plan
from evaluator.planners.attacks.public_plans import closed_season, plan_from

_WORD = re.compile(r"[^\W\d_]+")
_GUESSES = ("", "planarena", "hidden", "secret", "season", "demo", "test", "public")


def _is_published(target: Target) -> str:
    if target.is_hidden:
        return ""
    return "The requests are a published list, and this repository has their gold plans."


def _is_hidden(target: Target) -> bool:
    return target.is_hidden


class _ByText:
    """The known request with the same text; with `folded`, with the same words but the names of resources."""

    def __init__(self, known: Iterable[Task], *, folded: bool) -> None:
        self._folded = folded
        self._tasks = {self._key(task.text, names=task.resources): task for task in known}

    def _key(self, text: str, *, names: Iterable[str]) -> str:
        if not self._folded:
            return text
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, " ")
        return " ".join(_WORD.findall(text.casefold()))

    def __call__(self, request: PlannerRequest) -> object:
        key = self._key(request.task.request, names=request.task.resources)
        return plan_from(self._tasks.get(key), request=request)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _from_fields(request: PlannerRequest) -> object:
    """A chain of the tools that a request names outside of its list of tools, in the order in which it names them."""
    told = " ".join(_texts(request.model_dump(mode="json", exclude={"tools"})))
    places = {tool.name: told.find(tool.name) for tool in request.tools if tool.name in told}
    return ", ".join(sorted(places, key=places.__getitem__)) or empty_plan()


class _FromGuessedSeed:
    """The gold plans of the hidden requests, if their seed is in the environment or one that a site might forget to
    change."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._suites = list(self._guessed())

    def _guessed(self) -> Iterator[Suite]:
        import hashlib

        values = [digit * 64 for digit in "0123456789abcdef"]
        values += [hashlib.sha256(text.encode()).hexdigest() for text in (*_GUESSES, self._target.public.slug)]
        values += [value for value in os.environ.values() if len(value) == len(values[0])]
        for value in values:
            try:
                seed = checked_seed(value, what="A guess")
            except SeedError:
                continue
            yield suite_on_split(suite=self._target.public, split=self._target.split, hidden_seed=seed)

    def __call__(self, request: PlannerRequest) -> object:
        for suite in self._suites:
            task = next((task for task in suite.tasks if task.asked_as == request.task.id), None)
            if task is not None:
                return plan_from(task, request=request)
        return empty_plan()


FLAW = Flaw(
    name="shipped-answers",
    title="Answers that are shipped",
    description="Are right answers in what planners get, or in what is published?",
    attacks=(
        Attack(
            name="published requests",
            description="Takes the gold plan of the public request with the same text.",
            make=lambda target: PlansOf("published", _ByText(target.public.tasks, folded=False)),
            inherent=_is_published,
        ),
        Attack(
            name="published wordings",
            description="Takes the gold plan of the public request with the same words, whatever its numbers.",
            make=lambda target: PlansOf("wordings", _ByText(target.public.tasks, folded=True)),
            inherent=_is_published,
        ),
        Attack(
            name="wordings of a closed season",
            description="Takes the gold plan of the request of a closed season with the same words.",
            make=lambda target: PlansOf("closed", _ByText(closed_season(target.public), folded=True)),
            applies=_is_hidden,
        ),
        Attack(
            name="fields of the request",
            description="Calls the tools that a field of the request names, in that order.",
            make=lambda _: PlansOf("fields", _from_fields),
        ),
        Attack(
            name="guessed seeds",
            description="Draws the hidden requests from seeds of the environment and from 25 careless ones.",
            make=lambda target: PlansOf("seeds", _FromGuessedSeed(target)),
            applies=_is_hidden,
            is_slow=True,
        ),
    ),
)
