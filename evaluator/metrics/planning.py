"""How near a plan is to a gold plan: multiset F1 of tools, data flow and arguments, and the depth of a plan. Pure."""

from collections import Counter
from dataclasses import dataclass

from evaluator.plans.model import Plan


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a plan agrees with a gold plan, each in [0, 1]; a missing plan has 0 in all."""

    node_f1: float
    """Tools as a multiset."""
    edge_f1: float
    """Pairs (tool, tool that takes its output) as a multiset; 1 if both plans have none."""
    parameter_f1: float
    """Triples (tool, argument, value) as a multiset, a step's output standing for its tool."""


def agreement(*, plan: Plan, gold: Plan) -> Agreement:
    """Multiset F1 of nodes, edges and parameters of a plan against the gold plan (as TaskBench counts them)."""
    if not plan.steps:
        return Agreement(node_f1=0.0, edge_f1=0.0, parameter_f1=0.0)
    return Agreement(
        node_f1=_f1(_nodes(plan), _nodes(gold)),
        edge_f1=_f1(_edges(plan), _edges(gold)),
        parameter_f1=_f1(_parameters(plan), _parameters(gold)),
    )


def depth(plan: Plan) -> int:
    """Length of the longest chain of steps, each taking an output of the one before; 0 for an empty plan."""
    makers = {reference: index for index, step in enumerate(plan.steps) for reference in step.outputs.values()}
    found: list[int] = []
    for index, step in enumerate(plan.steps):
        before = [found[makers[v]] for v in step.inputs.values() if v in makers and makers[v] < index]
        found.append(1 + max(before, default=0))
    return max(found, default=0)


def _makers(plan: Plan) -> dict[str, str]:
    return {reference: step.tool for step in plan.steps for reference in step.outputs.values()}


def _nodes(plan: Plan) -> Counter[object]:
    return Counter(step.tool for step in plan.steps)


def _edges(plan: Plan) -> Counter[object]:
    makers = _makers(plan)
    return Counter((makers[v], step.tool) for step in plan.steps for v in step.inputs.values() if v in makers)


def _parameters(plan: Plan) -> Counter[object]:
    makers = _makers(plan)
    return Counter(
        (step.tool, name, ("output of", makers[value]) if value in makers else value.strip().lower())
        for step in plan.steps
        for name, value in step.inputs.items()
    )


def _f1(found: Counter[object], wanted: Counter[object]) -> float:
    if not found and not wanted:
        return 1.0
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total())
