"""A name automaton allows exactly the beginnings of its paths to an accepting state."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.language_model import Following
from evaluator.planners.language_models.automaton import NameAutomaton

NAMES = ("A", "B", "C", "D")


def automaton(steps, accepting, *, names=NAMES, longest=10):
    return NameAutomaton(names=names, steps=steps, accepting=accepting, longest=longest, separator=", ")


def chain(**changes):
    """A, then B, then the end; C leads nowhere, and a second A nowhere new."""
    return automaton(((1, None, 3, None), (1, 2, None, None), (None,) * 4, (None,) * 4),
                     (False, False, True, False), **changes)  # fmt: skip


@st.composite
def automata(draw):
    """Each name leads to one state wherever it is allowed, so no shortest path needs a name twice."""
    targets = draw(st.tuples(*[st.integers(1, 3)] * len(NAMES)))
    row = st.tuples(*[st.sampled_from((target, None)) for target in targets])
    return automaton(
        draw(st.tuples(*[row] * 4)), draw(st.tuples(*[st.booleans()] * 4)), longest=draw(st.integers(1, 5))
    )


def accepts(one, names):
    state = 0
    for name in names:
        state = one.steps[state][NAMES.index(name)]
        if state is None:
            return False
    return one.accepting[state]


@settings(max_examples=200, deadline=None)
@given(one=automata())
def test_exactly_the_beginnings_of_accepted_completions_are_allowed(one):
    every = [names for length in range(one.longest + 1) for names in permutations(NAMES, length)]
    accepted = {names for names in every if accepts(one, names)}
    beginnings = {names[:length] for names in accepted for length in range(len(names) + 1)}
    for written in beginnings or {()}:
        following = one.following(written)
        assert following.names == tuple(name for name in NAMES if (*written, name) in beginnings)
        assert following.may_end == (written in accepted)


def test_a_name_that_leads_to_no_end_is_not_offered():
    assert chain().following(()) == Following(names=("A",), may_end=False)


@pytest.mark.parametrize("written", [("B",), ("A", "A"), ("A", "C"), ("A", "E")])
def test_names_that_cannot_be_written_are_refused_by_name(written):
    with pytest.raises(ValueError, match=f"{written[-1]!r} cannot follow {written[0] if written[1:] else 'nothing'}"):
        chain().following(written)
