"""Samples: the same name takes the same part, all parts together are everything, and each kind is in every part."""

import pytest

from tests.sampling import USUAL, VARIABLE, Sample, sample_of_this_run

ITEMS = list(range(22))
NAMES = [f"2026-01-{day:02}-abcdef01" for day in range(1, 29)]


def test_a_name_takes_the_same_part_again_and_names_take_all_parts():
    parts = [Sample(name=name).part(ITEMS, of=4, group="pages") for name in NAMES]
    assert parts == [Sample(name=name).part(ITEMS, of=4, group="pages") for name in NAMES]
    assert {len(part) for part in parts} == {5, 6}
    assert {item for part in parts for item in part} == set(ITEMS)


def test_groups_rotate_independently():
    firsts = {(Sample(name=name).part(ITEMS, of=4, group=group)[0]) for name in NAMES[:1] for group in "abcdefghij"}
    assert len(firsts) > 1


@pytest.mark.parametrize("count", [1, 3])
def test_a_part_of_few_items_is_never_empty(count):
    assert {len(Sample(name=name).part(ITEMS[:count], of=4, group="few")) for name in NAMES} == {1}


def kinds_of(sample: Sample, items: list[int] = ITEMS) -> list[int]:
    return sample.one_of_each(items, kind=lambda item: item % 7, name=str, group="kinds")


def test_each_kind_is_in_every_sample_and_each_item_in_some():
    samples = [kinds_of(Sample(name=name)) for name in NAMES]
    assert all(sorted(item % 7 for item in found) == list(range(7)) for found in samples)
    assert {item for found in samples for item in found} == set(ITEMS)


def test_what_is_taken_of_one_kind_does_not_depend_on_another():
    for name in NAMES:
        whole, less = (kinds_of(Sample(name=name), items) for items in (ITEMS, [item for item in ITEMS if item % 7]))
        assert [item for item in whole if item % 7] == less


def test_a_deep_sample_takes_everything():
    deep = Sample(name="any", deep=True)
    assert deep.part(ITEMS, of=4, group="pages") == ITEMS
    assert kinds_of(deep) == ITEMS


def test_what_is_chosen_by_name_is_not_left_out():
    assert Sample(name="any", named=True).part(ITEMS, of=4, group="pages") == ITEMS


def test_each_group_has_its_turn_in_one_sample_of_so_many():
    turns = [Sample(name=str(number)).has_turn(of=3, group="slow") for number in range(300)]
    assert 70 < sum(turns) < 130
    other = [Sample(name=str(number)).has_turn(of=3, group="other") for number in range(300)]
    assert turns != other
    assert all(Sample(name=str(number), deep=True).has_turn(of=3, group="slow") for number in range(20))
    assert all(Sample(name=str(number), named=True).has_turn(of=3, group="slow") for number in range(20))


def test_a_variable_names_the_sample_else_all_runs_take_the_same(monkeypatch):
    monkeypatch.setenv(VARIABLE, "as-last-time")
    assert sample_of_this_run() == "as-last-time"
    monkeypatch.delenv(VARIABLE)
    assert sample_of_this_run() == USUAL


@pytest.mark.sampled(of=5)
@pytest.mark.parametrize("number", range(20))
def test_a_marked_test_runs_with_its_part_of_the_cases(number, sample, request):
    cases = [item for item in request.session.items if getattr(item, "originalname", "") == request.node.originalname]
    if not sample.named:
        assert len(cases) == (20 if sample.deep else 4)
    assert number in sample.part(range(20), of=5, group=request.node.nodeid.partition("[")[0])
