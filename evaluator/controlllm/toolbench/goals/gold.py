"""Plans that meet a goal: the gold plan, which is the first sufficient alternative of every part, and the shortest
length.
"""

from collections.abc import Iterator, Mapping
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
from evaluator.controlllm.toolbench.meaning.questions import Intent
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
    """A text that says what a pattern wants."""
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
        self._made: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
        self.steps: list[Step] = []

    def build_part(self, number: int) -> str:
        """The reference to the result of a part."""
        return self._value(self._goal.alternatives[number][0])

    def _value(self, pattern: Pattern) -> str:
        if isinstance(pattern, Using):
            return self._call(tool=pattern.tool, inputs={name: self._value(value) for name, value in pattern.args})
        if isinstance(pattern, OneOf):
            return self._value(pattern.patterns[0])
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return pattern.source.name
            return self.build_part(pattern.source.part)
        return _ANY_TEXT if isinstance(pattern, AnyText) else spelled_out(pattern)

    def _call(self, *, tool: str, inputs: Mapping[str, str]) -> str:
        key = (tool, tuple(sorted(inputs.items())))
        if key not in self._made:
            step_id = f"s{len(self.steps) + 1}"
            outputs = {name: f"{step_id}.{name}" for name in self._catalogue[tool].outputs}
            self.steps.append(Step(id=step_id, tool=tool, inputs=dict(inputs), outputs=outputs))
            self._made[key] = next(iter(outputs.values()))
        return self._made[key]


_Value = tuple[object, ...]
"""A call with its arguments, or anything else that an argument may be."""
_Calls = frozenset[_Value]


def shortest_length(goal: Goal) -> int:
    """Fewest calls that meet every part of a goal, where equal calls are made once; 0 for a goal without parts.

    Each part may be met by any of its sufficient alternatives. It is a bound for plans as the alternatives spell them:
    a question that happens to ask for two parts at once is not seen.
    """
    choices = [list(_choices(goal, part=part.number)) for part in goal.parts]
    # What earlier parts call matters only as far as later parts may call it too: so few sets are left that all
    # combinations can be compared.
    fewest: dict[_Calls, int] = {frozenset(): 0}
    for place, options in enumerate(choices):
        later: _Calls = frozenset().union(*(calls for further in choices[place + 1 :] for calls in further))
        reached: dict[_Calls, int] = {}
        for (made, count), calls in product(fewest.items(), options):
            kept = (made | calls) & later
            reached[kept] = min(reached.get(kept, count + len(calls - made)), count + len(calls - made))
        fewest = reached
    return min(fewest.values())


def _choices(goal: Goal, *, part: int) -> Iterator[_Calls]:
    """The calls of each way to meet a part, those for the parts that it builds on included."""
    seen: set[_Calls] = set()
    for pattern in goal.alternatives[part]:
        for value in _values(goal, pattern):
            calls = frozenset(_calls(value))
            if calls not in seen:
                seen.add(calls)
                yield calls


def _values(goal: Goal, pattern: Pattern) -> list[_Value]:
    """Everything that a pattern may become."""
    if isinstance(pattern, OneOf):
        return [value for one in pattern.patterns for value in _values(goal, one)]
    if isinstance(pattern, From) and isinstance(pattern.source, ResultOf):
        return [value for one in goal.alternatives[pattern.source.part] for value in _values(goal, one)]
    if isinstance(pattern, Using):
        names = tuple(name for name, _ in pattern.args)
        arguments = product(*(_values(goal, argument) for _, argument in pattern.args))
        return [(Using, pattern.tool, names, chosen) for chosen in arguments]
    return [(pattern,)]


def _calls(value: _Value) -> Iterator[_Value]:
    if value[0] is Using:
        yield value
        for argument in value[3]:  # type: ignore[attr-defined]
            yield from _calls(argument)
