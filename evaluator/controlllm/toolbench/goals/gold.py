"""From a goal to a gold plan: the first sufficient alternative of every part, with equal calls made once."""

from collections.abc import Mapping

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.parts import (
    AnyText,
    Asking,
    File,
    From,
    Literal,
    OneOf,
    Pattern,
    Saying,
    Using,
    Verbatim,
)
from evaluator.controlllm.toolbench.meaning.instructions import Intent
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
