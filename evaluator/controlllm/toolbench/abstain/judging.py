"""Judging plans where planners may abstain: a plan without steps abstains, whether it says so or not."""

from dataclasses import replace

from evaluator.controlllm.toolbench.indicators import Judgement
from evaluator.core.plans.abstaining import WRONGLY
from evaluator.core.plans.model import Plan

RIGHT = "The planner abstained, and no plan can meet this request."
MISSED = "No plan can meet this request; abstaining would have been right."


def judge_refusal(plan: Plan) -> Judgement:
    """Judge the plan for a request that no plan can meet: SE is 1 if the planner abstained.

    Every call is irrelevant there. Nothing is necessary, so that nothing is lacking; resources and types do not matter.
    """
    abstained = not plan.steps
    why = dict.fromkeys(("SE", "accuracy"), RIGHT if abstained else MISSED)
    return Judgement(IR=int(not abstained), NR=1, HR=0, CR=1, SE=int(abstained), why=why)


def refusal_indicators(plan: Plan) -> dict[str, float]:
    """The indicators of a plan for a request that no plan can meet, each 0 or 1."""
    abstained = not plan.steps
    return {"accuracy": float(abstained), "accuracy_undecided": 0.0, "misses": float(not abstained)}


def solvable_indicators(*, plan: Plan, judgement: Judgement) -> dict[str, float]:
    """What a suite with requests of both kinds adds for a request that plans can meet, each 0 or 1."""
    return {
        "accuracy": float(judgement.SE),
        "accuracy_undecided": float(bool(judgement.undecided)),
        "false_refusals": float(not plan.steps),
    }


def with_accuracy_explained(judgement: Judgement, *, plan: Plan) -> Judgement:
    """The judgement of a plan for a request that plans can meet, with the reason for its accuracy."""
    return replace(judgement, why={**judgement.why, "accuracy": judgement.why["SE"] if plan.steps else WRONGLY})
