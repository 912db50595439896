"""Agreement with a gold plan: F1 of tools, data flow and arguments, and the order of the tools."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.plans.model import Plan, Step
from evaluator.scoring.metrics.planning import agreement

TOOLS = ("detect", "select", "count")
FILES = ("a.png", "b.png")
F1S = ("node_f1", "edge_f1", "parameter_name_f1", "parameter_value_f1")


def plan(*calls):
    """Steps from (tool, inputs); the n-th makes `#n`."""
    return Plan(
        steps=tuple(Step(f"s{n}", tool, inputs, {"out": f"#{n}"}) for n, (tool, inputs) in enumerate(calls)),
        answers=(),
    )


@st.composite
def plans(draw):
    """Plans of up to six steps, with equal calls, forward references and unused results among them."""
    number = draw(st.integers(1, 6))
    values = st.sampled_from([*FILES, *(f"#{n}" for n in range(number))])
    inputs = st.dictionaries(st.sampled_from(("image", "text")), values, max_size=2)
    return plan(*[(draw(st.sampled_from(TOOLS)), draw(inputs)) for _ in range(number)])


FIND = ("detect", {"image": "a.png"})
PICK = ("select", {"boxes": "#0", "what": "Dog "})
GOLD = plan(FIND, PICK, ("count", {"boxes": "#1"}))


def test_names_and_values_of_arguments_are_counted_apart():
    other = plan(FIND, ("select", {"boxes": "#0", "what": "cat"}), ("count", {"boxes": "#0"}))
    found = agreement(plan=other, gold=GOLD, is_right=False)
    assert found.parameter_name_f1 == 1.0
    assert found.parameter_value_f1 == 0.5
    written = plan(FIND, ("select", {"boxes": "#0", "what": "dog"}), ("count", {"boxes": "#1"}))
    assert agreement(plan=written, gold=GOLD, is_right=False).parameter_value_f1 == 1.0


@pytest.mark.parametrize(
    ("calls", "order"),
    [
        ((FIND,), 1 / 3),
        ((FIND, PICK), 2 / 3),
        ((("count", {"boxes": "a.png"}), ("select", {"boxes": "#0"}), ("detect", {"image": "#1"})), 1 / 3),
        ((FIND, PICK, ("count", {"boxes": "#1"}), ("draw", {"boxes": "#1"})), 3 / 4),
        ((FIND, PICK, ("count", {"boxes": "#1"}), FIND), 3 / 4),
        ((), 0.0),
    ],
)
def test_order_is_the_common_subsequence_over_the_longer_plan(calls, order):
    assert agreement(plan=plan(*calls), gold=GOLD, is_right=False).order == pytest.approx(order)


def test_order_does_not_depend_on_how_independent_steps_are_listed():
    steps = [("detect", {"image": "a.png"}), ("segment", {"image": "b.png"}), ("draw", {"first": "#0", "second": "#1"})]
    swapped = [steps[1], steps[0], ("draw", {"first": "#1", "second": "#0"})]
    assert agreement(plan=plan(*swapped), gold=plan(*steps), is_right=True).order == 1.0


@pytest.mark.parametrize(
    ("calls", "is_right", "edge_f1"),
    [
        ((FIND,), True, 1.0),
        ((("caption", {"image": "a.png"}),), True, 1.0),
        ((("caption", {"image": "b.png"}),), False, 0.0),
        ((FIND, PICK), True, 0.0),
        ((), False, 0.0),
    ],
)
def test_a_plan_without_edges_agrees_with_a_gold_plan_without_edges_only_if_it_is_right(calls, is_right, edge_f1):
    assert agreement(plan=plan(*calls), gold=plan(FIND), is_right=is_right).edge_f1 == edge_f1


def test_a_call_made_twice_does_not_stand_for_two_calls_of_gold():
    gold = plan(FIND, ("detect", {"image": "b.png"}))
    once, twice = (agreement(plan=plan(*[FIND] * n), gold=gold, is_right=False).node_f1 for n in (1, 2))
    assert once == pytest.approx(2 / 3)
    assert twice == 0.5


def test_steps_that_take_results_of_equal_calls_are_equal_wherever_they_are_listed():
    made = [("count", {"boxes": "#2"}), FIND, FIND]
    gold = plan(*made, ("count", {"boxes": "b.png"}))
    longer = plan(*made, ("count", {"boxes": "#2"}))
    assert agreement(plan=longer, gold=gold, is_right=False).node_f1 < 1.0


@settings(max_examples=120)
@given(made=plans(), gold=plans(), data=st.data(), is_right=st.booleans(), verbatim=st.booleans())
def test_repeating_a_step_never_raises_an_f1(made, gold, data, is_right, verbatim):
    place = data.draw(st.integers(0, len(made.steps) - 1))
    after = data.draw(st.integers(place + 1, len(made.steps)))
    step = made.steps[place]
    again = step if verbatim else replace(step, id="again", outputs={"out": "#again"})
    longer = Plan(steps=(*made.steps[:after], again, *made.steps[after:]), answers=())
    before = agreement(plan=made, gold=gold, is_right=is_right)
    then = agreement(plan=longer, gold=gold, is_right=is_right)
    for name in (*F1S, "order"):
        assert getattr(then, name) <= getattr(before, name), name


@given(made=plans(), gold=plans())
def test_every_figure_is_a_share(made, gold):
    found = agreement(plan=made, gold=gold, is_right=False)
    assert all(0.0 <= getattr(found, name) <= 1.0 for name in (*F1S, "order"))
    itself = agreement(plan=made, gold=made, is_right=True)
    assert [getattr(itself, name) for name in F1S] == [1.0] * 4
