"""The gold plan of a goal, which takes the first alternative of every part, and the length of the shortest plan."""

from collections.abc import Iterator
from itertools import product

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.parts import (
    AnyText,
    Asking,
    File,
    From,
    Literal,
    OneOf,
    Pattern,
    ResultOf,
    Saying,
    Using,
    Verbatim,
)
from evaluator.controlllm.toolbench.meaning.intents import Intent
from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.types import Catalogue

_ANY_TEXT = "Describe the image in detail."
_QUESTIONS = {
    Intent.COUNT: "How many {} are there?",
    Intent.PRESENCE: "Is there a {} in the image?",
    Intent.REMOVE: "Remove the {}.",
    Intent.GROUND: "{}",
    Intent.DESCRIBE: _ANY_TEXT,
    Intent.LIST: "What objects are in the image?",
}


def gold_plan(*, goal: Goal, catalogue: Catalogue) -> Plan:
    """A plan that meets every part of a goal and calls nothing else."""
    builder = _Builder(goal=goal, catalogue=catalogue)
    answers = tuple(builder.build_part(part.number) for part in goal.parts)
    return Plan(steps=tuple(builder.steps), answers=tuple(dict.fromkeys(answers)))


def spelled_out(pattern: Literal) -> str:
    """A text that matches a pattern."""
    if isinstance(pattern, Asking):
        return _QUESTIONS[pattern.intent].format(pattern.about)
    if isinstance(pattern, Saying):
        return pattern.text or _ANY_TEXT
    return pattern.text if isinstance(pattern, Verbatim) else pattern.name


class _Builder:
    """Builds steps from patterns, from the leaves up."""

    def __init__(self, *, goal: Goal, catalogue: Catalogue) -> None:
        self._goal = goal
        self._catalogue = catalogue
        self._results: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
        self.steps: list[Step] = []

    def build_part(self, number: int) -> str:
        """The reference to the result of a part."""
        return self._value(self._goal.alternatives[number][0])

    def _value(self, pattern: Pattern) -> str:
        if isinstance(pattern, OneOf):
            return self._value(pattern.patterns[0])
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return pattern.source.name
            return self.build_part(pattern.source.part)
        if not isinstance(pattern, Using):
            return _ANY_TEXT if isinstance(pattern, AnyText) else spelled_out(pattern)
        inputs = {name: self._value(value) for name, value in pattern.args}
        key = (pattern.tool, tuple(sorted(inputs.items())))
        if key not in self._results:
            step_id = f"s{len(self.steps) + 1}"
            outputs = {name: f"{step_id}.{name}" for name in self._catalogue[pattern.tool].outputs}
            self.steps.append(Step(id=step_id, tool=pattern.tool, inputs=inputs, outputs=outputs))
            self._results[key] = next(iter(outputs.values()))
        return self._results[key]


_Value = tuple[object, ...]
"""A call with its arguments, or any other value of an argument."""
_Calls = frozenset[_Value]


def shortest_length(goal: Goal) -> int:
    """Fewest calls that meet every part of a goal, where equal calls are made once; 0 for a goal without parts.

    Each part may be met by any of its sufficient alternatives. A question that covers two parts at once is not
    considered, so a plan may be shorter.
    """
    choices = [
        dict.fromkeys(frozenset(_calls(value)) for pattern in patterns for value in _values(goal, pattern))
        for patterns in goal.alternatives
    ]
    # Calls of earlier parts matter only if later parts may share them. That leaves so few sets that all combinations
    # can be compared.
    fewest: dict[_Calls, int] = {frozenset(): 0}
    for place, options in enumerate(choices):
        later: _Calls = frozenset().union(*(calls for further in choices[place + 1 :] for calls in further))
        reached: dict[_Calls, int] = {}
        for (earlier, count), calls in product(fewest.items(), options):
            shared = (earlier | calls) & later
            reached[shared] = min(reached.get(shared, count + len(calls - earlier)), count + len(calls - earlier))
        fewest = reached
    return min(fewest.values())


def _values(goal: Goal, pattern: Pattern) -> list[_Value]:
    if isinstance(pattern, OneOf):
        return [value for choice in pattern.patterns for value in _values(goal, choice)]
    if isinstance(pattern, From) and isinstance(pattern.source, ResultOf):
        return [value for choice in goal.alternatives[pattern.source.part] for value in _values(goal, choice)]
    if isinstance(pattern, Using):
        names = tuple(name for name, _ in pattern.args)
        arguments = product(*(_values(goal, argument) for _, argument in pattern.args))
        return [(Using, pattern.tool, names, values) for values in arguments]
    return [(pattern,)]


def _calls(value: _Value) -> Iterator[_Value]:
    if value[0] is Using:
        yield value
        for argument in value[3]:  # type: ignore[attr-defined]
            yield from _calls(argument)
