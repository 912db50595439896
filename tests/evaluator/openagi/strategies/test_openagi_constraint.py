"""What a constraint allows is exactly what can be wired to a plan of the right type, and there are no dead ends."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.openagi.strategies.constrained import Constrained, Nonlinear, sequence_constraint
from evaluator.openagi.strategies.constraint import NameConstraint, State, Wiring, comma_text, resources
from evaluator.planners.language_models.automaton import NameAutomaton
from evaluator.planners.strategies.prompting import context_of
from evaluator.replies.comma import parse_comma
from tests.evaluator.openagi.strategies.openagi_tasks import LINEAR, context, request, task_like

IMAGE, TEXT, AUDIO = ResourceType.IMAGE, ResourceType.TEXT, ResourceType.AUDIO
KINDS = (IMAGE, TEXT, AUDIO)


def test_requests_with_inputs_and_answers_of_the_same_types_share_one_automaton():
    linear = [task for task in LINEAR if list(context(task).resources.values()) == [IMAGE]]
    known = [context_of(request(task.key)) for task in linear[:2]]
    one, other = (sequence_constraint(context=one, wiring=Wiring(one)).automaton for one in known)
    assert one is other


@pytest.mark.parametrize("strategy", [Constrained(), Nonlinear()], ids=lambda strategy: strategy.name)
def test_all_that_is_asked_is_data_that_a_model_server_can_be_sent(strategy):
    task = task_like(text="Given noisy image and English query, how to answer the question in English")
    calls = next(strategy.converse(request(task.key)))
    assert [type(call.constraint) for call in calls] == [NameAutomaton] * len(calls)
    assert calls


SIGNATURES = st.tuples(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=1)
)


@settings(max_examples=150, deadline=None)
@given(
    signatures=st.lists(SIGNATURES, min_size=1, max_size=5),
    given_kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=2),
    expects=st.sampled_from((*KINDS, None)),
    longest=st.integers(1, 4),
    least=st.integers(1, 2),
)
def test_exactly_the_beginnings_of_valid_sequences_can_be_written(signatures, given_kinds, expects, longest, least):
    """Against all permutations of all tools, of small catalogues with any signatures."""
    known = made_context(signatures, given_kinds, expects)
    constraint = NameConstraint(
        wiring=Wiring(known),
        start=State(frontier=resources(known), newest=None),
        ends=None if expects is None else frozenset({expects}),
        longest=longest,
        least=least,
    )
    names = tuple(known.catalogue.tools)
    every = [chosen for length in range(1, longest + 1) for chosen in permutations(names, length)]
    valid = {chosen for chosen in every if is_valid(chosen, known=known, least=least)}
    beginnings = {chosen[:length] for chosen in valid for length in range(len(chosen) + 1)}
    for written in beginnings or {()}:
        following = constraint.following(written)
        assert {(*written, name) for name in following.names} == {
            longer for longer in beginnings if len(longer) == len(written) + 1 and longer[:-1] == written
        }
        assert following.may_end == (written in valid)


def made_context(signatures, given_kinds, expects):
    tools = {
        f"T{number}": Tool(
            name=f"T{number}",
            domain="",
            description="",
            inputs={f"in{index}": kind for index, kind in enumerate(takes)},
            outputs={f"out{index}": kind for index, kind in enumerate(makes)},
        )
        for number, (takes, makes) in enumerate(signatures)
    }
    given_resources = {f"r{index}": kind for index, kind in enumerate(given_kinds)}
    return PlanContext(catalogue=Catalogue(name="made", tools=tools), resources=given_resources, expects=expects)


def is_valid(names, *, known, least):
    """By the parser and the checks of plans, and that each step takes something of the one before it."""
    plan = parse_comma(text=comma_text(names), context=known).plan
    chained = all(
        set(one.outputs.values()) & set(two.inputs.values())
        for one, two in zip(plan.steps, plan.steps[1:], strict=False)
    )
    return chained and len(plan.steps[0].inputs) >= least and not check_plan(plan=plan, context=known)
