"""The sufficient plan of a request that is nearest to a planner's plan.

For each part of the goal it takes the alternative from which the plan differs least. Texts are the planner's where the
rules find them right or are undecided; undecided pairs are in the record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import TYPE_CHECKING

from evaluator.controlllm.toolbench.goals.goal import Goal, says
from evaluator.controlllm.toolbench.goals.gold import spelled_out
from evaluator.controlllm.toolbench.goals.parts import AnyText, File, From, Literal, OneOf, Pattern, Using
from evaluator.controlllm.toolbench.indicators import UNASKED
from evaluator.controlllm.toolbench.meaning.sentences import LONGEST
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Verdict
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import RightPlans
from evaluator.core.tools.types import Catalogue
from evaluator.scoring.causes.graphs import Graph, Text
from evaluator.scoring.causes.plan_differences import STEP, align, cost_of

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord

_OTHER = 0.25
"""Cost of a step that an alternative does not use, to prefer alternatives that use most steps."""
_MOST_ALTERNATIVES = 64
"""Of one part; the rules have about twenty at most."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with its arguments. An argument that accepts any text is absent."""

    tool: str
    arguments: "tuple[tuple[str, _Call | str], ...]"


def nearest_plans(
    *, goal: Goal | None, record: "ResultRecord", plan: Plan, files: Sequence[str], catalogue: Catalogue, executed: bool
) -> RightPlans:
    """Implements `Suite.right_plans`.

    Args:
        goal: the goal of the request; None if unknown.
        record: of the request.
        plan: the record's.
        files: names of the request's files.
        catalogue: signatures of the tools.
        executed: whether plans are executed, so that answers count and steps may be written in any order.
    """
    if goal is None or not goal.parts:
        return RightPlans(plans=())
    nearest = _Nearest(goal=goal, plan=plan, files=files, catalogue=catalogue)
    right = nearest.plan([nearest.value(part.number) for part in goal.parts])
    guesses = UNASKED in record.explanations.get("SE", "")
    return RightPlans(
        plans=(right,), harmless=frozenset() if guesses else goal.relevant,
        is_sufficient=record.indicators.get("SE") == 1.0, with_answers=executed, in_written_order=not executed,
    )  # fmt: skip


class _Nearest:
    """Finds the nearest alternative for each part."""

    def __init__(self, *, goal: Goal, plan: Plan, files: Sequence[str], catalogue: Catalogue) -> None:
        self._goal, self._files, self._catalogue = goal, files, catalogue
        self._graph = Graph.of(plan, resources=files)
        self._nearest: dict[int, _Call | str] = {}

    def value(self, part: int) -> _Call | str:
        """The nearest alternative of a part: a call or a file."""
        if part not in self._nearest:
            patterns = (*self._goal.alternatives[part], *self._goal.roundabouts[part])
            values = (value for pattern in patterns for value in self._values(pattern, tool="", name=""))
            first = [value for value in islice(values, _MOST_ALTERNATIVES) if value is not None]
            self._nearest[part] = min(first, key=self._distance)
        return self._nearest[part]

    def _distance(self, value: _Call | str) -> float:
        """The cost of the plan's differences. Its other steps cost little: they may serve another part."""
        right = Graph.of(self.plan([value]), resources=self._files)
        alignment = align(plan=self._graph, right=right, catalogue=self._catalogue)
        cost = cost_of(alignment, catalogue=self._catalogue, check_answers=False)
        return cost - (STEP - _OTHER) * len(alignment.extra)

    def _values(self, pattern: Pattern, *, tool: str, name: str) -> Iterator["_Call | str | None"]:
        """All values of a pattern in an argument of a tool; None is any text."""
        if isinstance(pattern, Using):
            inner = (list(self._values(value, tool=pattern.tool, name=argument)) for argument, value in pattern.args)
            for values in product(*inner):
                arguments = zip((argument for argument, _ in pattern.args), values, strict=True)
                yield _Call(pattern.tool, tuple((argument, v) for argument, v in arguments if v is not None))
        elif isinstance(pattern, OneOf):
            literals = [choice for choice in pattern.patterns if isinstance(choice, Literal)]
            if literals:
                yield self._text(literals, tool=tool, name=name) or spelled_out(literals[0])
            for choice in pattern.patterns:
                if not isinstance(choice, Literal):
                    yield from self._values(choice, tool=tool, name=name)
        elif isinstance(pattern, From):
            source = pattern.source
            yield source.name if isinstance(source, File) else self.value(source.part)
        elif isinstance(pattern, AnyText):
            yield None
        else:
            yield self._text((pattern,), tool=tool, name=name) or spelled_out(pattern)

    def _text(self, patterns: Sequence[Literal], *, tool: str, name: str) -> str | None:
        """The plan's first text for an argument of a tool that matches a pattern, else the first undecided one."""
        arguments = [
            inputs[name]
            for step, inputs in zip(self._graph.steps, self._graph.inputs, strict=True)
            if step.tool == tool and name in inputs
        ]
        texts = [value.text for value in arguments if isinstance(value, Text)]
        verdicts = {text: [says(text=text[:LONGEST], pattern=pattern) for pattern in patterns] for text in texts}
        right = (text for text in texts if Verdict.SAME in verdicts[text])
        undecided = (
            text
            for text in texts
            if any(isinstance(verdict, Pair) and not verdict.refused for verdict in verdicts[text])
        )
        return next(chain(right, undecided), None)

    def plan(self, values: "Sequence[_Call | str]") -> Plan:
        """The values as one plan, in which equal calls are made once."""
        steps: list[Step] = []
        results: dict[_Call, str] = {}

        def reference(value: "_Call | str") -> str:
            if isinstance(value, str):
                return value
            if value not in results:
                inputs = {name: reference(argument) for name, argument in value.arguments}
                number = f"right{len(steps) + 1}"
                outputs = {name: f"{number}.{name}" for name in self._catalogue[value.tool].outputs}
                steps.append(Step(id=number, tool=value.tool, inputs=inputs, outputs=outputs))
                results[value] = next(iter(outputs.values()))
            return results[value]

        answers = tuple(dict.fromkeys(map(reference, values)))
        return Plan(steps=tuple(steps), answers=answers)
