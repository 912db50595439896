"""Which names may follow which: conditions 1 and 2 of OpenAGI, section 5; and one search under them.

Condition 1: nothing but names of offered tools. Condition 2: a name takes what the name before it made, and no name
comes twice. Both are said in names here; a language model turns them into tokens.

A sequence works on a *frontier*, the values that there are to be used (`evaluator.replies.frontier`), of which only the
types matter. So what may be written is exactly what the parsers of comma sequences and trees can wire.
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
"""Names of one sequence. The longest plan that a request of the suite needs has seven."""
SEPARATOR = ", "


class Slot(NamedTuple):
    """A value of a frontier, of which nothing is known but its type and when it was made."""

    type: ResourceType
    age: int
    """-1 for a resource of the request; of values that were made, the one made later has the higher number."""


Frontier = tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What a sequence has come to."""

    frontier: Frontier
    newest: tuple[int, ...] | None
    """Indices in the frontier of what the last name made, in the order of its outputs, of which the next name must take
    something; None if it may take anything."""

    def type(self) -> ResourceType | None:
        """Type of the answer if the sequence ends here."""
        return self.frontier[self.newest[0]].type if self.newest else None


def resources(context: PlanContext) -> Frontier:
    """The frontier that a request starts with."""
    return tuple(Slot(kind, -1) for kind in context.resources.values())


class Wiring:
    """What becomes of a frontier under a name. Knows the types of the offered tools only."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self.names = tuple(context.catalogue.tools)
        self.after = cache(self._after)
        """`after(state, name, least)`: the state behind a name, or None if it cannot follow. A name must take at least
        one of the newest values, and at least `least` values at all."""

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
    """The values with ages that say no more than their order, so that states that behave alike are equal."""
    times = sorted({value.produced_at for value in values if value.produced_at >= 0})
    return tuple(Slot(value.type, times.index(value.produced_at) if value.produced_at >= 0 else -1) for value in values)


@dataclass(frozen=True, kw_only=True, eq=False)
class NameConstraint:
    """A constraint on one sequence of names; `automaton` is what a language model gets of it.

    Every name that it allows can be continued to an end that it allows: there are no dead ends. If nothing at all may
    be written, `is_possible` is false and a language model must not be asked.
    """

    wiring: Wiring
    start: State
    """If it has a newest value of a type in `ends`, the sequence may be empty."""
    ends: frozenset[ResourceType] | None
    """Types that the sequence may end with; None: any."""
    used: frozenset[str] = frozenset()
    """Names that stand in the plan already."""
    least: int = 1
    """Values that the first name takes at least; 2 for a name that joins branches."""
    longest: int = MAX_NAMES
    separator: str = SEPARATOR

    @property
    def is_possible(self) -> bool:
        """Whether there is any sequence."""
        following = self.following(())
        return following.may_end or bool(following.names)

    def following(self, written: tuple[str, ...]) -> Following:
        """See `Constraint.following`.

        Raises:
            ValueError: the names written break this constraint themselves.
        """
        return self.automaton.following(written)

    @cached_property
    def automaton(self) -> NameAutomaton:
        """The same constraint as data.

        A shortest path in it needs no name twice: between two calls of a tool that leave as many values there would be
        a circle of states, and of two calls that leave fewer values the first could be followed by what follows the
        second. It is small, since no tool of the suite makes more values than it takes: 3 to 7 states.
        """
        names = tuple(name for name in self.wiring.names if name not in self.used)
        # The first name has conditions of its own, so the start is a state that nothing leads back to.
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
            names=names, steps=tuple(steps), accepting=tuple(map(self._is_end, reached)), longest=self.longest,
            separator=self.separator,
        )  # fmt: skip
        return shared_automaton(automaton)

    def state_after(self, written: Sequence[str]) -> State:
        """What the names written come to.

        Raises:
            ValueError: a name comes twice, or cannot follow.
        """
        state = self.start
        for position, name in enumerate(written):
            known = name in self.wiring.names and name not in self.used and name not in written[:position]
            after = self.wiring.after(state, name, 1 if position else self.least) if known else None
            if after is None:
                raise ValueError(f"{name!r} cannot follow {', '.join(written[:position]) or 'nothing'}")
            state = after
        return state

    def _is_end(self, state: State) -> bool:
        found = state.type()
        return found is not None and (self.ends is None or found in self.ends)


MAX_TOKENS = 512
"""More than any sequence of names takes, even where a token is a single character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for one sequence of names."""

    messages: tuple[Message, ...]
    constraint: NameConstraint
    beams: int

    def call(self) -> GenerateCall:
        """What the language model is asked."""
        return GenerateCall(
            messages=self.messages, max_tokens=MAX_TOKENS, constraint=self.constraint.automaton, beams=self.beams
        )

    def found(self, answer: Answer) -> "Found":
        """What it answered.

        Raises:
            LanguageModelError: nothing of it keeps to the constraint.
        """
        beams = answer.beams if isinstance(answer, Completion) else ()
        kept = [(beam.names, beam.log_probability) for beam in beams if self._allows(beam.names)]
        if not kept:
            written = answer.text if isinstance(answer, Completion) else "scores"
            message = f"The language model wrote {written[:200]!r}, which the constraint does not allow."
            raise LanguageModelError(Failure(kind=FailureKind.WRONG_ANSWER, message=message))
        return Found(search=self, beams=tuple(kept))

    def _allows(self, names: Sequence[str]) -> bool:
        written = tuple(names)
        steps = (self.constraint.following(written[:length]).names for length in range(len(written)))
        return all(name in allowed for name, allowed in zip(written, steps, strict=True)) and (
            self.constraint.following(written).may_end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The sequences that a search found, the most probable first; at least one."""

    search: Search
    beams: tuple[tuple[tuple[str, ...], float], ...]
    """Names and log-probability of each."""

    @property
    def names(self) -> tuple[str, ...]:
        """The most probable sequence."""
        return self.beams[0][0]

    def to_json(self) -> dict[str, JsonValue]:
        """The search as the notes keep it."""
        return {
            "prompt": self.search.messages[-1].content,
            "beams": [{"names": list(names), "log_probability": round(log, 4)} for names, log in self.beams],
        }


def comma_text(names: Sequence[str]) -> str:
    """Names as a comma sequence."""
    return ", ".join(names)


def tree_text(*, branches: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    """Branches, one for each resource in order, and the names behind them: `(A,B,)(C,)D,`."""
    return "".join(f"({_listed(branch)})" for branch in branches) + _listed(names)


def _listed(names: Sequence[str]) -> str:
    return "".join(f"{name}," for name in names)
