"""What went wrong, grouped by cause, without a database."""

from leaderboard.results.failures import MOST_CAUSES, cause_key, failures, pattern
from leaderboard.results.task_filters import TaskRow


def fault(key: str, text: str, *, outcome: str = "planner_fault", reason: str = "invalid_plan") -> TaskRow:
    """A row as `task_rows.py` makes it."""
    return TaskRow(
        key=key, position=int(key), text="", structure="linear", metric="ViT",
        outcome=outcome, reason=reason, reason_text=text, cause=cause_key(outcome=outcome, reason=reason, text=text),
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


def test_the_most_frequent_causes_are_shown_and_the_others_counted():
    letters = "abcdefgh"
    rows = [fault(str(10 * place + more), letter) for place, letter in enumerate(letters) for more in range(place + 1)]
    (group,) = failures(rows)
    assert [cause.sentence for cause in group.causes] == list("hgfed")
    assert group.further == len(letters) - MOST_CAUSES


def test_what_is_no_fault_has_no_cause():
    assert cause_key(outcome="not_run", reason="no_expert", text="There is none.") == ""
    assert failures([fault("0", "", outcome="scored", reason="")]) == []


def test_a_pattern_is_bounded():
    assert len(pattern("word " * 10_000)) <= 300
