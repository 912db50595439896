"""The bundled planners: the gold plans, random valid plans, and doing nothing. They anchor every board."""

import random
from collections.abc import Callable
from functools import partial

from evaluator.planners.protocol import OfferedTool, Planner, PlannerReply, PlannerRequest
from evaluator.plans.abstaining import abstention
from evaluator.plans.model import Plan, Step, plan_to_json
from evaluator.records import PlannerCall
from evaluator.suites.base import Suite

_NO_TIME = PlannerCall(seconds=0.0)
_NO_TOOL = "No plan over these tools can meet the request."


class GoldPlanner:
    """Answers with the suite's gold plan: what a planner that understands the request would do."""

    name = "gold"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        gold = self._suite.task(request.task.id).gold
        if gold is not None and not gold.steps and not gold.answers:
            return PlannerReply(plan=abstention(_NO_TOOL), call=_NO_TIME)
        return PlannerReply(plan=plan_to_json(gold or Plan(steps=(), answers=())), call=_NO_TIME)


class NoOpPlanner:
    """Calls no tool: hands back what the request gives, where that has the type that is asked for."""

    name = "no-op"

    def __init__(self, suite: Suite) -> None:
        del suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        same = [name for name, kind in request.task.resources.items() if kind == request.expects.type]
        answers = [f"${name}" for name in [*same, *request.task.resources]][:1]
        plan = Plan(steps=(), answers=tuple(answers))
        return PlannerReply(plan=plan_to_json(plan), call=_NO_TIME)


class RandomValidPlanner:
    """A random chain of one to four offered tools whose types agree, none twice; seeded by suite and task.

    It knows the types and nothing of the request's words, so what it scores is what type-correctness alone is worth.
    """

    name = "random-valid"
    MAX_TOOLS = 4
    TRIES = 200

    def __init__(self, suite: Suite, *, seed: int = 0) -> None:
        del suite
        self._seed = seed

    def plan(self, request: PlannerRequest) -> PlannerReply:
        rng = random.Random(f"{self._seed}/{request.suite}/{request.task.id}")  # noqa: S311 - not for secrets
        for _ in range(self.TRIES):
            plan = self._chain(request=request, rng=rng)
            if plan is not None:
                return PlannerReply(plan=plan_to_json(plan), call=_NO_TIME)
        return PlannerReply(plan=plan_to_json(Plan(steps=(), answers=())), call=_NO_TIME)

    def _chain(self, *, request: PlannerRequest, rng: random.Random) -> Plan | None:
        values = [(f"${name}", kind) for name, kind in request.task.resources.items()]
        if request.expects.type is None:
            # Suites without a fixed type of answer give their texts in the request itself.
            values.append((request.task.request, "text"))
        unused = list(request.tools)
        steps: list[Step] = []
        for number in range(1, rng.randint(1, self.MAX_TOOLS) + 1):
            callable_now = [tool for tool in unused if _fits(tool, values)]
            if not callable_now:
                break
            tool = rng.choice(callable_now)
            unused.remove(tool)
            steps.append(_call(tool=tool, number=number, values=values, steps=steps, rng=rng))
            values += [(steps[-1].outputs[name], kind) for name, kind in tool.outputs.items()]
        answers = [(steps[-1].outputs[name], kind) for name, kind in tool.outputs.items()] if steps else []
        fitting = [reference for reference, kind in answers if request.expects.type in {kind, None}]
        return Plan(steps=tuple(steps), answers=(fitting[0],)) if fitting else None


def _fits(tool: OfferedTool, values: list[tuple[str, str]]) -> bool:
    there = {kind for _, kind in values}
    return there.issuperset(tool.inputs.values())


def _call(
    *, tool: OfferedTool, number: int, values: list[tuple[str, str]], steps: list[Step], rng: random.Random
) -> Step:
    inputs = {}
    step_id = f"s{number}"
    outputs = {reference for step in steps for reference in step.outputs.values()}
    for argument, wanted in tool.inputs.items():
        fitting = [reference for reference, kind in values if kind == wanted]
        made = [reference for reference in fitting if reference in outputs]
        # The newest value made is taken, so that the steps form a chain and not a bundle of unused calls.
        inputs[argument] = made[-1] if made else rng.choice(fitting)
    return Step(id=step_id, tool=tool.name, inputs=inputs, outputs={name: f"{step_id}.{name}" for name in tool.outputs})


EACH_ONCE = ("gold", "random-valid", "no-op")
"""The bundled planners without further seeds."""
_FURTHER_SEEDS = {f"random-valid/{seed + 1}": partial(RandomValidPlanner, seed=seed) for seed in range(1, 5)}
"""Five seeds show how much of a score is chance."""
_BUNDLED: dict[str, Callable[[Suite], Planner]] = {
    "gold": GoldPlanner,
    "random-valid": RandomValidPlanner,
    **_FURTHER_SEEDS,
    "no-op": NoOpPlanner,
}
KNOW_GOLD = frozenset({"gold"})
"""Planners that answer with the gold plans, so that their answers disclose them."""
DESCRIPTIONS = {
    "gold": "The suite's gold plans: what a planner that understands every request would answer.",
    "random-valid": "Random chains of tools whose types agree: what type-correctness alone is worth.",
    **dict.fromkeys(_FURTHER_SEEDS, "The same as random-valid with another seed."),
    "no-op": "Calls no tool and hands back what the request gives.",
}


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled planners."""
    return tuple(_BUNDLED)


def bundled_planner(*, name: str, suite: Suite) -> Planner:
    """The bundled planner with this name.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    try:
        return _BUNDLED[name](suite)
    except KeyError:
        raise LookupError(f"there is no bundled planner {name!r}; there are: {', '.join(_BUNDLED)}") from None
