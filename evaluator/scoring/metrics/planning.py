"""Agreement of a plan with a gold plan: F1 of tools, data flow and arguments, and the order of the tools. Pure.

A call with the tool and inputs of an earlier one has no new result. Repetitions therefore never match, and those that
gold does not have count as wrong, so that repeating a step never increases a figure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluator.core.plans.model import Plan, Step


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a plan with a gold plan, each in [0, 1]; all are 0 for a plan without steps."""

    node_f1: float
    """F1 of the tools as multisets (Node F1 of TaskBench, arXiv:2311.18760; tool-F1 of m&m's, arXiv:2403.11085)."""
    edge_f1: float
    """F1 of the pairs (tool, tool that takes its output) as multisets (Edge F1 of TaskBench and m&m's). If gold has no
    pair: 1 if the plan has none and is right, else 0."""
    parameter_name_f1: float
    """F1 of the pairs (tool, argument) as multisets (t-F1 of TaskBench, argname-F1 of m&m's)."""
    parameter_value_f1: float
    """F1 of the triples (tool, argument, value) as multisets, with the tool of the step as the value of an output (v-F1
    of TaskBench, argvalue-F1 of m&m's)."""
    order: float
    """Length of the longest common subsequence of the tools in topological order, over the length of the longer plan
    (Bakkelund, An LCS-based string metric, 2009; T-Eval, arXiv:2312.14033, uses the longest increasing subsequence
    instead). The order is by depth, then by name, independent of the written order."""


def agreement(*, plan: Plan, gold: Plan, is_right: bool) -> Agreement:
    """Compare a plan with the gold plan of its request.

    Args:
        plan: the parsed plan.
        gold: a right plan.
        is_right: whether the plan meets the request, which determines `edge_f1` if gold has no edges.
    """
    return compare(plan=PlanProfile(plan), gold=PlanProfile(gold), is_right=is_right)


class PlanProfile:
    """The multisets by which plans are compared. Reusable for several comparisons."""

    def __init__(self, plan: Plan) -> None:
        self._canonical: dict[str, str] = {}
        """Results of repeated calls, and those of the original calls."""
        self._distinct, self._repeated = self._without_repetitions(plan.steps)
        self._makers = {reference: step.tool for step in self._distinct for reference in step.outputs.values()}
        self.length = len(plan.steps)
        self.nodes = self._bag(lambda step: (step.tool,))
        self.edges = self._bag(
            lambda step: ((maker, step.tool) for maker in map(self._maker, step.inputs.values()) if maker is not None)
        )
        self.names = self._bag(lambda step: ((step.tool, name) for name in step.inputs))
        self.values = self._bag(
            lambda step: ((step.tool, name, self._value(value)) for name, value in step.inputs.items())
        )

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The tools of the distinct calls by depth, then by name."""
        places = {reference: place for place, step in enumerate(self._distinct) for reference in step.outputs.values()}
        inputs = [[self._canonical.get(value, value) for value in step.inputs.values()] for step in self._distinct]
        depths = _depths(inputs, makers=places)
        return tuple(tool for _, tool in sorted(zip(depths, (step.tool for step in self._distinct), strict=True)))

    def _without_repetitions(self, steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
        """The distinct calls, and those that repeat them."""
        fewest = len(steps)
        while True:
            first: dict[object, Step] = {}
            originals = []
            for step in steps:
                inputs = frozenset((name, self._canonical.get(value, value)) for name, value in step.inputs.items())
                originals.append(first.setdefault((step.tool, inputs), step))
            pairs = list(zip(steps, originals, strict=True))
            if len(first) >= fewest:
                return list(first.values()), [step for step, original in pairs if original is not step]
            # Calls that take results of equal calls may be equal too.
            fewest = len(first)
            self._canonical = {
                reference: original.outputs[name]
                for step, original in pairs
                for name, reference in step.outputs.items()
                if original is not step and name in original.outputs
            }

    def _bag(self, items: Callable[[Step], Iterable[object]]) -> "Bag":
        distinct, repeated = (
            Counter(item for step in steps for item in items(step)) for steps in (self._distinct, self._repeated)
        )
        return Bag(distinct, repeated)

    def _maker(self, value: str) -> str | None:
        return self._makers.get(self._canonical.get(value, value))

    def _value(self, value: str) -> object:
        maker = self._maker(value)
        return value.strip().lower() if maker is None else ("output of", maker)


@dataclass(frozen=True, slots=True)
class Bag:
    """Multisets over the calls of a plan."""

    distinct: Counter[object]
    """Over the calls without repetitions."""
    repeated: Counter[object]
    """Over the calls that repeat an earlier one."""


def compare(*, plan: PlanProfile, gold: PlanProfile, is_right: bool) -> Agreement:
    """`agreement` of plans by their profiles."""
    if not plan.length:
        return Agreement(node_f1=0.0, edge_f1=0.0, parameter_name_f1=0.0, parameter_value_f1=0.0, order=0.0)
    longer = max(plan.length, gold.length)
    return Agreement(
        node_f1=_f1(plan.nodes, gold.nodes),
        edge_f1=_f1(plan.edges, gold.edges, neither=float(is_right)),
        parameter_name_f1=_f1(plan.names, gold.names),
        parameter_value_f1=_f1(plan.values, gold.values),
        order=_common_subsequence(plan.order, gold.order) / longer,
    )


def depth(plan: Plan) -> int:
    """Length of the longest chain of steps, each taking an output of the one before; 0 for an empty plan."""
    makers = {reference: place for place, step in enumerate(plan.steps) for reference in step.outputs.values()}
    return max(_depths([list(step.inputs.values()) for step in plan.steps], makers=makers), default=0)


def _depths(inputs: Sequence[Sequence[str]], *, makers: Mapping[str, int]) -> list[int]:
    """For each step the length of the longest chain that ends with it, ignoring outputs of later steps.

    Args:
        inputs: the inputs of each step.
        makers: the index of the step that makes a value.
    """
    depths: list[int] = []
    for place, values in enumerate(inputs):
        before = [depths[makers[value]] for value in values if makers.get(value, place) < place]
        depths.append(1 + max(before, default=0))
    return depths


def _f1(plan: Bag, gold: Bag, *, neither: float = 1.0) -> float:
    """F1 of two multisets, in [0, 1]; `neither` if both are empty."""
    surplus = (plan.repeated - gold.repeated).total() if plan.repeated else 0
    total = plan.distinct.total() + gold.distinct.total() + surplus
    # Three times as fast as the intersection of counters.
    common = sum(min(count, gold.distinct.get(item, 0)) for item, count in plan.distinct.items())
    return 2 * common / total if total else neither


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    if first == second:
        return len(first)
    row = [0] * (len(second) + 1)
    for item in first:
        previous = row
        row = [0]
        for place, other in enumerate(second):
            row.append(previous[place] + 1 if item == other else max(row[-1], previous[place + 1]))
    return row[-1]
