"""The sufficient plan of a request that is nearest to a planner's plan.

Each part of the goal may be met in several ways; of each part the way is taken that lacks least in the plan. Texts are
the planner's where they say what is wanted, as far as the rules can tell: what they leave undecided is in the record.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

from evaluator.controlllm.toolbench.goals.goal import Goal, says
from evaluator.controlllm.toolbench.goals.gold import spelled_out
from evaluator.controlllm.toolbench.goals.parts import AnyText, File, From, Literal, OneOf, Pattern, Using
from evaluator.controlllm.toolbench.meaning.sentences import LONGEST
from evaluator.controlllm.toolbench.meaning.verdict import Verdict
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import RightPlans
from evaluator.core.tools.types import Catalogue
from evaluator.scoring.causes.graphs import Graph, Text
from evaluator.scoring.causes.plan_differences import STEP, align, cost_of

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord

_OTHER = 0.25
"""Cost of a step that a way does not use, so that the way is taken that uses most."""
_MOST_WAYS = 64
"""Of one part; the rules have at most some twenty."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with its arguments. Any text will do for one that is left out."""

    tool: str
    arguments: "tuple[tuple[str, _Call | str], ...]"


def nearest_plans(
    *, goal: Goal | None, record: "ResultRecord", plan: Plan, files: Sequence[str], catalogue: Catalogue, executed: bool
) -> RightPlans:
    """What `Suite.right_plans` asks for.

    Args:
        goal: what the request wants; None where that is not known.
        record: of the request.
        plan: the record's.
        files: names of the request's files.
        catalogue: signatures of the tools.
        executed: whether plans are executed, so that answers count and steps may be written in any order.
    """
    if goal is None or not goal.parts:
        return RightPlans(plans=())
    nearest = _Nearest(goal=goal, plan=plan, files=files, catalogue=catalogue)
    return RightPlans(
        plans=(nearest.combined(),), harmless=goal.relevant, is_sufficient=record.indicators.get("SE") == 1.0,
        with_answers=executed, in_written_order=not executed,
    )  # fmt: skip


class _Nearest:
    """Finds the nearest way for each part."""

    def __init__(self, *, goal: Goal, plan: Plan, files: Sequence[str], catalogue: Catalogue) -> None:
        self._goal, self._files, self._catalogue = goal, files, catalogue
        self._own = Graph.of(plan, resources=files)
        self._chosen: dict[int, _Call | str] = {}

    def combined(self) -> Plan:
        """The nearest ways of all parts as one plan, with equal calls made once."""
        return _plan([self._way(part.number) for part in self._goal.parts], catalogue=self._catalogue)

    def _way(self, part: int) -> _Call | str:
        if part not in self._chosen:
            patterns = (*self._goal.alternatives[part], *self._goal.roundabouts[part])
            ways = islice((way for pattern in patterns for way in self._ways(pattern, tool="", name="")), _MOST_WAYS)
            self._chosen[part] = min((way for way in ways if way is not None), key=self._lacking)
        return self._chosen[part]

    def _lacking(self, way: _Call | str) -> float:
        """The cost of the plan's differences from this way. Further steps cost little: they may serve another part."""
        right = Graph.of(_plan([way], catalogue=self._catalogue), resources=self._files)
        found = align(plan=self._own, right=right, catalogue=self._catalogue)
        return cost_of(found, catalogue=self._catalogue, check_answers=False) - (STEP - _OTHER) * len(found.extra)

    def _ways(self, pattern: Pattern, *, tool: str, name: str) -> Iterator["_Call | str | None"]:
        """Everything that a pattern may become in an argument of a tool; None is any text."""
        if isinstance(pattern, Using):
            names = tuple(argument for argument, _ in pattern.args)
            inner = (list(self._ways(value, tool=pattern.tool, name=argument)) for argument, value in pattern.args)
            for chosen in product(*inner):
                yield _Call(
                    pattern.tool, tuple((one, v) for one, v in zip(names, chosen, strict=True) if v is not None)
                )
        elif isinstance(pattern, OneOf):
            yield from self._ways_of_several(pattern, tool=tool, name=name)
        elif isinstance(pattern, From):
            source = pattern.source
            yield source.name if isinstance(source, File) else self._way(source.part)
        elif isinstance(pattern, AnyText):
            yield None
        else:
            yield self._said((pattern,), tool=tool, name=name) or spelled_out(pattern)

    def _ways_of_several(self, pattern: OneOf, *, tool: str, name: str) -> Iterator["_Call | str | None"]:
        literals = [one for one in pattern.patterns if not isinstance(one, Using | OneOf | From | AnyText)]
        others = [one for one in pattern.patterns if isinstance(one, Using | OneOf | From | AnyText)]
        if literals:
            yield self._said(literals, tool=tool, name=name) or spelled_out(literals[0])
        for one in others:
            yield from self._ways(one, tool=tool, name=name)

    def _said(self, patterns: Sequence[Literal], *, tool: str, name: str) -> str | None:
        """The first text that the plan gives a tool here and that says what is wanted, or may say it."""
        given = [
            inputs[name]
            for step, inputs in zip(self._own.steps, self._own.inputs, strict=True)
            if step.tool == tool and name in inputs
        ]
        texts = [value.text for value in given if isinstance(value, Text)]
        for wanted in (False, True):
            for text in texts:
                verdicts = [says(text=text[:LONGEST], pattern=pattern) for pattern in patterns]
                if Verdict.SAME in verdicts or (wanted and any(one is not Verdict.DIFFERENT for one in verdicts)):
                    return text
        return None


def _plan(ways: "Sequence[_Call | str]", *, catalogue: Catalogue) -> Plan:
    steps: list[Step] = []
    made: dict[_Call, str] = {}
    answers = tuple(_built(way, steps=steps, made=made, catalogue=catalogue) for way in ways)
    return Plan(steps=tuple(steps), answers=tuple(dict.fromkeys(answers)))


def _built(way: "_Call | str", *, steps: list[Step], made: dict[_Call, str], catalogue: Catalogue) -> str:
    """The reference of a value, whose steps are appended once."""
    if isinstance(way, str):
        return way
    if way not in made:
        inputs: Mapping[str, str] = {
            name: _built(value, steps=steps, made=made, catalogue=catalogue) for name, value in way.arguments
        }
        number = f"right{len(steps) + 1}"
        outputs = {name: f"{number}.{name}" for name in catalogue[way.tool].outputs}
        steps.append(Step(id=number, tool=way.tool, inputs=inputs, outputs=outputs))
        made[way] = next(iter(outputs.values()))
    return made[way]
