"""Batches hold calls of similar length, and one bad item is found without costing the others."""

import gc
import weakref

import pytest

from evaluator.planners.language_models.local.model import Size, batches, isolated


def sizes(*pairs, rows=1):
    return [Size(prompt=prompt, new=new, rows=rows) for prompt, new in pairs]


def test_calls_of_similar_length_are_together_the_longest_first():
    assert batches(sizes((3, 1), (9, 1), (4, 1), (8, 1)), rows=2, context=None) == [[1, 3], [2, 0]]


def test_beams_count_as_rows():
    assert [len(batch) for batch in batches(sizes(*[(5, 1)] * 5, rows=4), rows=8, context=None)] == [2, 2, 1]
    assert batches(sizes((5, 1), rows=30), rows=8, context=None) == [[0]]


def test_no_batch_goes_beyond_the_context():
    """A long prompt with a short addition and a short prompt with a long one do not fit together."""
    assert batches(sizes((90, 10), (10, 90)), rows=8, context=100) == [[0], [1]]
    assert batches(sizes((90, 10), (10, 10)), rows=8, context=100) == [[0, 1]]
    assert batches(sizes((90, 50)), rows=8, context=100) == [[0]]


@pytest.mark.parametrize("bad", [set(), {0}, {6}, {2, 3}, set(range(7))])
def test_items_that_fail_alone_are_found(bad):
    runs = []

    def run(items):
        runs.append(list(items))
        if bad & set(items):
            raise ValueError("bad")
        return [item * 10 for item in items]

    recovered = []
    result = isolated(range(7), run=run, failed=lambda item, error: f"{item}: {error}", recover=recovered.append)
    assert result == [f"{item}: bad" if item in bad else item * 10 for item in range(7)]
    assert len(recovered) == sum(bool(bad & set(items)) for items in runs)


def test_what_a_failed_batch_held_is_let_go_before_the_next():
    alive, left = [], []

    def run(items):
        held = set()
        alive.append(weakref.ref(held))
        if len(items) > 1:
            raise MemoryError
        return list(items)

    def recover(problem):
        gc.collect()
        left.append(sum(ref() is not None for ref in alive))

    isolated([1, 2], run=run, failed=lambda item, error: None, recover=recover)
    assert left == [0]
