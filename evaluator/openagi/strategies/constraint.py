"""Constraints on sequences of names, conditions 1 and 2 of OpenAGI, section 5; and a search under a constraint.

Condition 1: only names of offered tools. Condition 2: a name takes the result of the previous one, and no name is
repeated. Constraints are expressed in names; language models convert them to tokens.

A sequence works on a *frontier*, the available values (`evaluator.replies.frontier`), of which only the types matter.
So the allowed sequences are exactly those that the parsers of comma sequences and trees can wire.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    Following,
    GenerateCall,
    LanguageModelError,
    Message,
)
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.types import ResourceType
from evaluator.planners.language_models.automaton import NameAutomaton, Row, shared_automaton
from evaluator.replies.frontier import Value, wire

MAX_NAMES = 10
"""Maximum length of a sequence. The longest gold plan of the suite has seven names."""
SEPARATOR = ", "


class Slot(NamedTuple):
    """A value of a frontier, described by its type and age."""

    type: ResourceType
    age: int
    """-1 for a resource of the request; results have increasing numbers."""


Frontier = tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The state after a sequence of names."""

    frontier: Frontier
    newest: tuple[int, ...] | None
    """Indices in the frontier of the last name's outputs, in their order. The next name must take one of them; None if
    it may take any value."""

    def type(self) -> ResourceType | None:
        """Type of the answer if the sequence ends in this state."""
        return self.frontier[self.newest[0]].type if self.newest else None


def resources(context: PlanContext) -> Frontier:
    """The initial frontier of a request."""
    return tuple(Slot(kind, -1) for kind in context.resources.values())


class Wiring:
    """Transitions between states, by the types of the offered tools."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self.names = tuple(context.catalogue.tools)
        self.after = cache(self._after)
        """`after(state, name, least)`: the state after a name, or None if the name is not allowed. A name must take at
        least one of the newest values, and at least `least` values in total."""

    def _after(self, state: State, name: str, least: int = 1) -> State | None:
        tool = self._context.catalogue[name]
        values = [Value(str(index), slot.type, slot.age) for index, slot in enumerate(state.frontier)]
        age = 1 + max((slot.age for slot in state.frontier), default=-1)
        step = wire(name=name, number=age, frontier=values, context=self._context)
        taken = {int(index) for index in step.inputs.values()}
        if len(step.inputs) < len(tool.inputs) or len(taken) < least:
            return None
        if state.newest is not None and taken.isdisjoint(state.newest):
            return None
        made = set(step.outputs.values())
        newest = tuple(index for index, value in enumerate(values) if value.reference in made)
        return State(frontier=_aged(values), newest=newest)


def _aged(values: Sequence[Value]) -> Frontier:
    """The values with normalised ages, so that equivalent states are equal."""
    times = sorted({value.produced_at for value in values if value.produced_at >= 0})
    return tuple(Slot(value.type, times.index(value.produced_at) if value.produced_at >= 0 else -1) for value in values)


@dataclass(frozen=True, kw_only=True, eq=False)
class NameConstraint:
    """A constraint on one sequence of names; language models receive its `automaton`.

    There are no dead ends: every allowed name can be continued to an allowed end. If no sequence is allowed,
    `is_possible` is false, and a language model must not be called.
    """

    wiring: Wiring
    start: State
    """If it has a newest value of a type in `ends`, the sequence may be empty."""
    ends: frozenset[ResourceType] | None
    """Allowed types of the answer; None for any."""
    used: frozenset[str] = frozenset()
    """Names that are already part of the plan."""
    least: int = 1
    """Minimum number of values that the first name takes; 2 for a name that joins branches."""
    longest: int = MAX_NAMES
    separator: str = SEPARATOR

    @property
    def is_possible(self) -> bool:
        """Whether any sequence is allowed."""
        following = self.following(())
        return following.may_end or bool(following.names)

    def following(self, written: tuple[str, ...]) -> Following:
        """See `Constraint.following`.

        Raises:
            ValueError: the names violate the constraint.
        """
        return self.automaton.following(written)

    @cached_property
    def automaton(self) -> NameAutomaton:
        """The constraint as a finite automaton.

        A shortest path repeats no name: two calls of a tool that leave the same number of values would form a cycle of
        states, and if they leave fewer values, the names after the second call could follow the first. The automaton
        has 3 to 7 states, because no tool of the suite has more outputs than inputs.
        """
        names = tuple(name for name in self.wiring.names if name not in self.used)
        # The first name has separate conditions, so no transition leads back to the start.
        numbers: dict[State, int] = {}
        reached = [self.start]
        steps: list[Row] = []
        for number, state in enumerate(reached):
            row: list[int | None] = []
            for name in names:
                after = self.wiring.after(state, name, 1 if number else self.least)
                if after is not None and after not in numbers:
                    numbers[after] = len(reached)
                    reached.append(after)
                row.append(None if after is None else numbers[after])
            steps.append(tuple(row))
        automaton = NameAutomaton(
            names=names, steps=tuple(steps), longest=self.longest, separator=self.separator,
            accepting=tuple(
                kind is not None and (self.ends is None or kind in self.ends) for kind in map(State.type, reached)
            ),
        )  # fmt: skip
        return shared_automaton(automaton)

    def state_after(self, written: Sequence[str]) -> State:
        """The state after these names.

        Raises:
            ValueError: a name is repeated, or not allowed.
        """
        state = self.start
        for position, name in enumerate(written):
            known = name in self.wiring.names and name not in self.used and name not in written[:position]
            after = self.wiring.after(state, name, 1 if position else self.least) if known else None
            if after is None:
                raise ValueError(f"{name!r} cannot follow {', '.join(written[:position]) or 'nothing'}")
            state = after
        return state


MAX_TOKENS = 512
"""Enough for any sequence of names, even if every token is a single character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for one sequence of names."""

    messages: tuple[Message, ...]
    constraint: NameConstraint
    beams: int

    def call(self) -> GenerateCall:
        """The call of the language model."""
        return GenerateCall(
            messages=self.messages, max_tokens=MAX_TOKENS, constraint=self.constraint.automaton, beams=self.beams
        )

    def found(self, answer: Answer) -> "Found":
        """The result of an answer.

        Raises:
            LanguageModelError: no beam satisfies the constraint.
        """
        beams = answer.beams if isinstance(answer, Completion) else ()
        allowed = [(beam.names, beam.log_probability) for beam in beams if self._allows(beam.names)]
        if not allowed:
            written = answer.text if isinstance(answer, Completion) else "scores"
            message = f"The language model wrote {written[:200]!r}, which the constraint does not allow."
            raise LanguageModelError(Failure(kind=FailureKind.WRONG_ANSWER, message=message))
        return Found(search=self, beams=tuple(allowed))

    def _allows(self, names: Sequence[str]) -> bool:
        written = tuple(names)
        steps = (self.constraint.following(written[:length]).names for length in range(len(written)))
        return all(name in allowed for name, allowed in zip(written, steps, strict=True)) and (
            self.constraint.following(written).may_end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of a search: at least one sequence, the most probable first."""

    search: Search
    beams: tuple[tuple[tuple[str, ...], float], ...]
    """Names and log-probability of each."""

    @property
    def names(self) -> tuple[str, ...]:
        """The most probable sequence."""
        return self.beams[0][0]

    def to_json(self) -> dict[str, JsonValue]:
        """The search for the notes."""
        return {
            "prompt": self.search.messages[-1].content,
            "beams": [{"names": list(names), "log_probability": round(log, 4)} for names, log in self.beams],
        }


def comma_text(names: Sequence[str]) -> str:
    """Names as a comma sequence."""
    return ", ".join(names)


def tree_text(*, branches: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    """Branches, one for each resource in order, followed by further names: `(A,B,)(C,)D,`."""
    return "".join(f"({_listed(branch)})" for branch in branches) + _listed(names)


def _listed(names: Sequence[str]) -> str:
    return "".join(f"{name}," for name in names)
