"""What a test call says of a plan or a first turn that could be read: whether it would count, and as what."""

from collections.abc import Sequence
from enum import StrEnum

from evaluator.core.plans.model import Plan, Problem
from evaluator.core.records import Reason
from evaluator.scoring.metrics.plan_equality import is_same_plan


class Verdict(StrEnum):
    """How the answer to a test call is judged. A closed list; `label` is the sentence."""

    REFERENCE = "reference"
    VALID = "valid"
    TURN = "turn"
    EMPTY = "empty"
    ABSTAINED = "abstained"
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ANSWER = "missing_answer"
    INVALID = "invalid"
    UNREADABLE = "unreadable"
    FAILED = "failed"

    @property
    def label(self) -> str:
        """A sentence for the planner's owner."""
        return _LABELS[self]

    @property
    def passes(self) -> bool:
        """Whether such an answer would be executed or judged, and does something."""
        return self in {Verdict.REFERENCE, Verdict.VALID, Verdict.TURN}


_LABELS = {
    Verdict.REFERENCE: "Correct: the reference plan of this task.",
    Verdict.VALID: "Valid, but not the reference plan of this task.",
    Verdict.TURN: "A valid first turn.",
    Verdict.EMPTY: "Empty plan: the endpoint answers, but its plan has no steps.",
    Verdict.ABSTAINED: "Abstained: the endpoint answers, but says that no tool can meet the request.",
    Verdict.UNKNOWN_TOOL: "Unknown tool: the plan calls a tool that does not exist.",
    Verdict.MISSING_ANSWER: "Missing answer: the plan does not name the results that the request asks for.",
    Verdict.INVALID: "Invalid plan: it was read, but cannot run.",
    Verdict.UNREADABLE: "Unreadable plan.",
    Verdict.FAILED: "No valid response.",
}


def verdict_of_fault(reason: Reason) -> Verdict:
    """The verdict on an answer without a plan."""
    return Verdict.UNREADABLE if reason is Reason.UNPARSABLE_PLAN else Verdict.FAILED


def verdict_of_problems(problems: Sequence[Problem]) -> Verdict:
    """The verdict on a plan with these problems, of which there is at least one."""
    codes = {problem.code for problem in problems}
    if codes & {"unknown_tool", "tool_not_offered"}:
        return Verdict.UNKNOWN_TOOL
    return Verdict.MISSING_ANSWER if codes == {"answer_count"} else Verdict.INVALID


def verdict_of_plan(*, plan: Plan, gold: Plan | None) -> Verdict:
    """The verdict on a valid plan with steps."""
    is_reference = gold is not None and is_same_plan(plan=plan, other=gold)
    return Verdict.REFERENCE if is_reference else Verdict.VALID
