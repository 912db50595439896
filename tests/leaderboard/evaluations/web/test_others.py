"""Where a planner lies among others on one task, without a database."""

from uuid import uuid4

from leaderboard.evaluations.web.others import BINS, MOST_SHOWN, Other, summarise


def make_other(score: float | None, name: str = "other", outcome: str = "scored") -> Other:
    return Other(evaluation=uuid4(), planner=name, owner="ada", outcome=outcome, score=score, plan="A, B")


def test_it_counts_who_is_better_and_who_has_no_score():
    found = summarise(others=[make_other(score) for score in (0.9, 0.5, 0.5, 0.2, None)], score=0.5)
    assert found is not None
    assert (found.count, found.better, found.equal, found.worse, found.unscored) == (5, 1, 2, 1, 1)


def test_the_best_come_first_and_a_scored_plan_before_a_fault_of_equal_score():
    others = [make_other(0.0, "fault", "planner_fault"), make_other(0.0, "zero"), *[make_other(0.5)] * 9]
    found = summarise(others=others, score=None)
    assert found is not None
    assert len(found.best) == MOST_SHOWN
    assert found.best[-1].planner == "zero"
    assert not found.this_is_scored


def test_every_score_is_in_one_bin_and_the_longest_bar_is_full():
    found = summarise(others=[make_other(score) for score in (-0.2, 0.0, 0.05, 0.35, 1.0)], score=0.3)
    assert found is not None
    assert len(found.bins) == BINS
    assert [bin.count for bin in found.bins] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 3]
    assert found.bins[-1].width == "120.0"
    assert [bin.label for bin in found.bins if bin.holds_this] == ["0.3 to 0.4"]


def test_yes_or_no_has_two_bins():
    found = summarise(others=[make_other(1.0), make_other(0.0)], score=1.0)
    assert found is not None
    assert [(bin.label, bin.count, bin.holds_this) for bin in found.bins] == [("1", 1, True), ("0", 1, False)]


def test_without_a_score_there_is_nothing_to_tell():
    assert summarise(others=[make_other(None)], score=0.5) is None
    assert summarise(others=[], score=0.5) is None
