"""Findings as sentences that name what a plan gives and what was wanted. Pages, commands and reports share them."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from evaluator.scoring.causes.taxonomy import Cause, Finding

_VALUES = ("$", "the result of ", "“", "none")
"""Beginnings of described values; other texts of a finding are messages."""
_NUMBERED = re.compile(r"s?(\d+)")
_COUNT_OF_TURNS = re.compile(r"\d+ turns?")
_VARIES = re.compile(r'"[^"]*"|“[^”]*”|\'[^\']*\'|\b[0-9a-f]{12,}\b|\b\d+(?:\.\d+)?\b')
_LONGEST_PATTERN = 300
_CANNOT_BE_READ = re.compile(r"^The (?:answer|plan|reply) cannot be read: ")


def sentence_of(finding: Finding) -> str:
    """A finding as one sentence. Texts of strangers are quoted as they are."""
    text = _WRITERS.get(finding.cause, _message)(finding) or finding.cause.definition
    return _ended(text)


def pattern(text: str) -> str:
    """A sentence without the quotes and numbers that differ between tasks with the same mistake."""
    return _VARIES.sub("…", text[:_LONGEST_PATTERN])


def mistake_key(finding: Finding) -> str:
    """A short key that findings of the same mistake share: they differ at most in their step, in quotes and numbers."""
    sentence = sentence_of(replace(finding, step="s1" if finding.step else None))
    return hashlib.sha256(f"{finding.cause}/{pattern(sentence)}".encode()).hexdigest()[:10]


def place_of(finding: Finding) -> str:
    """The step or turn of a finding, such as `step 2 (Colorization)`; empty if it is about the whole plan."""
    step = finding.step
    if not step:
        return ""
    numbered = _NUMBERED.fullmatch(step)
    name = step if step.startswith("turn ") else f"step {numbered[1] if numbered else step}"
    return f"{name} ({finding.tool})" if finding.tool else name


def _missing_step(finding: Finding) -> str:
    return f"a call of {finding.tool} is missing" if finding.tool else "a step is missing"


def _extra_step(finding: Finding) -> str:
    return f"{place_of(finding) or 'a step'} is not needed"


def _wrong_tool(finding: Finding) -> str:
    called = finding.given or finding.tool
    if not called:
        return ""
    place = place_of(Finding(cause=finding.cause, step=finding.step)) or "a step"
    if finding.wanted:
        return f"{place} calls {called} instead of {finding.wanted}"
    return f"{place} calls {called}, which is the wrong tool there"


def _wrong_input(finding: Finding) -> str:
    is_text = finding.cause is Cause.WRONG_LITERAL
    if finding.given and not is_text and not finding.given.startswith(_VALUES):
        return _message(finding)
    place, name = place_of(finding), finding.input
    if not (place and name):
        return _wrong_text(finding)
    if not finding.given:
        return f"{place} has no input {name}" + (f"; it should be {finding.wanted}" if finding.wanted else "")
    if finding.wanted == finding.given:
        # Both are named after their tool.
        return (
            f"{place} takes {finding.given.replace('the result of', 'the result of another call of', 1)} as its {name}"
        )
    if finding.wanted:
        return f"{place} takes {finding.given} as its {name} instead of {finding.wanted}"
    return f"{place} takes {finding.given} as its {name}, which is wrong"


def _wrong_text(finding: Finding) -> str:
    given, wanted = _quoted(finding.given), _quoted(finding.wanted)
    if not given:
        return ""
    return f"{given} does not mean {wanted}" if wanted else f"{given} does not say what was asked for"


def _wrong_order(finding: Finding) -> str:
    place = place_of(finding)
    after = (finding.wanted or "").removeprefix("after ")
    if not place:
        return ""
    return f"{place} comes too early: it belongs after {after}" if after else f"{place} comes too early"


def _wrong_answers(finding: Finding) -> str:
    given, wanted = finding.given, finding.wanted
    if not given or not given.startswith(_VALUES):
        return _message(finding)
    answers = "gives no answer" if given == "none" else f"answers with {given}"
    if wanted:
        return f"the plan {answers} instead of {wanted}"
    return f"the plan {answers}, which is not what was asked for"


def _unreadable(finding: Finding) -> str:
    answer = f"the reply of {finding.step}" if finding.step else "the answer"
    where = f" ({finding.where})" if finding.where and finding.where != finding.step else ""
    message = _CANNOT_BE_READ.sub("", finding.given or "")
    return f"{answer} cannot be read{where}" + (f": {message}" if message else "")


def _undecided(finding: Finding) -> str:
    given, wanted = _quoted(finding.given), _quoted(finding.wanted)
    if not given:
        return ""
    return f"the judge does not decide whether {given} {f'means {wanted}' if wanted else 'is right'}"


def _wrong_answer(finding: Finding) -> str:
    given, wanted = _quoted(finding.given), _quoted(finding.wanted)
    if wanted:
        return (
            f"the final answer is {given} instead of {wanted}" if given else f"there is no answer instead of {wanted}"
        )
    return f"the final answer {given} is not right" if given else ""


def _misled(finding: Finding) -> str:
    given, wanted = _quoted(finding.given), _quoted(finding.wanted)
    if not given:
        return ""
    maker = f"a wrong result of {finding.tool}" if finding.tool else "a wrong result"
    return f"the answer {given} follows {maker}" + (f"; the right answer is {wanted}" if wanted else "")


def _failed_action(finding: Finding) -> str:
    place = place_of(finding)
    if not place:
        return ""
    return f"{place} failed" + (f": {finding.given}" if finding.given else "")


def _stopped_early(finding: Finding) -> str:
    given, wanted = finding.given or "", _quoted(finding.wanted)
    if not wanted and _COUNT_OF_TURNS.fullmatch(given):
        return f"the planner stopped after {given} without an answer"
    if not given:
        return ""
    return f"the planner stopped early, with the answer {_quoted(given)}" + (f" instead of {wanted}" if wanted else "")


def _after_turns(happened: str) -> Callable[[Finding], str]:
    def write(finding: Finding) -> str:
        is_count = bool(finding.given and _COUNT_OF_TURNS.fullmatch(finding.given))
        return f"{happened} after {finding.given}" if is_count else _message(finding)

    return write


def _message(finding: Finding) -> str:
    """The message of a check or a fault, with its step."""
    if not finding.given:
        return ""
    place = place_of(finding)
    return f"{place}: {finding.given}" if place else finding.given


_WRITERS: Mapping[Cause, Callable[[Finding], str]] = MappingProxyType(
    {
        Cause.MISSING_STEP: _missing_step,
        Cause.EXTRA_STEP: _extra_step,
        Cause.WRONG_TOOL: _wrong_tool,
        Cause.WRONG_INPUT: _wrong_input,
        Cause.WRONG_ORDER: _wrong_order,
        Cause.WRONG_LITERAL: _wrong_input,
        Cause.WRONG_ANSWERS: _wrong_answers,
        Cause.EMPTY_PLAN: lambda _: "",
        Cause.UNREADABLE: _unreadable,
        Cause.UNDECIDED: _undecided,
        Cause.WRONG_ANSWER: _wrong_answer,
        Cause.MISLED: _misled,
        Cause.FAILED_ACTION: _failed_action,
        Cause.STOPPED_EARLY: _stopped_early,
        Cause.OUT_OF_TURNS: _after_turns("the limit of turns or actions was reached"),
        Cause.TIMEOUT: _after_turns("the time limit was reached"),
        Cause.UNAVAILABLE: _after_turns("the planner gave no reply"),
        Cause.SITE_FAULT: _after_turns("a tool of the suite failed"),
    }
)
"""By cause, a writer of a clause without capital and full stop; an empty clause stands for the definition. All other
causes have a message or none."""


def _quoted(text: str | None) -> str:
    if not text:
        return ""
    return text if text.startswith("“") else f"“{text}”"


def _ended(text: str) -> str:
    ended = text if text.removesuffix("”").endswith((".", "!", "?", "…")) else f"{text}."
    return ended[:1].upper() + ended[1:]
