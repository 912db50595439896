"""What readers tolerated, in labels and counts."""

import json

from hypothesis import given
from hypothesis import strategies as st

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.replies.read import read_plan
from evaluator.scoring.readability import MOST_LABELS, Reading, is_readable, keys_of, label_of, split_notes
from tests.evaluator.replies.test_dialects import CONTEXT, PLAN

NOTES = (
    "envelope: reasoning of 512 characters",
    "envelope: fence",
    "envelope: 21 characters of prose",
    "envelope: 4 characters of prose",
    "dialect: hermes",
    "$.steps[0]: ignored 'thought'",
)


def record(outcome: Outcome, *, reason: Reason | None = None, tolerated: tuple[str, ...] = ()) -> ResultRecord:
    return ResultRecord(
        suite="openagi", task="1", request="?", metric="ViT", outcome=outcome, reason=reason, tolerated=list(tolerated)
    )


def reading(*records: ResultRecord) -> Reading:
    return Reading.of((one, keys_of(one.tolerated)) for one in records)


def test_notes_with_numbers_have_one_label_and_free_texts_none():
    labels, texts = split_notes(NOTES)
    assert [label.name for label in labels] == ["Reasoning", "Code fence", "Prose", "Dialect: hermes"]
    assert texts == ("$.steps[0]: ignored 'thought'",)
    assert all(label.sentence.endswith(".") for label in labels)


@given(st.lists(st.text() | st.text().map("envelope: {}".format) | st.text().map("dialect: {}".format)))
def test_any_notes_have_few_short_labels(notes: list[str]):
    keys = keys_of(notes)
    assert len(set(keys)) == len(keys) <= MOST_LABELS
    assert all(len(key) <= 50 and label_of(key).name for key in keys)


def test_only_replies_that_came_are_readable_or_not():
    assert is_readable(outcome="scored", reason=None) is True
    assert is_readable(outcome="planner_fault", reason="unparsable_plan") is False
    assert is_readable(outcome="planner_fault", reason="invalid_plan") is True
    assert is_readable(outcome="planner_fault", reason="planner_timeout") is None
    assert is_readable(outcome="infra_fault", reason="endpoint_unavailable") is None
    assert is_readable(outcome="not_run", reason="no_expert") is None


def test_an_evaluation_counts_its_replies_and_what_was_tolerated_in_them():
    found = reading(
        record(Outcome.SCORED, tolerated=NOTES),
        record(Outcome.SCORED, tolerated=("envelope: fence",)),
        record(Outcome.PLANNER_FAULT, reason=Reason.UNPARSABLE_PLAN),
        record(Outcome.PLANNER_FAULT, reason=Reason.PLANNER_TIMEOUT),
        record(Outcome.NOT_RUN, reason=Reason.NO_EXPERT),
    )
    assert (found.replies, found.unreadable) == (3, 1)
    assert next(iter(found.tolerated.items())) == ("envelope: fence", 2)
    assert found.share is not None
    assert (found.share["mean"], found.share["tasks"]) == (2 / 3, 3)
    assert found.sentences == (
        "2 of 3 replies could be read.",
        "Tolerated: code fence 2, dialect: hermes 1, prose 1, reasoning 1.",
    )
    assert Reading.from_json(found.to_json()) == found


def test_plans_in_a_documented_form_need_no_sentence_and_no_replies_have_no_share():
    assert reading(record(Outcome.SCORED)).sentences == ()
    assert reading(record(Outcome.NOT_RUN)).share is None


def test_summaries_of_older_releases_have_no_reading():
    for value in (None, {}, {"replies": 1}, {"replies": 1, "unreadable": 2, "tolerated": {}}, {"replies": "1"}):
        assert Reading.from_json(value) is None


def test_every_envelope_that_the_reader_removes_has_a_label():
    wrapped = f"<think>Hm.</think>Here is the plan:\n```json\n{json.dumps(PLAN)}\n```<|im_end|>"
    parsed = read_plan(value=wrapped, context=CONTEXT)
    names = {label.name for label in split_notes(parsed.tolerated)[0]}
    assert names == {"Reasoning", "Prose", "Code fence", "End mark"}
