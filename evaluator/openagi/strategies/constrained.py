"""Constrained generation of one sequence of names: OpenAGI, section 5, conditions 1 and 2."""

from typing import ClassVar

from evaluator.core.language_model import Ability
from evaluator.core.planner import MAX_ALTERNATIVES, PlannerRequest
from evaluator.core.plans.model import PlanContext, plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.strategies.constraint import NameConstraint, State, Wiring, resources
from evaluator.openagi.strategies.plan_building import NO_PLAN, comma_text
from evaluator.openagi.strategies.prompts import sequence_prompt
from evaluator.openagi.strategies.searching import Search
from evaluator.planners.strategies.prompting import context_of


class Constrained:
    """One sequence of names, each of which takes what the name before it made.

    A request of several inputs gets a sequence too, which works on one of them and may end in a model of several
    inputs; what needs the other inputs prepared as well is beyond it (see `Nonlinear`).
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
        """See `Strategy.converse`."""
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
    """What a sequence for the whole request may consist of."""
    start = State(frontier=resources(context), newest=None)
    return NameConstraint(wiring=wiring, start=start, ends=expected_ends(context))


def expected_ends(context: PlanContext) -> frozenset[ResourceType] | None:
    """The types that an answer may have; None: any."""
    return None if context.expects is None else frozenset({context.expects})


def impossible() -> Draft:
    """The draft where the tools that are offered lead to no answer, whatever the language model says."""
    problem = "no sequence of the offered tools leads from what the request gives to the type that it expects"
    return Draft(plan=plan_to_json(NO_PLAN), notes={"problem": problem})
