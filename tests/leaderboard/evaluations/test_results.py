"""What is kept of a record."""

import pytest

from evaluator.engine.store import MemoryStore
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.evaluations.results import deliver, plan_summary, without_address
from tests.leaderboard.factories import make_lease, make_record, make_submission

URL = "https://planner.example.org:8443/secret/path"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("The name planner.example.org does not resolve.", "The name the endpoint's host does not resolve."),
        (f"Calling {URL} failed.", "Calling the endpoint failed."),
        ("PLANNER.EXAMPLE.ORG: refused.", "the endpoint's host: refused."),
        ("The endpoint answered HTTP 404.", "The endpoint answered HTTP 404."),
        ("Not notplanner.example.org.", "Not notplanner.example.org."),
    ],
)
def test_a_record_does_not_tell_the_planner_s_address(said, kept):
    record = make_record("0", suite="s").model_copy(update={"reason_text": said})
    assert without_address(record=record, url=URL).reason_text == kept
    assert without_address(record=record, url="").reason_text == said


@pytest.mark.django_db
def test_the_address_reaches_neither_the_row_nor_the_stored_record():
    submission = make_submission(kind="endpoint", bundled_name="", endpoint_url=URL)
    evaluation = submission.evaluations.get()
    evaluation.state = EvaluationState.LAUNCHING
    evaluation.save()
    lease, store = make_lease(evaluation), MemoryStore()
    text = f"Calling {URL} failed: planner.example.org\x00 is away."
    record = make_record("0", suite=evaluation.suite.slug).model_copy(update={"reason_text": text})
    deliver(attempt_id=lease.attempt.pk, records=[record], store=store)
    row = TaskResult.objects.get()
    assert "planner.example" not in row.reason_text
    assert b"planner.example" not in store.get(row.record_digest).data


def test_the_summary_of_a_plan_is_cut_where_it_must_be():
    record = make_record("0", suite="s")
    assert plan_summary(record) == "Image Denoising"
    steps = [{"tool": f"Tool {number}"} for number in range(100)]
    assert len(plan_summary(record.model_copy(update={"plan": {"steps": steps}}))) == 400
    for odd in (None, "text", {}, {"steps": "x"}, {"steps": [1]}, {"steps": [{}]}):
        assert plan_summary(record.model_copy(update={"plan": odd})) in {"", "?"}
