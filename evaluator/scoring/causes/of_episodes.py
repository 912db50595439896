"""Findings from the transcripts of a task in turns: how episodes ended, and causes of wrong answers. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from evaluator.core.plans.model import Plan
from evaluator.core.transcripts import ActionProblem, ActionRun, StopReason, Transcript
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

MISLED, ERRORS = "misled", "errors"
"""Indicators of suites whose answers are programs: a program that passes all public examples is wrong; the first
program ends in an error."""
_ENDS: Mapping[StopReason, Cause] = MappingProxyType(
    {
        StopReason.ABSTAINED: Cause.ABSTAINED,
        StopReason.TURN_LIMIT: Cause.OUT_OF_TURNS,
        StopReason.ACTION_LIMIT: Cause.OUT_OF_TURNS,
        StopReason.TIME_LIMIT: Cause.TIMEOUT,
        StopReason.UNREADABLE: Cause.UNREADABLE,
        StopReason.CALL_FAILED: Cause.UNAVAILABLE,
        StopReason.TOOL_FAILED: Cause.SITE_FAULT,
    }
)
_WORD = re.compile(r"\w+")
_REFERENCE = re.compile(r"\bR\d+\b")


def of_endings(transcripts: Sequence[Transcript]) -> tuple[Finding, ...]:
    """Findings for episodes that the planner did not end itself, or ended without an answer."""
    return tuple(dict.fromkeys(finding for transcript in transcripts for finding in _of_ending(transcript)))


def _of_ending(transcript: Transcript) -> Iterator[Finding]:
    cause, turns = _ENDS.get(transcript.stop), transcript.turns
    count = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
    if cause is Cause.UNREADABLE:
        place = f"turn {len(turns)}"
        yield Finding(cause=cause, step=place, where=place, given=shortened(turns[-1].error) if turns else None)
    elif cause is not None:
        yield Finding(cause=cause, given=count)
    elif not (transcript.answer or "").strip():
        # Every action succeeded, or there was none.
        is_empty = transcript.stop is StopReason.COMPLETED and not any(turn.actions for turn in turns)
        cause = Cause.EMPTY_PLAN if is_empty else Cause.STOPPED_EARLY
        yield _unresolved(transcript, needed=None) or Finding(cause=cause, given=count)


def of_failures(transcripts: Sequence[Transcript], *, gold: Plan | None) -> tuple[Finding, ...]:
    """Failed actions without a successful retry, at most one for each episode.

    Args:
        transcripts: transcripts of episodes that ended with an answer.
        gold: a right plan; failed actions of tools that it does not call are ignored. None: all count.
    """
    needed = None if gold is None else frozenset(gold.tools())
    findings = (_unresolved(transcript, needed=needed) for transcript in transcripts)
    return tuple(dict.fromkeys(finding for finding in findings if finding is not None))


def _unresolved(transcript: Transcript, *, needed: frozenset[str] | None) -> Finding | None:
    """The first failed action whose tool did not succeed afterwards."""
    actions = [(number, action) for number, turn in enumerate(transcript.turns, 1) for action in turn.actions]
    successful = {action.tool for action in _successful(transcript)}
    for place, (number, action) in enumerate(actions):
        later = (other for _, other in actions[place + 1 :])
        if action.problem is None or any(retry.tool == action.tool and retry.problem is None for retry in later):
            continue
        if needed is None or action.tool in needed or not needed & successful:
            is_invented = action.problem is ActionProblem.UNKNOWN_TOOL
            return Finding(
                cause=Cause.INVENTED_TOOL if is_invented else Cause.FAILED_ACTION,
                step=f"turn {number}", tool=shortened(action.tool), given=shortened(action.error),
            )  # fmt: skip
    return None


def of_answers(
    transcripts: Sequence[Transcript], *, gold: Plan | None, indicators: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Causes of wrong answers.

    Args:
        transcripts: transcripts of episodes that ended with an answer.
        gold: a right plan; None if none is known.
        indicators: indicators of the record.
    """
    return tuple(dict.fromkeys(_of_answer(transcript, gold=gold, indicators=indicators) for transcript in transcripts))


def _of_answer(transcript: Transcript, *, gold: Plan | None, indicators: Mapping[str, float]) -> Finding:
    wanted = shortened(transcript.expected) if transcript.expected else None
    given = shortened(transcript.answer or "")
    if indicators.get(ERRORS) == 1.0:
        return Finding(cause=Cause.FAILED_ACTION, given=given)
    if indicators.get(MISLED) == 1.0:
        return Finding(cause=Cause.MISLED, wanted=wanted, given=given)
    actions = _successful(transcript)
    if gold is not None and transcript.stop is StopReason.STOPPED:
        missing = Counter(gold.tools()) - Counter(action.tool for action in actions)
        if missing:
            return Finding(cause=Cause.STOPPED_EARLY, wanted=wanted, given=given)
    if gold is not None and actions and _does_all(actions, gold=gold):
        answer, results = _words(transcript.answer or ""), _words(" ".join(actions[-1].outputs.values()))
        if answer and answer <= results:
            return Finding(cause=Cause.MISLED, tool=actions[-1].tool, wanted=wanted, given=given)
    return Finding(cause=Cause.WRONG_ANSWER, wanted=wanted, given=given)


def _does_all(actions: Sequence[ActionRun], *, gold: Plan) -> bool:
    """Whether the actions include every call of the gold plan, with the same words except for names of results.

    Results of calculations and look-ups are then right; results of experts may be wrong.
    """
    remaining = [(action.tool, _spelling(action.arguments)) for action in actions]
    for step in gold.steps:
        call = step.tool, _spelling(" ".join(step.inputs.values()))
        if call not in remaining:
            return False
        remaining.remove(call)
    return True


def _spelling(arguments: str) -> str:
    return " ".join(_REFERENCE.sub("R", arguments).casefold().split()).rstrip(".?! ")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _successful(transcript: Transcript) -> list[ActionRun]:
    return [action for turn in transcript.turns for action in turn.actions if action.problem is None]
