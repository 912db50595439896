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

from evaluator.controlllm.toolbench.goals.parts import (
    TEXT_TOOLS,
    Action,
    AnyText,
    Asking,
    File,
    From,
    Kind,
    Literal,
    Object,
    OneOf,
    Part,
    Pattern,
    Saying,
    SayingKind,
    Using,
    Verbatim,
)
from evaluator.controlllm.toolbench.goals.rules import alternatives_of, roundabouts_of
from evaluator.controlllm.toolbench.meaning.actions import compare_actions
from evaluator.controlllm.toolbench.meaning.instructions import Intent, compare_intent
from evaluator.controlllm.toolbench.meaning.objects import compare_objects
from evaluator.controlllm.toolbench.meaning.questions import compare_questions
from evaluator.controlllm.toolbench.meaning.sentences import LONGEST, base_forms, names_file
from evaluator.controlllm.toolbench.meaning.texts import compare_prompts, compare_texts, compare_verbatim
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Settle, Verdict, every, leave_undecided, some
from evaluator.controlllm.toolbench.terms import CallTerm, FileTerm, LiteralTerm, Term


@dataclass(frozen=True)
class Goal:
    """Everything that a request wants, with the files that it gives."""

    parts: tuple[Part, ...]
    request: tuple[str, ...] = ()
    """Base forms of the request's words."""

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the sufficient patterns; the first is the one that gold plans use."""
        return tuple(alternatives_of(part=part, parts=self.parts) for part in self.parts)

    @cached_property
    def roundabouts(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the patterns that meet it with steps that are irrelevant."""
        return tuple(roundabouts_of(part) for part in self.parts)

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


class Matching:
    """Matches terms with the patterns of a goal, and keeps the pairs of texts on which it is undecided."""

    def __init__(self, *, goal: Goal, settle: Settle = leave_undecided) -> None:
        self._goal = goal
        self._settle = settle
        self.undecided: dict[Pair, None] = {}
        """Every pair that was met and is not settled, in order."""

    def met_by(self, *, part: int, term: Term) -> Verdict:
        """Whether a term is a result that meets a part."""
        patterns = (*self._goal.alternatives[part], *self._goal.roundabouts[part])
        return some(self._matches(term, pattern) for pattern in patterns)

    def _matches(self, term: Term, pattern: Pattern) -> Verdict:
        if isinstance(pattern, Using):
            if not isinstance(term, CallTerm) or term.tool != pattern.tool or not term.known:
                return Verdict.DIFFERENT
            if any(name not in term.args for name, _ in pattern.args):
                return Verdict.DIFFERENT
            return every(self._matches(term.args[name], wanted) for name, wanted in pattern.args)
        if isinstance(pattern, OneOf):
            return some(self._matches(term, one) for one in pattern.patterns)
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return Verdict.of(isinstance(term, FileTerm) and term.name == pattern.source.name)
            return self.met_by(part=pattern.source.part, term=term)
        if isinstance(pattern, AnyText):
            is_text = isinstance(term, LiteralTerm) or (isinstance(term, CallTerm) and term.tool in TEXT_TOOLS)
            return Verdict.of(is_text)
        return self._says(term.text, pattern) if isinstance(term, LiteralTerm) else Verdict.DIFFERENT

    def _says(self, text: str, pattern: Literal) -> Verdict:
        found = says(text=text[:LONGEST], pattern=pattern)
        if found is Verdict.SAME and self._repeats_request(text, pattern):
            found = Pair(kind="question", wanted=_wanted(pattern), given=text, why=_REPEATED)
        if isinstance(found, Verdict):
            return found
        settled = self._settle(found)
        if settled is Verdict.UNDECIDED:
            self.undecided.setdefault(found)
        return settled

    def _repeats_request(self, text: str, pattern: Literal) -> bool:
        """Whether a text for a tool that is handed one file is the whole request.

        Not where a language model is asked. Nor where something is counted: the released decompositions themselves
        have it counted by a question with the words of the request.
        """
        is_free = isinstance(pattern, Saying) and pattern.kind is SayingKind.TEXT
        is_count = isinstance(pattern, Asking) and pattern.intent is Intent.COUNT
        return not is_free and not is_count and names_file(text) and base_forms(text) == self._goal.request


_REPEATED = "it repeats the whole request, and says of files what a tool that is handed one of them cannot know"


def says(*, text: str, pattern: Literal) -> Verdict | Pair:
    """Whether a literal says what a pattern wants; a pair where the rules are undecided."""
    if isinstance(pattern, Verbatim):
        return compare_verbatim(pattern.text, text)
    if isinstance(pattern, Action):
        return compare_actions(pattern.name, text)
    if isinstance(pattern, Object):
        verdict, why = compare_objects(pattern.name, text, pattern.attributes)
        return _undecided(verdict, kind="object", wanted=pattern.name, given=text, why=why)
    if isinstance(pattern, Asking):
        verdict, why = compare_intent(text, pattern.intent, pattern.about, pattern.attributes)
        return _undecided(verdict, kind="question", wanted=_wanted(pattern), given=text, why=why)
    verdict, why = _said(text=text, wanted=pattern.text, pattern=pattern)
    if verdict is Verdict.UNDECIDED and any(
        _said(text=text, wanted=other, pattern=pattern)[0] is Verdict.SAME for other in pattern.others
    ):
        verdict = Verdict.DIFFERENT
    return _undecided(verdict, kind=pattern.kind.value, wanted=pattern.text, given=text, why=why)


def _wanted(pattern: Literal) -> str:
    """What a pattern wants, in words."""
    if isinstance(pattern, Asking):
        return f"{pattern.intent}: {pattern.about}" if pattern.about else str(pattern.intent)
    return pattern.text if isinstance(pattern, Saying | Verbatim) else pattern.name


def _said(*, text: str, wanted: str, pattern: Saying) -> tuple[Verdict, str]:
    if pattern.kind is SayingKind.PROMPT:
        return compare_prompts(wanted, text, pattern.asked)
    return compare_questions(wanted, text) if pattern.kind is SayingKind.QUESTION else compare_texts(wanted, text)


def _undecided(verdict: Verdict, *, kind: str, wanted: str, given: str, why: str) -> Verdict | Pair:
    if verdict is not Verdict.UNDECIDED:
        return verdict
    return Pair(kind=kind, wanted=wanted, given=given, why=why)


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
