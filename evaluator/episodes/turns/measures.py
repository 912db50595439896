"""What the transcripts of all suites in turns are measured by, and the calls of their planners together."""

from collections.abc import Mapping, Sequence

from evaluator.core.records import PlannerCall
from evaluator.core.transcripts import StopReason, Transcript

BY_ITSELF = frozenset({StopReason.ANSWERED, StopReason.STOPPED, StopReason.COMPLETED})
"""Ends that the planner wanted."""


def indicators_of(transcript: Transcript) -> Mapping[str, float]:
    """How long an episode was, and how much of it worked."""
    actions = [action for turn in transcript.turns for action in turn.actions]
    worked = sum(action.problem is None for action in actions)
    return {
        "turns": float(len(transcript.turns)),
        "actions": float(len(actions)),
        **({"actions_done": worked / len(actions)} if actions else {}),
        "ended": float(transcript.stop in BY_ITSELF),
    }


def calls_of(transcripts: Sequence[Transcript]) -> PlannerCall:
    """All calls of the planner as one."""
    turns = [turn for transcript in transcripts for turn in transcript.turns]
    prompts = [turn.prompt_tokens for turn in turns if turn.prompt_tokens is not None]
    completions = [turn.completion_tokens for turn in turns if turn.completion_tokens is not None]
    return PlannerCall(
        seconds=round(sum(turn.seconds for turn in turns), 6),
        tries=max((turn.tries for turn in turns), default=1),
        prompt_tokens=sum(prompts) if prompts else None,
        completion_tokens=sum(completions) if completions else None,
    )
