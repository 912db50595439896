"""What is kept of a record."""

import pytest

from evaluator.core.records import ResultRecord, SampleResult
from evaluator.execution.engine.store import MemoryStore
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.evaluations.results.records import plan_summary
from leaderboard.evaluations.results.results import RecordsRefusedError, without_addresses
from leaderboard.queue.leasing.leases import Lease
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_submission, make_suite
from tests.leaderboard.suites import column, indicator

URL = "https://planner.example.org:8443/secret/path"


def test_a_record_does_not_tell_the_planner_s_address():
    for said, kept in (
        ("The name planner.example.org does not resolve.", "The name the endpoint's host does not resolve."),
        (f"Calling {URL} failed.", "Calling the endpoint failed."),
        ("PLANNER.EXAMPLE.ORG: refused.", "the endpoint's host: refused."),
        ("The endpoint answered HTTP 404.", "The endpoint answered HTTP 404."),
        ("Not notplanner.example.org.", "Not notplanner.example.org."),
    ):
        record = make_record("0", suite="s").model_copy(update={"reason_text": said})
        assert without_addresses(record=record, addresses=[URL]).reason_text == kept
        assert without_addresses(record=record, addresses=[]).reason_text == said


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


@pytest.mark.django_db
def test_a_secret_of_the_site_reaches_neither_the_row_nor_the_stored_record(settings):
    settings.WORKER_TOKEN, settings.HIDDEN_SEED = "the-operator-s-worker-token", "5eed" * 16
    settings.SECRETS_KEYS = ["the-key-that-secrets-are-sealed-with"]
    secrets = [settings.WORKER_TOKEN, settings.HIDDEN_SEED, *settings.SECRETS_KEYS]
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease, store = make_lease(evaluation), MemoryStore()
    plan = {"steps": [{"id": "s1", "tool": secrets[2], "inputs": {"text": " ".join(secrets)}}], "answers": ["s1.text"]}
    record = make_record("0", suite=evaluation.suite.slug).model_copy(
        update={"reason_text": f"refused: {secrets[0]}", "plan": plan, "request": secrets[1]}
    )
    deliver(attempt_id=lease.attempt.pk, records=[record], store=store)
    row = TaskResult.objects.get()
    kept = store.get(row.record_digest).data.decode() + row.reason_text + row.plan_summary
    assert "refused: ***" in row.reason_text
    assert not [secret for secret in secrets if secret in kept]


def test_the_summary_of_a_plan_is_cut_where_it_must_be():
    record = make_record("0", suite="s")
    assert plan_summary(record) == "Image Denoising"
    steps = [{"tool": f"Tool {number}"} for number in range(100)]
    assert len(plan_summary(record.model_copy(update={"plan": {"steps": steps}}))) == 400
    for odd in (None, "text", {}, {"steps": "x"}, {"steps": [1]}, {"steps": [{}]}):
        assert plan_summary(record.model_copy(update={"plan": odd})) in {"", "?"}


@pytest.mark.django_db
def test_a_judged_plan_without_its_indicators_is_refused_since_the_task_would_not_count():
    suite = make_suite()
    Suite.objects.filter(pk=suite.pk).update(metrics=[indicator(key) for key in ("IR", "NR", "HR", "CR", "SE")])
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING, suite=Suite.objects.get(pk=suite.pk)))
    for indicators, wrong in (
        ({}, "IR, NR, HR, CR, SE"),
        ({"SE": 2.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}, "SE"),
    ):
        record = make_record(lease.tasks[0], suite=suite.slug).model_copy(update={"indicators": indicators})
        assert refused(lease, record) == f"a judged plan needs {wrong} in [0, 1]"


@pytest.mark.django_db
def test_an_indicator_that_no_measurement_gives_is_refused():
    suite = make_suite()
    Suite.objects.filter(pk=suite.pk).update(metrics=[*suite.metrics, column("exact", indicator=True)])
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING, suite=Suite.objects.get(pk=suite.pk)))
    unmeasured = {"score": 0.5, "inputs": {}, "reference": None, "answer": None, "steps": []}
    for value, samples, said in (
        (40.0, [], "its exact is 40.0; it is from 0 to 1"),
        (1.0, [3.0, -1.0], "its exact is 3.0; it is from 0 to 1"),
        (1.0, [0.0, 1.0], "its exact is 1.0, which is not the mean of its samples"),
        (0.5, [0.0, 1.0], ""),
    ):
        made = [SampleResult(index=n, indicators={"exact": one}, **unmeasured) for n, one in enumerate(samples)]
        changes = {"samples": made, "indicators": {"exact": value}}
        assert refused(lease, make_record(lease.tasks[0], suite=suite.slug).model_copy(update=changes)) == said
    assert TaskResult.objects.get().sample_indicators == {"exact": [0.0, 1.0]}


def refused(lease: Lease, record: ResultRecord) -> str:
    """Why a record of the lease's first task is refused; empty: it is taken."""
    try:
        deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
    except RecordsRefusedError as error:
        return error.problems[lease.tasks[0]]
    return ""
