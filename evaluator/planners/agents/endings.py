"""What an agent is told when its task is over. It never learns the score."""

from collections.abc import Mapping
from types import MappingProxyType

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import StopReason, TurnRun
from evaluator.planners.agents.desk import Ended
from evaluator.planners.agents.tools import NEXT_TASK

_WHY: Mapping[StopReason, str] = MappingProxyType(
    {
        StopReason.ANSWERED: "Your answer is recorded.",
        StopReason.TURN_LIMIT: "The task is over without an answer: no further call was left.",
        StopReason.ACTION_LIMIT: "The task is over without an answer: no further call of a tool was left.",
        StopReason.TIME_LIMIT: "The task is over without an answer: its time has passed.",
        StopReason.UNREADABLE: "The task is over: too many calls in a row could not be read.",
        StopReason.CALL_FAILED: "The task is over: no answer came in time.",
    }
)


def end_of(record: ResultRecord) -> Ended:
    """The result of the last call, where it had one, and why the task is over."""
    transcript = record.transcripts[-1] if record.transcripts else None
    if transcript is None:
        return Ended(f"This task cannot be run. Call {NEXT_TASK} for the next one.", is_error=True)
    why = f"{_WHY.get(transcript.stop, 'The task is over.')} Call {NEXT_TASK} for the next one."
    last = _last_result(transcript.turns[-1]) if transcript.turns else ""
    return Ended(f"{last}\n\n{why}".strip(), is_error=transcript.stop is not StopReason.ANSWERED)


def _last_result(turn: TurnRun) -> str:
    if not turn.actions:
        return turn.error
    action = turn.actions[-1]
    return action.error or "\n".join(f"{name} = {text}" for name, text in action.outputs.items())
