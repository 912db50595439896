"""Plans as comparable graphs, with resolved names of steps and values and merged repeated calls. Pure."""

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
    """A text of the plan, or an unknown reference."""

    text: str

    @property
    def words(self) -> str:
        """The normalised text, for comparisons that ignore case, white space and final marks."""
        return " ".join(self.text.casefold().split()).rstrip(".?!")


@dataclass(frozen=True, slots=True)
class Made:
    """A result of a step, by the step's index."""

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
    """Steps that repeat the call of an earlier step. Their results are replaced by that step's."""

    @classmethod
    def of(cls, plan: Plan, *, resources: Collection[str]) -> "Graph":
        """The graph of a plan, which may have cycles and other errors.

        Args:
            plan: the plan.
            resources: names of the request's inputs, without `$`.
        """
        producers: dict[str, int] = {}
        for place, step in enumerate(plan.steps):
            for reference in step.outputs.values():
                producers.setdefault(reference.removeprefix("$"), place)
        names = frozenset(resources)
        inputs = [
            {name: _value(value, producers=producers, resources=names) for name, value in step.inputs.items()}
            for step in plan.steps
        ]
        answers = [_value(value, producers=producers, resources=names) for value in plan.answers]
        originals = _first_of_equal(plan.steps, inputs=inputs)
        return cls(
            steps=plan.steps,
            inputs=tuple({name: _resolved(value, originals) for name, value in values.items()} for values in inputs),
            answers=tuple(_resolved(value, originals) for value in answers),
            repeated=frozenset(place for place, first in enumerate(originals) if first != place),
        )

    @cached_property
    def ancestors(self) -> tuple[frozenset[int], ...]:
        """For each step the steps whose results it needs, directly or through others."""
        return tuple(frozenset(self._before(place)) - {place} for place in range(len(self.steps)))

    @cached_property
    def signatures(self) -> tuple[frozenset[str], ...]:
        """For each step the sources of its results: tools, inputs of the request and texts."""
        return tuple(
            frozenset(
                origin
                for before in (place, *self.ancestors[place])
                for origin in (
                    *((f"tool {self.steps[before].tool}",) if before != place else ()),
                    *map(_leaf, self.inputs[before].values()),
                )
                if origin
            )
            for place in range(len(self.steps))
        )

    def origins(self, value: Value, *, through: Collection[int]) -> frozenset[Value]:
        """The sources of a value if the steps `through` are skipped."""
        origins: set[Value] = set()
        queue, visited = [value], set[int]()
        while queue:
            current = queue.pop()
            if not isinstance(current, Made) or current.step not in through:
                origins.add(current)
            elif current.step not in visited:
                visited.add(current.step)
                queue += self.inputs[current.step].values()
        return frozenset(origins)

    def _before(self, place: int) -> Iterator[int]:
        queue, visited = [place], {place}
        while queue:
            for value in self.inputs[queue.pop()].values():
                if isinstance(value, Made) and value.step not in visited:
                    visited.add(value.step)
                    queue.append(value.step)
                    yield value.step


def _value(value: str, *, producers: Mapping[str, int], resources: frozenset[str]) -> Value:
    name = value.strip().removeprefix("$")
    if name in resources:
        return Resource(name)
    return Made(producers[name]) if name in producers else Text(value)


def _leaf(value: Value) -> str:
    if isinstance(value, Resource):
        return f"${value.name}"
    return f"text {value.words}" if isinstance(value, Text) else ""


def _resolved(value: Value, originals: list[int]) -> Value:
    return Made(originals[value.step]) if isinstance(value, Made) else value


def _first_of_equal(steps: tuple[Step, ...], *, inputs: list[dict[str, Value]]) -> list[int]:
    """For each step the first one that calls the same tool with the same inputs."""
    originals = list(range(len(steps)))
    while True:
        first: dict[object, int] = {}
        firsts = []
        for place, (step, values) in enumerate(zip(steps, inputs, strict=True)):
            call = step.tool, frozenset((name, _resolved(value, originals)) for name, value in values.items())
            firsts.append(first.setdefault(call, place))
        # Calls that take results of equal calls may be equal too.
        if firsts == originals:
            return originals
        originals = firsts
