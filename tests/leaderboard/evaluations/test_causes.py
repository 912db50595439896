"""How many tasks have each cause, and faults grouped by cause, without a database."""

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.evaluations.causes import (
    NOT_FOUND,
    cause_bars,
    main_finding,
    place_of_cause,
    why,
    words_of_cause,
)
from leaderboard.evaluations.results.breakdowns import MOST_CAUSES, failures
from leaderboard.evaluations.results.task_rows import TaskRow
from leaderboard.evaluations.withheld import Withheld


def test_bars_come_by_frequency_with_their_share_of_the_tasks_that_ran():
    found = cause_bars(
        [
            ("scored", ("wrong_tool", "missing_step")),
            ("planner_fault", ("missing_step",)),
            ("scored", ()),
            ("infra_fault", (NOT_FOUND,)),
            ("not_run", ()),
            ("pending", ()),
        ]
    )
    assert (found.ran, found.below, found.at_gold, found.unknown) == (4, 2, 1, 1)
    assert [(bar.cause, bar.tasks, bar.share) for bar in found.bars] == [
        ("missing_step", 2, 0.5),
        ("wrong_tool", 1, 0.25),
    ]
    assert found.bars[0].label == "Missing step"
    assert found.bars[0].definition == Cause.MISSING_STEP.definition
    equal = cause_bars([("scored", ("invented_tool",)), ("scored", ("extra_step",))])
    assert [bar.cause for bar in equal.bars] == ["extra_step", "invented_tool"], "in the order of the taxonomy"
    nothing = cause_bars([("not_run", ()), ("cancelled", ())])
    assert (nothing.ran, nothing.bars) == (0, ())


def test_a_row_has_each_cause_once_in_the_order_of_the_taxonomy_and_none_that_is_unknown():
    causes = "wrong_tool", "missing_step", "wrong_tool", "new"
    assert why(stored=[{"cause": cause} for cause in causes], outcome="scored") == ("missing_step", "wrong_tool")


def test_a_row_whose_causes_are_not_known_says_so():
    for outcome, stored, expected in (
        ("scored", None, (NOT_FOUND,)),
        ("infra_fault", None, (NOT_FOUND,)),
        ("not_run", None, ()),
        ("scored", [], ()),
        ("planner_fault", [{"cause": "timeout"}], ("timeout",)),
    ):
        assert why(stored=stored, outcome=outcome) == expected


def test_every_value_of_the_filter_has_words_and_a_place():
    assert words_of_cause("wrong_tool") == "Wrong tool"
    assert words_of_cause(NOT_FOUND) == "Not found yet"
    assert words_of_cause("no-such-cause") == "No-such-cause"
    places = [place_of_cause(value) for value in (*Cause, NOT_FOUND, "no-such-cause")]
    assert places == sorted(set(places))


def fault(key: str, text: str, *, outcome: str = "planner_fault", reason: str = "invalid_plan") -> TaskRow:
    """A row as `task_rows.py` makes it."""
    main = main_finding(stored=None, outcome=outcome, reason=reason, reason_text=text, withheld=Withheld())
    return TaskRow(
        key=key, position=int(key), text="", structure="linear", metric="ViT",
        outcome=outcome, reason=reason, reason_text=text, main=main,
    )  # fmt: skip


def test_sentences_that_differ_only_in_quotes_and_numbers_are_one_cause():
    rows = [
        fault("0", 'plan step 2 ("Colorization"): input "image" is text'),
        fault("1", 'plan step 11 ("Image Denoising"): input "image" is text'),
        fault("2", "the plan has a cycle: s1 -> s2"),
        fault("3", 'plan step 1 ("Colorization"): input "text" is text'),
    ]
    (group,) = failures(rows)
    assert (group.outcome, group.reason, group.count, group.further) == ("planner_fault", "invalid_plan", 4, 0)
    assert [(cause.count, cause.examples) for cause in group.causes] == [(3, ("0", "1", "3")), (1, ("2",))]
    assert group.causes[0].sentence == rows[0].reason_text, "the sentence is a real one, not the pattern"


def test_one_sentence_under_two_reasons_is_two_causes():
    rows = [
        fault("0", "It is gone.", outcome="infra_fault", reason="worker_lost"),
        fault("1", "It is gone.", outcome="infra_fault", reason="endpoint_unavailable"),
        fault("2", "It is gone."),
    ]
    found = failures(rows)
    assert [(group.outcome, group.reason) for group in found] == [
        ("infra_fault", "endpoint_unavailable"),
        ("infra_fault", "worker_lost"),
        ("planner_fault", "invalid_plan"),
    ]
    assert len({group.causes[0].key for group in found}) == 3


def test_the_most_frequent_causes_are_shown_the_others_counted_and_what_is_no_fault_has_none():
    letters = "abcdefgh"
    rows = [fault(str(10 * place + more), letter) for place, letter in enumerate(letters) for more in range(place + 1)]
    (group,) = failures(rows)
    assert [cause.sentence for cause in group.causes] == list("hgfed")
    assert group.further == len(letters) - MOST_CAUSES
    assert fault("0", "There is none.", outcome="not_run", reason="no_expert").cause == ""
    assert failures([fault("0", "", outcome="scored", reason="")]) == []
