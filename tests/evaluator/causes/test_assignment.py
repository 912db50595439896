"""The cheapest assignment is that of trying all."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from evaluator.causes.assignment import cheapest_assignment

COSTS = st.integers(1, 5).flatmap(
    lambda rows: st.integers(rows, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(-20, 20), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(COSTS)
def test_no_other_assignment_is_cheaper(costs):
    found = cheapest_assignment(costs)
    assert len(set(found)) == len(costs)
    total = sum(line[column] for line, column in zip(costs, found, strict=True))
    tried = permutations(range(len(costs[0])), len(costs))
    assert total == min(sum(line[column] for line, column in zip(costs, one, strict=True)) for one in tried)


def test_nothing_is_assigned_to_nothing():
    assert cheapest_assignment([]) == ()
