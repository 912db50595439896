"""The goal algebra: what a request wants, and every way that is sufficient to get it.

A goal is a tuple of parts. A part says what must be produced (`kind`), from which resource (`source`), and about what
(`target`). Rewrite rules turn a part into patterns, one for each sufficient alternative; a plan meets the part if some
output's term matches one of them. Tool quality is not judged: counting with a question to the image is as good as
detecting, selecting and counting (ControlLLM, section 4.2: any solution that solves the task counts).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from evaluator.suites.toolbench import words
from evaluator.suites.toolbench.goals.intents import asks, same_request
from evaluator.suites.toolbench.goals.parts import (
    TEXT_TOOLS,
    Action,
    AnyText,
    Asking,
    File,
    From,
    Kind,
    Object,
    OneOf,
    Part,
    Pattern,
    Saying,
    Using,
)
from evaluator.suites.toolbench.goals.rules import alternatives_of
from evaluator.suites.toolbench.terms import CallTerm, FileTerm, LiteralTerm, Term


@dataclass(frozen=True)
class Goal:
    """Everything that a request wants, with the files that it gives."""

    parts: tuple[Part, ...]

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the sufficient patterns; the first is the one that gold plans use."""
        return tuple(alternatives_of(part=part, parts=self.parts) for part in self.parts)

    @cached_property
    def chains(self) -> tuple[tuple[frozenset[str], ...], ...]:
        """For each part the sets of tools that are sufficient for it, arguments aside."""
        return tuple(
            tuple(dict.fromkeys(chain for pattern in patterns for chain in _tool_sets(pattern)))
            for patterns in self.alternatives
        )

    @cached_property
    def relevant(self) -> frozenset[str]:
        """Tools that are in some sufficient chain of some part, or are an optional addition to it."""
        tools = {tool for chains in self.chains for chain in chains for tool in chain}
        for part in self.parts:
            tools |= _optional(part)
        return frozenset(tools)

    def met_by(self, *, part: int, term: Term) -> bool:
        """Whether a term is a result that meets a part."""
        return any(self._matches(term, pattern) for pattern in self.alternatives[part])

    def _matches(self, term: Term, pattern: Pattern) -> bool:
        if isinstance(pattern, Using):
            if not isinstance(term, CallTerm) or term.tool != pattern.tool or not term.known:
                return False
            return all(name in term.args and self._matches(term.args[name], wanted) for name, wanted in pattern.args)
        if isinstance(pattern, OneOf):
            return any(self._matches(term, one) for one in pattern.patterns)
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return isinstance(term, FileTerm) and term.name == pattern.source.name
            return self.met_by(part=pattern.source.part, term=term)
        if isinstance(pattern, AnyText):
            return isinstance(term, LiteralTerm) or (isinstance(term, CallTerm) and term.tool in TEXT_TOOLS)
        return isinstance(term, LiteralTerm) and _says(term.text, pattern)


def _says(text: str, pattern: Object | Action | Asking | Saying) -> bool:
    text = text[: words.LONGEST]
    if isinstance(pattern, Object):
        return words.same_object(pattern.name, text)
    if isinstance(pattern, Action):
        return words.same_action(pattern.name, text)
    if isinstance(pattern, Asking):
        return asks(text, pattern.intent, pattern.about)
    own = words.overlap(pattern.text, text)
    return same_request(pattern.text, text) and all(words.overlap(other, text) <= own for other in pattern.others)


def _optional(part: Part) -> frozenset[str]:
    """Tools that a plan may add for a part without being irrelevant."""
    if part.kind in {Kind.LOCATE, Kind.PRESENCE, Kind.DETECT_ALL}:
        return frozenset({"highlight_object_on_image", *(("image_cropping",) if part.cutting_helps else ())})
    if part.kind is Kind.RECOGNISE and part.single_object:
        return frozenset({"select_category", "select_bbox", "visual_grounding", "highlight_object_on_image"})
    return frozenset()


def _tool_sets(pattern: Pattern) -> Sequence[frozenset[str]]:
    """The sets of tools with which a pattern can be matched."""
    if isinstance(pattern, OneOf):
        return [chain for one in pattern.patterns for chain in _tool_sets(one)]
    if not isinstance(pattern, Using):
        return [frozenset()]
    inner = [_tool_sets(argument) for _, argument in pattern.args]
    return [frozenset({pattern.tool}).union(*chosen) for chosen in product(*inner)]


def describe_goal(goal: Goal) -> Mapping[int, str]:
    """The parts in words, by their number counted from 1."""
    return {part.number + 1: part.sentence() for part in goal.parts}
