"""Constrained generation (OpenAGI, section 5): one sequence of names, or a tree of them.

A tree is condition 3, nonlinear planning:

1. One search per input, in parallel. Beams for different inputs do not compete; they are the parallel branches of the
   plan.
2. The branches are appended to the request, and the next search begins with a model of several inputs that joins them.
3. The result is appended too, and the search repeats until the model adds no name.

The plan is written `(A,B,)(C,)D,`.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call
from evaluator.core.planner import MAX_ALTERNATIVES, PlannerRequest
from evaluator.core.plans.model import Plan, PlanContext, plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.strategies.constraint import (
    MAX_NAMES,
    Found,
    Frontier,
    NameConstraint,
    Search,
    Slot,
    State,
    Wiring,
    comma_text,
    resources,
    tree_text,
)
from evaluator.openagi.strategies.prompts import branch_prompt, sequence_prompt
from evaluator.planners.strategies.prompting import context_of


class Constrained:
    """One sequence of names, each of which takes the result of the previous one.

    For a request of several inputs, the sequence processes one of them, and may end in a model of several inputs. It
    cannot prepare the other inputs (see `Nonlinear`).
    """

    name: ClassVar[str] = "openagi/constrained"
    description: ClassVar[str] = (
        "OpenAGI, constrained generation: a sequence of model names, each of which takes what the one before it made."
    )
    catalogue: ClassVar[str] = OPENAGI.name
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.CONSTRAIN})

    def __init__(self, *, beams: int = 4) -> None:
        self._beams = beams

    def converse(self, request: PlannerRequest) -> Conversation:
        context = context_of(request)
        return (yield from linear(request=request, context=context, wiring=Wiring(context), beams=self._beams))


def linear(*, request: PlannerRequest, context: PlanContext, wiring: Wiring, beams: int) -> Conversation:
    """The conversation for one sequence; the further beams are the alternatives."""
    constraint = sequence_constraint(context=context, wiring=wiring)
    if not constraint.is_possible:
        return impossible()
    search = Search(messages=sequence_prompt(request=request.task.request), constraint=constraint, beams=beams)
    (answer,) = yield [search.call()]
    found = search.found(answer)
    plans = [comma_text(names) for names, _ in found.beams]
    return Draft(
        plan=plans[0], alternatives=tuple(plans[1 : 1 + MAX_ALTERNATIVES]), notes={"searches": [found.to_json()]}
    )


def sequence_constraint(*, context: PlanContext, wiring: Wiring) -> NameConstraint:
    """The constraint on a sequence for the whole request."""
    start = State(frontier=resources(context), newest=None)
    return NameConstraint(wiring=wiring, start=start, ends=expected_ends(context))


def expected_ends(context: PlanContext) -> frozenset[ResourceType] | None:
    """The allowed types of an answer; None for any."""
    return None if context.expects is None else frozenset({context.expects})


def impossible() -> Draft:
    """The draft if no sequence of the offered tools leads to an answer."""
    problem = "no sequence of the offered tools leads from what the request gives to the type that it expects"
    return Draft(plan=plan_to_json(Plan(steps=(), answers=())), notes={"problem": problem})


Ends = tuple[frozenset[ResourceType], ...]
"""For each resource of a request, the types that its branch may end with."""
Branches = tuple[tuple[str, ...], ...]
"""The names of each resource's branch, in the order of the resources."""


class Nonlinear:
    """Branches for the inputs of a request, joined by a model of several inputs; recursively.

    Equivalent to `openagi/constrained` for a single input, or if no offered tool joins the inputs.
    """

    name: ClassVar[str] = "openagi/nonlinear"
    description: ClassVar[str] = (
        "OpenAGI, nonlinear planning: constrained sequences in parallel, one per input, joined by a model of several "
        "inputs."
    )
    catalogue: ClassVar[str] = OPENAGI.name
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.CONSTRAIN})

    def __init__(self, *, beams: int = 4) -> None:
        self._beams = beams

    def converse(self, request: PlannerRequest) -> Conversation:
        context = context_of(request)
        wiring = Wiring(context)
        ends = joinable_ends(context=context, wiring=wiring)
        if ends is None:
            return (yield from linear(request=request, context=context, wiring=wiring, beams=self._beams))
        tree = Tree(text=request.task.request, context=context, wiring=wiring, ends=ends, beams=self._beams)
        return (yield from tree.grow())


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The searches for one plan."""

    text: str
    """The request."""
    context: PlanContext
    wiring: Wiring
    ends: Ends
    beams: int

    def grow(self) -> Conversation:
        """The conversation that ends with the plan."""
        branches, done = yield from self._branches()
        search = self.joining(branches)
        if search is None:
            return impossible()
        names: tuple[str, ...] = ()
        while search is not None:
            (result,) = yield from _answered([search])
            done.append(result)
            names += result.names
            search = self.continuing(branches=branches, names=names, last=result) if result.names else None
        notes: dict[str, JsonValue] = {"searches": [result.to_json() for result in done]}
        return Draft(plan=tree_text(branches=branches, names=names), notes=notes)

    def branch(self, index: int) -> Search:
        """The search for the branch of one resource, which may be empty."""
        constraint = NameConstraint(
            wiring=self.wiring,
            start=State(frontier=resources(self.context)[index : index + 1], newest=(0,)),
            ends=self.ends[index],
        )
        messages = branch_prompt(request=self.text, resource=list(self.context.resources)[index])
        return Search(messages=messages, constraint=constraint, beams=self.beams)

    def joining(self, branches: Branches) -> Search | None:
        """The search that begins with a model of several inputs; None if the branches' results cannot be joined.

        Names of the branches are not repeated, unless there is no other sequence.
        """
        start = State(frontier=self._left_by(branches), newest=None)
        ends = expected_ends(self.context)
        for used in (_names_in(branches), frozenset[str]()):
            constraint = NameConstraint(wiring=self.wiring, start=start, ends=ends, used=used, least=2)
            if constraint.is_possible:
                return self._sequence(constraint=constraint, so_far=tree_text(branches=branches))
        return None

    def continuing(self, *, branches: Branches, names: tuple[str, ...], last: Found) -> Search | None:
        """The search for further names; None if none is allowed."""
        constraint = NameConstraint(
            wiring=self.wiring,
            start=last.search.constraint.state_after(last.names),
            ends=expected_ends(self.context),
            used=_names_in(branches) | set(names),
            longest=MAX_NAMES - len(names),
        )
        if not constraint.following(()).names:
            return None
        return self._sequence(constraint=constraint, so_far=tree_text(branches=branches, names=names))

    def _branches(self) -> Generator[Sequence[Call], Sequence[Answer], tuple[Branches, list[Found]]]:
        searches = [self.branch(index) for index in range(len(self.context.resources))]
        # The branch of an input that no tool can process is empty.
        are_open = [bool(search.constraint.following(()).names) for search in searches]
        results = yield from _answered(list(compress(searches, are_open)))
        branches = iter(results)
        return tuple(next(branches).names if is_open else () for is_open in are_open), results

    def _left_by(self, branches: Branches) -> Frontier:
        frontier: list[Slot] = []
        for index, names in enumerate(branches):
            left = self.branch(index).constraint.state_after(names).frontier
            age = max((slot.age for slot in frontier), default=-1) + 1
            frontier += [Slot(slot.type, slot.age + age if slot.age >= 0 else -1) for slot in left]
        return tuple(frontier)

    def _sequence(self, *, constraint: NameConstraint, so_far: str) -> Search:
        messages = sequence_prompt(request=self.text, so_far=so_far)
        return Search(messages=messages, constraint=constraint, beams=self.beams)


def joinable_ends(*, context: PlanContext, wiring: Wiring) -> Ends | None:
    """The types that branches may end with such that a model of several inputs can join every combination.

    Branches are searched in parallel, so their ends are independent. A branch may keep its resource's type; other types
    are added as long as every combination can still be joined.

    Returns:
        None for a single resource, or if no offered tool joins the resources.
    """
    kinds = tuple(context.resources.values())
    if len(kinds) < 2 or not _can_join(kinds=kinds, context=context, wiring=wiring):
        return None
    ends = [{kind} for kind in kinds]
    made = dict.fromkeys(kind for tool in context.catalogue.tools.values() for kind in tool.output_types)
    for index, kind in product(range(len(kinds)), made):
        combinations = product(*ends[:index], {kind}, *ends[index + 1 :])
        if all(_can_join(kinds=kinds, context=context, wiring=wiring) for kinds in combinations):
            ends[index].add(kind)
    return tuple(frozenset(types) for types in ends)


def _can_join(*, kinds: Sequence[ResourceType], context: PlanContext, wiring: Wiring) -> bool:
    start = State(frontier=tuple(Slot(kind, -1) for kind in kinds), newest=None)
    return NameConstraint(wiring=wiring, start=start, ends=expected_ends(context), least=2).is_possible


def _answered(searches: Sequence[Search]) -> Generator[Sequence[Call], Sequence[Answer], list[Found]]:
    if not searches:
        return []
    answers = yield [search.call() for search in searches]
    return [search.found(answer) for search, answer in zip(searches, answers, strict=True)]


def _names_in(branches: Branches) -> frozenset[str]:
    return frozenset(name for names in branches for name in names)
