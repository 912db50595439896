"""Consistency between runs of a planner on the same requests. Pure functions.

All measures but pass^k are means over pairs of a task's runs, so that their expectation does not depend on the number
of runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError
from itertools import combinations
from math import comb, exp

from evaluator.core.plans.model import Plan
from evaluator.scoring.metrics.plan_equality import canonical_form, edge_f1


def pass_hat_k(*, successes: int, runs: int, k: int) -> float:
    """Unbiased estimate of the probability that `k` independent runs of a task all succeed, in [0, 1]: C(c, k) / C(n,
    k).

    tau-bench (Yao et al., arXiv 2406.12045), section 3.

    Raises:
        ValueError: there are fewer than `k` runs, or more successes than runs.
    """
    if not 1 <= k <= runs or not 0 <= successes <= runs:
        raise ValueError(f"pass^{k} cannot be estimated from {successes} successes in {runs} runs")
    return comb(successes, k) / comb(runs, k)


def outcome_consistency(*, successes: int, runs: int) -> float:
    """Estimate of (2p - 1)^2 for the success probability p of a task: 1 if all runs agree, 0 for p = 1/2.

    arXiv 2602.16666, outcome consistency. The paper replaces p by the share of c successes in n runs, which is biased
    upwards by 4 p (1 - p) / n: fewer runs look more consistent. This is the unbiased estimate, 1 - 4 c (n - c) / (n (n
    - 1)): 1 minus twice the share of pairs of runs with different outcomes. For a single task it may be negative, down
    to
    -1 / (n - 1).

    Args:
        successes: number of successful runs.
        runs: number of runs, at least two.
    """
    if runs < 2:
        raise ValueError("consistency takes at least two runs")
    return 1 - 4 * successes * (runs - successes) / (runs * (runs - 1))


def resource_consistency(values: Sequence[float]) -> float:
    """Mean of exp(-coefficient of variation) over all pairs of runs, in [1 / e, 1]: 1 if all runs used the same amount.

    arXiv 2602.16666, resource consistency. The paper uses all runs at once, which is biased upwards for few runs. The
    deviation of a pair is |a - b| / 2, its mean (a + b) / 2.

    Args:
        values: a nonnegative value for each run, at least two.
    """
    pairs = list(combinations(values, 2))
    if not pairs:
        raise ValueError("consistency takes at least two runs")
    return sum(
        exp(-abs(first - second) / (first + second)) if first + second else 1.0 for first, second in pairs
    ) / len(pairs)


@dataclass(frozen=True, slots=True)
class PlansAlike:
    """Similarity of a task's plans over all pairs of runs, in [0, 1]."""

    equal: float
    """Share of equal plans, up to the names of steps and the order of independent steps."""
    edges: float
    """Mean F1 of the edges."""


def plans_alike(plans: Sequence[Plan | None]) -> PlansAlike | None:
    """Similarity of a task's plans. A missing or cyclic plan equals no other.

    Args:
        plans: plan of each run; None if it is missing or unreadable.

    Returns:
        None for fewer than two runs, or if no run has a plan.
    """
    pairs = list(combinations(plans, 2))
    if not pairs or all(plan is None for plan in plans):
        return None
    equal = sum(_is_equal(*pair) for pair in pairs)
    edges = sum(
        edge_f1(plan=first, other=second) for first, second in pairs if first is not None and second is not None
    )
    return PlansAlike(equal=equal / len(pairs), edges=edges / len(pairs))


def _is_equal(first: Plan | None, second: Plan | None) -> bool:
    if first is None or second is None:
        return False
    try:
        return canonical_form(first) == canonical_form(second)
    except CycleError:
        return False
