"""What is measured of a judged plan besides the paper's five indicators."""

from functools import partial

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.planning import PlanProfile, compare, depth

_graded = partial(Column, indicator=True)
_size = partial(Column, indicator=True, ordered=False, higher_is_better=False, fault=None, high=None)

COLUMNS = (
    _graded(
        key="node_f1",
        label="Node F1",
        description="Multiset F1 of the tools against the gold plan (TaskBench, m&m's).",
    ),
    _graded(
        key="edge_f1",
        label="Edge F1",
        description="Multiset F1 of the data flow against the gold plan (TaskBench, m&m's). Where gold has none, 1 for "
        "plans without any that solve the request, else 0.",
    ),
    _graded(
        key="parameter_name_f1",
        label="Names F1",
        description="Multiset F1 of the pairs (tool, argument) against the gold plan (t-F1 of TaskBench, argname-F1 of "
        "m&m's).",
        title="Parameter names F1",
    ),
    _graded(
        key="parameter_value_f1",
        label="Values F1",
        description="Multiset F1 of the triples (tool, argument, value) against the gold plan (v-F1 of TaskBench, "
        "argvalue-F1 of m&m's).",
        title="Parameter values F1",
    ),
    _graded(
        key="order",
        label="Order",
        description="Longest common subsequence of the tools, in topological order, with those of the gold plan, over "
        "the length of the longer plan (Bakkelund 2009).",
        title="Order agreement",
    ),
    _graded(
        key="efficiency",
        label="Efficiency",
        description="Length of the shortest sufficient plan over the length of the plan; only of plans that solve the "
        "request (compare SPL, Anderson et al. 2018).",
        title="Step efficiency",
        fault=None,
    ),
    _size(
        key="length",
        label="Steps",
        description="Mean number of steps; says how plans are built, not how good they are.",
    ),
    _size(
        key="depth",
        label="Depth",
        description="Mean length of the longest chain of steps; says how plans are built, not how good they are.",
    ),
)


def measures(*, plan: Plan, gold: PlanProfile, shortest: int, solves: bool) -> dict[str, float]:
    """The values of `COLUMNS` for one plan; `efficiency` is absent where the plan does not solve the request.

    Args:
        plan: the plan as it was read.
        gold: of the request's gold plan.
        shortest: calls of the shortest sufficient plan, at least 1.
        solves: whether SE = 1.
    """
    near = compare(found=PlanProfile(plan), wanted=gold, is_right=solves)
    found = {
        "node_f1": near.node_f1,
        "edge_f1": near.edge_f1,
        "parameter_name_f1": near.parameter_name_f1,
        "parameter_value_f1": near.parameter_value_f1,
        "order": near.order,
        "length": float(len(plan.steps)),
        "depth": float(depth(plan)),
    }
    return found | ({"efficiency": step_efficiency(shortest=shortest, length=len(plan.steps))} if solves else {})


def step_efficiency(*, shortest: int, length: int) -> float:
    """Length of the shortest sufficient plan over the length of a plan that solves the request, in (0, 1].

    It is SPL (Anderson et al., On evaluation of embodied navigation agents, arXiv:1807.06757, section 3.1) of one
    success, with calls in the place of distances. A plan may be shorter than the goal's alternatives allow, where one
    question asks for two parts; it has 1.

    Raises:
        ValueError: a length is not positive.
    """
    if shortest < 1 or length < 1:
        raise ValueError(f"plans that solve a request have at least one step, not {shortest} or {length}")
    return min(1.0, shortest / length)
