"""From names of tools to plans, by the wiring of comma sequences and trees (`evaluator.replies.frontier`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.core.plans.model import Plan, PlanContext, Step
from evaluator.replies.frontier import Value, resources_of, wire

NO_PLAN = Plan(steps=(), answers=())
"""What is answered where nothing could be planned. No request takes it for an answer."""


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A tool to call, and what the text said about its input."""

    tool: str
    mentioned: tuple[str, ...] = ()
    """Resources of the request that were mentioned with it."""


def plan_of_calls(*, calls: Sequence[NamedCall], context: PlanContext) -> Plan:
    """The plan that calls these tools one after another; the answer is the first output of the last.

    A call is wired as in a comma sequence, with one exception: a tool of one input takes what has become of the one
    resource of that type that was mentioned with it. So `Fill Mask` on the document and `Fill Mask` on the query are
    two different steps, which a comma sequence cannot say.
    """
    if not calls:
        return NO_PLAN
    wiring = _Wiring(context)
    steps = tuple(wiring.step(call=call, number=number) for number, call in enumerate(calls))
    return Plan(steps=steps, answers=tuple(steps[-1].outputs.values())[:1])


def comma_text(names: Sequence[str]) -> str:
    """Names as a comma sequence."""
    return ", ".join(names)


def tree_text(*, branches: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    """Branches, one for each resource in order, and the names behind them: `(A,B,)(C,)D,`."""
    return "".join(f"({_listed(branch)})" for branch in branches) + _listed(names)


def _listed(names: Sequence[str]) -> str:
    return "".join(f"{name}," for name in names)


class _Wiring:
    """The frontier, and from which resources each of its values comes."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._frontier = resources_of(context)
        self._origins = {f"${name}": frozenset({name}) for name in context.resources}

    def step(self, *, call: NamedCall, number: int) -> Step:
        meant = self._meant(call)
        frontier = self._frontier if meant is None else [meant]
        step = wire(name=call.tool, number=number, frontier=frontier, context=self._context)
        if meant is not None:
            index = self._frontier.index(meant)
            self._frontier[index : index + 1] = frontier
        origins = frozenset[str]().union(*(self._origins[value] for value in step.inputs.values()))
        self._origins |= dict.fromkeys(step.outputs.values(), origins)
        return step

    def _meant(self, call: NamedCall) -> Value | None:
        tool = self._context.catalogue.tools.get(call.tool)
        if tool is None or len(tool.inputs) != 1:
            return None
        fitting = [
            value
            for value in self._frontier
            if value.type is tool.input_types[0] and self._origins[value.reference].intersection(call.mentioned)
        ]
        return fitting[0] if len(fitting) == 1 else None
