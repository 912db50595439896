"""What the owner of an evaluation may do in its present state."""

from typing import NamedTuple

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Evaluation, EvaluationState


class Action(NamedTuple):
    """Something that the owner may do now, with the sentence that asks for confirmation."""

    url: str
    label: str
    sentence: str
    confirm: str
    tone: str
    button: str


RESUME = Action(
    url="evaluations:resume",
    label="Resume",
    sentence="Runs the tasks with infrastructure faults again, and only these; where they are many, one of "
    "them first. Everything else stays as it is.",
    confirm="Resume these tasks",
    tone="",
    button="primary",
)
ACCEPT = Action(
    url="evaluations:accept",
    label="Accept as planner faults",
    sentence="The tasks with infrastructure faults then score 0, and the evaluation is ranked. This cannot be undone.",
    confirm="Accept and rank",
    tone="warning",
    button="danger",
)
CANCEL = Action(
    url="evaluations:cancel",
    label="Cancel",
    sentence="Ends the evaluation. It is never ranked, and its results so far stay visible. This cannot be undone.",
    confirm="Cancel this evaluation",
    tone="error",
    button="danger",
)
RERUN = Action(
    url="evaluations:rerun",
    label="Run again",
    sentence="Submits the planner again for this suite, under today's conditions. It counts towards the quota like any "
    "submission, and this evaluation stays as it is.",
    confirm="Run it again",
    tone="",
    button="primary",
)
VERIFY = Action(
    url="evaluations:verify",
    label="Verify",
    sentence="A worker of this site repeats a sample of the tasks. If the results agree, the evaluation is ranked.",
    confirm="Have it verified",
    tone="",
    button="primary",
)


def allowed_actions(evaluation: Evaluation) -> tuple[Action, ...]:
    """What the owner may do in the evaluation's present state."""
    actions: tuple[Action, ...] = ()
    if evaluation.verifies_id is not None:
        return actions
    if evaluation.state == EvaluationState.ON_HOLD:
        actions += (RESUME, ACCEPT)
    if evaluation.state in transitions.CANCELLABLE:
        actions += (CANCEL,)
    if evaluation.state in transitions.FINAL:
        actions += (RERUN,)
    return actions
