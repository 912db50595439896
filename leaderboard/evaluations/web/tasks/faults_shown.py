"""Findings of a task at the place where each is: a step of the plan, a turn of the transcript, or the whole plan."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from evaluator.scoring.causes.sentences import sentence_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from leaderboard.evaluations.causes import words_of_cause

_TURN = re.compile(r"turn (\d+)")
_TOLD_BY_TRANSCRIPT = frozenset(
    {
        Cause.OUT_OF_TURNS, Cause.TIMEOUT, Cause.UNREADABLE, Cause.UNAVAILABLE, Cause.SITE_FAULT, Cause.EMPTY_PLAN,
        Cause.STOPPED_EARLY, Cause.FAILED_ACTION, Cause.INVENTED_TOOL, Cause.WRONG_ANSWER,
    }
)  # fmt: skip
"""Causes whose details a transcript shows itself: errors of actions, the end, and the answer beside the right one."""


class ShownFault(NamedTuple):
    """A finding in words."""

    cause: str
    """The value of the filter `why`."""
    label: str
    sentence: str
    turn: int = 0
    """Number of its turn; 0: none."""


class Faults(NamedTuple):
    """The findings of a task."""

    by_step: dict[str, tuple[ShownFault, ...]]
    """By the id of a step that is drawn."""
    of_turns: tuple[ShownFault, ...]
    whole: tuple[ShownFault, ...]
    """All others."""

    def in_turn(self, number: int) -> tuple[ShownFault, ...]:
        """Those of a turn."""
        return tuple(fault for fault in self.of_turns if fault.turn == number)


def faults_of(findings: Sequence[Finding], *, steps: Collection[str], turns: int) -> Faults:
    """Findings by their places.

    Args:
        findings: visible ones.
        steps: ids of the plan's steps that are shown.
        turns: number of turns that are shown; 0 without a transcript.
    """
    by_step: dict[str, tuple[ShownFault, ...]] = {}
    of_turns, whole = [], []
    for finding in findings:
        numbered = _TURN.fullmatch(finding.step or "")
        turn = int(numbered[1]) if numbered else 0
        fault = _shown(finding, has_transcript=turns > 0, turn=turn if turn <= turns else 0)
        if fault.turn:
            of_turns.append(fault)
        elif finding.step in steps:
            by_step[finding.step or ""] = (*by_step.get(finding.step or "", ()), fault)
        else:
            whole.append(fault)
    return Faults(by_step=by_step, of_turns=tuple(of_turns), whole=tuple(whole))


def _shown(finding: Finding, *, has_transcript: bool, turn: int) -> ShownFault:
    is_told = has_transcript and finding.cause in _TOLD_BY_TRANSCRIPT
    return ShownFault(
        cause=finding.cause.value,
        label=words_of_cause(finding.cause.value),
        sentence=finding.cause.definition if is_told else sentence_of(finding),
        turn=turn,
    )
