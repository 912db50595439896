"""A plan as a graph that can be compared: names of steps and values resolved, repeated calls made once. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from evaluator.core.plans.model import Plan, Step


@dataclass(frozen=True, slots=True)
class Resource:
    """An input of the request."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the plan, or the name of something that does not exist."""

    text: str

    @property
    def words(self) -> str:
        """What two texts that say the same have in common: case and white space do not count."""
        return " ".join(self.text.casefold().split()).rstrip(".?!")


@dataclass(frozen=True, slots=True)
class Made:
    """A result of a step, by the step's place."""

    step: int


Value = Resource | Text | Made


@dataclass(frozen=True)
class Graph:
    """The calls of a plan."""

    steps: tuple[Step, ...]
    inputs: tuple[Mapping[str, Value], ...]
    """Of each step."""
    answers: tuple[Value, ...]
    repeated: frozenset[int]
    """Steps that call what an earlier step calls with the same inputs; nothing takes their results."""

    @classmethod
    def of(cls, plan: Plan, *, resources: Collection[str]) -> "Graph":
        """Read a plan, which may have cycles and anything else that is wrong.

        Args:
            plan: the plan.
            resources: names of the request's inputs, without `$`.
        """
        made: dict[str, int] = {}
        for place, step in enumerate(plan.steps):
            for reference in step.outputs.values():
                made.setdefault(reference.removeprefix("$"), place)
        names = frozenset(resources)
        inputs = [
            {name: _value(value, made=made, resources=names) for name, value in step.inputs.items()}
            for step in plan.steps
        ]
        answers = [_value(value, made=made, resources=names) for value in plan.answers]
        same = _first_of_equal(plan.steps, inputs=inputs)
        return cls(
            steps=plan.steps,
            inputs=tuple({name: _resolved(value, same) for name, value in one.items()} for one in inputs),
            answers=tuple(_resolved(value, same) for value in answers),
            repeated=frozenset(place for place, first in enumerate(same) if first != place),
        )

    @cached_property
    def ancestors(self) -> tuple[frozenset[int], ...]:
        """For each step the steps whose results it needs, directly or through others."""
        return tuple(frozenset(self._before(place)) - {place} for place in range(len(self.steps)))

    @cached_property
    def signatures(self) -> tuple[frozenset[str], ...]:
        """For each step what its results come from: tools, inputs of the request and texts."""
        return tuple(
            frozenset(
                found
                for before in (place, *self.ancestors[place])
                for found in (
                    *((f"tool {self.steps[before].tool}",) if before != place else ()),
                    *map(_leaf, self.inputs[before].values()),
                )
                if found
            )
            for place in range(len(self.steps))
        )

    def origins(self, value: Value, *, through: Collection[int]) -> frozenset[Value]:
        """Where a value comes from, looking through some steps as if they were not there."""
        found: set[Value] = set()
        waiting, seen = [value], set[int]()
        while waiting:
            one = waiting.pop()
            if not isinstance(one, Made) or one.step not in through:
                found.add(one)
            elif one.step not in seen:
                seen.add(one.step)
                waiting += self.inputs[one.step].values()
        return frozenset(found)

    def _before(self, place: int) -> Iterator[int]:
        waiting, seen = [place], {place}
        while waiting:
            for value in self.inputs[waiting.pop()].values():
                if isinstance(value, Made) and value.step not in seen:
                    seen.add(value.step)
                    waiting.append(value.step)
                    yield value.step


def _value(value: str, *, made: Mapping[str, int], resources: frozenset[str]) -> Value:
    name = value.strip().removeprefix("$")
    if name in resources:
        return Resource(name)
    return Made(made[name]) if name in made else Text(value)


def _leaf(value: Value) -> str:
    if isinstance(value, Resource):
        return f"${value.name}"
    return f"text {value.words}" if isinstance(value, Text) else ""


def _resolved(value: Value, same: list[int]) -> Value:
    return Made(same[value.step]) if isinstance(value, Made) else value


def _first_of_equal(steps: tuple[Step, ...], *, inputs: list[dict[str, Value]]) -> list[int]:
    """For each step the first one that calls the same tool with the same inputs."""
    same = list(range(len(steps)))
    while True:
        first: dict[object, int] = {}
        found = [
            first.setdefault((step.tool, frozenset((name, _resolved(v, same)) for name, v in one.items())), place)
            for place, (step, one) in enumerate(zip(steps, inputs, strict=True))
        ]
        # Calls that take results of equal calls may be equal too.
        if found == same:
            return same
        same = found
