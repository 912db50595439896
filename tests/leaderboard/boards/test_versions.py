"""What a new version of a planner changed, without a database."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.core.suites.base import Column, IntervalMethod
from leaderboard.boards.versions import Change, Ends, TaskChanges, Verdict, change_between, count_changes, verdicts_of

SOLVED, UNSOLVED, UNDECIDED = Verdict
SHARE = Column(key="solved", label="Solved", description="", interval=IntervalMethod.WILSON)
GRADED = Column(key="overall", label="Overall", description="", interval=IntervalMethod.FIXED_TASKS)
SIZE = Column(key="steps", label="Steps", description="", higher_is_better=False, interval=IntervalMethod.FIXED_TASKS)
NAN = float("nan")
VERDICTS = st.lists(st.tuples(*[st.sampled_from([*Verdict, None])] * 2), max_size=30)


def ends(values: list[float], upper: list[float] | None = None, *, samples: int = 1) -> Ends:
    tables = (np.repeat(np.array(column)[:, None], samples, axis=1) for column in (values, upper or values))
    return Ends(*tables)


def between(before: Ends, after: Ends, *, column: Column = SHARE, gold: list[float] | None = None) -> Change:
    strata = ["clip"] * len(before.lower)
    gold_values = None if gold is None else np.array(gold)
    return change_between(before=before, after=after, column=column, strata=strata, gold=gold_values)


def test_fixed_and_broken_tasks_are_counted_and_named_by_their_positions():
    before = [UNSOLVED, SOLVED, SOLVED, UNSOLVED, None]
    after = [SOLVED, UNSOLVED, SOLVED, UNSOLVED, SOLVED]
    changes = count_changes(before=before, after=after)
    assert changes == TaskChanges(common=4, fixed=(0,), broken=(1,), undecided=())
    assert changes.in_words == "fixed 1 task, broke 1"


def test_a_task_with_an_open_verdict_is_neither_fixed_nor_broken():
    before = [UNDECIDED, UNSOLVED, UNDECIDED, UNSOLVED, UNSOLVED]
    after = [SOLVED, UNDECIDED, UNDECIDED, SOLVED, SOLVED]
    changes = count_changes(before=before, after=after)
    assert (changes.fixed, changes.broken, changes.undecided) == ((3, 4), (), (0, 1, 2))
    assert changes.in_words == "fixed 2 tasks, broke none; 3 undecided"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (TaskChanges(0, (), (), ()), "no task in common"),
        (TaskChanges(9, (), (), ()), "fixed and broke no task"),
        (TaskChanges(9, (), (1, 2), ()), "broke 2 tasks, fixed none"),
        (TaskChanges(9, (), (), (3,)), "fixed and broke no task; 1 undecided"),
    ],
)
def test_changes_in_words(changes, words):
    assert changes.in_words == words


@given(VERDICTS)
def test_exchanging_the_versions_exchanges_fixed_and_broken(pairs):
    before, after = [one for one, _ in pairs], [two for _, two in pairs]
    forwards, backwards = count_changes(before=before, after=after), count_changes(before=after, after=before)
    assert (forwards.fixed, forwards.broken) == (backwards.broken, backwards.fixed)
    assert forwards.undecided == backwards.undecided


@given(VERDICTS)
def test_settling_open_verdicts_adds_at_most_the_undecided_tasks(pairs):
    before, after = [one for one, _ in pairs], [two for _, two in pairs]
    changes = count_changes(before=before, after=after)
    for choice in (SOLVED, UNSOLVED):
        settled = count_changes(
            before=[choice if one is UNDECIDED else one for one in before],
            after=[SOLVED if two is UNDECIDED else two for two in after],
        )
        assert set(changes.fixed) <= set(settled.fixed) <= {*changes.fixed, *changes.undecided}
        assert set(changes.broken) <= set(settled.broken) <= {*changes.broken, *changes.undecided}


def test_a_score_from_the_gold_plans_share_on_counts_as_solved():
    values = ends([0.45, 0.44, 0.0, NAN], samples=3)
    verdicts, rule = verdicts_of(values, column=GRADED, gold=np.array([0.5, 0.5, 0.0, 0.5]))
    assert verdicts == [SOLVED, UNSOLVED, UNSOLVED, None]
    assert "90 %" in rule


def test_a_task_is_undecided_if_its_ends_differ_in_whether_it_is_solved():
    verdicts, _ = verdicts_of(ends([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]), column=SHARE, gold=None)
    assert verdicts == [UNDECIDED, SOLVED, UNSOLVED]


def test_the_difference_is_paired_and_over_common_tasks_only():
    before, after = ends([0.2] * 12 + [NAN], samples=5), ends([0.5] * 12 + [1.0], samples=5)
    change = between(before, after, column=GRADED)
    assert change.difference.mean == pytest.approx(0.3)
    assert change.difference.count == 12
    assert change.tasks.common == 12


def test_of_sizes_a_smaller_value_is_better():
    rng = np.random.default_rng(1)
    table = rng.uniform(2, 3, (20, 8))
    change = between(Ends(table, table), Ends(table - 1, table - 1), column=SIZE)
    assert change.is_better is True
    assert between(Ends(table - 1, table - 1), Ends(table, table), column=SIZE).is_better is False


def test_the_interval_of_a_difference_covers_every_way_to_settle_open_verdicts():
    before = ends([0.0] * 20)
    decided = between(before, ends([1.0] * 10 + [0.0] * 10))
    open_ones = between(before, ends([1.0] * 10 + [0.0] * 10, [1.0] * 20))
    assert open_ones.difference.mean == decided.difference.mean == 0.5
    assert open_ones.difference.low == decided.difference.low
    assert open_ones.difference.high == 1.0
    assert open_ones.tasks.undecided == tuple(range(10, 20))


def test_without_a_common_task_there_is_no_difference():
    change = between(ends([NAN, 1.0]), ends([1.0, NAN]))
    assert change.difference is None
    assert change.is_better is None
    assert change.tasks.in_words == "no task in common"


def test_too_few_tasks_have_a_difference_without_a_direction():
    change = between(ends([0.0] * 4), ends([1.0] * 4))
    assert change.difference.mean == 1.0
    assert change.difference.low < 0
    assert change.is_better is None
