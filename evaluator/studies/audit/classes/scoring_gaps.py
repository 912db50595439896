"""Do many guesses, missing answers, ties or rounding earn points?"""

import itertools
import random
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from evaluator.core.planner import MAX_ALTERNATIVES, PlannerError, PlannerReply, PlannerRequest
from evaluator.core.plans.literals import MAX_STEPS
from evaluator.core.records import Reason
from evaluator.planners.attacks.base import NO_TIME, Attack, Flaw, PlansOf, Target, on_judged_texts, on_whole_plans
from evaluator.planners.attacks.floors import without_names
from evaluator.planners.attacks.public_plans import MostFrequent, shape_of, shape_of_task
from evaluator.planners.bundled import RandomValidPlanner

_ROUNDS = 3
_MOST_TEXTS = 40
_MOST_CALLS = 4000


class AllTools:
    """Calls the tools with everything that fits, results and words of the request included, up to a number of steps.

    Tools that public gold plans call more often come first, so that a short plan has the likely ones.
    """

    def __init__(self, target: Target, *, steps: int) -> None:
        self._steps = steps
        counts: dict[str, int] = {}
        for task in target.public.tasks:
            for tool in task.gold.tools() if task.gold else ():
                counts[tool] = counts.get(tool, 0) + 1
        self._counts = counts

    def __call__(self, request: PlannerRequest) -> object:
        steps = list(itertools.islice(self._calls(request), self._steps))
        names = [name for step in steps for name in step["outputs"].values()]
        wanted = max(1, len(request.expects.types))
        answers = names[-wanted:] if request.expects.type or request.expects.types else names
        return {"steps": steps, "answers": answers}

    def _calls(self, request: PlannerRequest) -> Iterator[dict[str, Any]]:
        values = [(f"${name}", kind) for name, kind in request.task.resources.items()]
        texts = _texts_of(request.task.request)
        tools = sorted((tool for tool in request.tools), key=lambda tool: -self._counts.get(tool.name, 0))
        tools = [tool for tool in tools if self._counts.get(tool.name)]
        made: set[tuple[str, tuple[str, ...]]] = set()
        number = 0
        for _ in range(_ROUNDS):
            new: list[tuple[str, str]] = []
            for tool in tools:
                options = [
                    texts if kind == "text" else [value for value, own in values if own == kind]
                    for kind in tool.inputs.values()
                ]
                for chosen in itertools.islice(itertools.product(*options), _MOST_CALLS):
                    if (tool.name, chosen) in made:
                        continue
                    made.add((tool.name, chosen))
                    outputs = {name: f"s{number}.{name}" for name in tool.outputs}
                    new += [(outputs[name], kind) for name, kind in tool.outputs.items()]
                    yield {
                        "id": f"s{number}", "tool": tool.name, "outputs": outputs,
                        "inputs": dict(zip(tool.inputs, chosen, strict=True)),
                    }  # fmt: skip
                    number += 1
            values += new


def _texts_of(request: str) -> list[str]:
    """The request, its sentences, and words of it that may name something, the rarer ones first."""
    plain = without_names(request)
    sentences = [part for part in re.split(r"(?<=[.?!])\s+", plain) if part]
    words = re.findall(r"[^\W\d_]{3,}", plain.lower())
    return list(dict.fromkeys([plain, *sentences, *sorted(words, key=lambda word: -len(word))]))[:_MOST_TEXTS]


class Guesses:
    """Several likely plans for the shape of a request in one plan, with the request as every text."""

    def __init__(self, target: Target, *, count: int) -> None:
        self._target, self._count = target, count

    def __call__(self, request: PlannerRequest) -> object:
        steps: list[dict[str, Any]] = []
        answers: list[str] = []
        for number, plan in enumerate(self.plans(request)):
            for step in plan["steps"]:
                steps.append(_prefixed(step, number=number, plan=plan))
            answers += [_moved(answer, number=number, plan=plan) for answer in plan["answers"]]
        return {"steps": steps[:MAX_STEPS], "answers": answers}

    def plans(self, request: PlannerRequest) -> list[dict[str, Any]]:
        tasks = [task for task in self._target.public.tasks if shape_of_task(task) == shape_of(request) and task.gold]
        found: list[dict[str, Any]] = []
        seen: set[tuple[str, ...]] = set()
        for task in sorted(tasks, key=lambda task: len(task.gold.steps) if task.gold else 0):
            tools = task.gold.tools() if task.gold else ()
            if tools in seen or not tools:
                continue
            seen.add(tools)
            plan = MostFrequent([task])(request)
            found.append(plan)
        return found[: self._count]


def _outputs(plan: dict[str, Any]) -> set[str]:
    return {name for step in plan["steps"] for name in step["outputs"].values()}


def _moved(value: str, *, number: int, plan: dict[str, Any]) -> str:
    return f"p{number}_{value}" if value in _outputs(plan) else value


def _prefixed(step: dict[str, Any], *, number: int, plan: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"p{number}_{step['id']}", "tool": step["tool"],
        "inputs": {name: _moved(value, number=number, plan=plan) for name, value in step["inputs"].items()},
        "outputs": {name: f"p{number}_{value}" for name, value in step["outputs"].items()},
    }  # fmt: skip


class _Withholding:
    """Answers a tenth of the requests and fails as an unavailable endpoint would on all others."""

    name = "withholding"

    def __init__(self, target: Target) -> None:
        self._make = MostFrequent(target.public.tasks)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        if random.Random(request.task.id).random() > 0.1:  # noqa: S311 - not for secrets
            raise PlannerError(reason=Reason.ENDPOINT_UNAVAILABLE, message="Not now.", call=NO_TIME)
        return PlannerReply(plan=self._make(request), call=NO_TIME)


def _all_tools(target: Target, *, steps: int) -> PlansOf:
    return PlansOf("all tools", AllTools(target, steps=steps))


def _guesses(target: Target, *, count: int) -> PlansOf:
    return PlansOf("guesses", Guesses(target, count=count))


def _with_alternatives(target: Target) -> PlansOf:
    guesses = Guesses(target, count=MAX_ALTERNATIVES)
    return PlansOf("alternatives", MostFrequent(target.public.tasks), alternatives=guesses.plans)


def _with_all_answers(target: Target) -> PlansOf:
    """The most frequent plan with all that there is as its answers."""
    most_frequent = MostFrequent(target.public.tasks)

    def plan(request: PlannerRequest) -> object:
        found = most_frequent(request)
        names = [name for step in found["steps"] for name in step["outputs"].values()]
        return {**found, "answers": [*names, *(f"${name}" for name in request.task.resources)]}

    return PlansOf("all answers", plan)


def _both(request: PlannerRequest) -> object:
    """Abstains and plans at once."""
    tool = request.tools[0]
    step = {"id": "s1", "tool": tool.name, "inputs": {}, "outputs": {}}
    return {"plan": None, "steps": [step], "answers": [], "reason": request.task.request}


FLAW = Flaw(
    name="scoring-gaps",
    title="Gaps in the scores",
    description="Do many guesses at once, missing answers, ties or rounding earn points?",
    attacks=(
        *(
            Attack(
                name=f"all tools, {steps} steps",
                description=f"Calls tools with all that fits, words of the request included, in up to {steps} steps.",
                make=partial(_all_tools, steps=steps),
                applies=on_whole_plans,
                is_slow=steps not in (5, MAX_STEPS),
            )
            for steps in (2, 5, 12, 30, MAX_STEPS)
        ),
        *(
            Attack(
                name=f"{count} guesses",
                description=f"Puts {count} plans of public requests with the same inputs into one plan.",
                make=partial(_guesses, count=count),
                applies=on_whole_plans,
                is_slow=count not in (2, 30),
            )
            for count in (2, 3, 6, 30)
        ),
        Attack(
            name="guesses as alternatives",
            description="Gives four further plans beside the most frequent one.",
            make=_with_alternatives,
            applies=on_judged_texts,
        ),
        Attack(
            name="all answers",
            description="Names every result and every input of the most frequent plan as the answers.",
            make=_with_all_answers,
            applies=on_whole_plans,
        ),
        Attack(
            name="plan and abstention",
            description="Abstains and plans in one answer.",
            make=lambda _: PlansOf("both", _both),
        ),
        Attack(
            name="withheld answers",
            description="Fails as an unavailable endpoint would on all but a tenth of the requests.",
            make=_Withholding,
        ),
        Attack(
            name="luckiest seed",
            description="Random valid plans with another seed: what chance alone adds.",
            make=lambda target: RandomValidPlanner(target.asked, seed=4),
            is_slow=True,
        ),
    ),
)
