"""The call that ends an attempt and leases the next shard, whatever becomes of its answer."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluator.core.records import ArtefactReference, SampleResult
from evaluator.core.values import encode
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, TaskResult
from leaderboard.operations.models import ToolUsage
from leaderboard.queue.models import LogChunk
from leaderboard.queue.reconcile import reconcile
from tests.leaderboard.factories import expire, make_evaluation, make_lease, make_record, make_suite
from tests.leaderboard.platform.api.helpers import ApiClient, lease_request, session_of, worker_client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shards_of_two(settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    settings.TASKS_PER_SHARD = 2


@pytest.fixture
def evaluation() -> Evaluation:
    return make_evaluation(suite=make_suite(runnable=4), state=EvaluationState.LAUNCHING)


def lease(wanted: dict[str, Any]) -> dict[str, Any]:
    return worker_client().post("worker/lease/", wanted).json()


def last(told: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of the call that ends this attempt."""
    lines = [{"at": 1.0 + number, "level": "INFO", "text": f"line {number}"} for number in range(3)]
    return {
        "results": [make_record(task, suite=told["suite"]).model_dump(mode="json") for task in told["tasks"]],
        "log": {"first": 0, "lines": lines},
        "provenance": {"device": "cpu"},
        "next": lease_request(),
        **changes,
    }


def finish(told: dict[str, Any], body: dict[str, Any], *, token: str | None = None):
    worker_token = session_of(django_settings.WORKER_TOKEN) if token is None else token
    path = f"worker/attempts/{told['attempt']}/finish/"
    return ApiClient(told["token"]).post(path, body, X_Worker_Token=worker_token)


def everything() -> list[list[Any]]:
    """Every row that a call could change."""
    models = (Attempt, Shard, Evaluation, TaskResult, LogChunk, ToolUsage)
    return [list(model.objects.order_by("pk").values()) for model in models]


def statements(captured: CaptureQueriesContext) -> list[str]:
    """What was asked of the database, without the marks of transactions."""
    return [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE SAVEPOINT"))]


def test_a_shard_s_end_with_the_next_lease_takes_few_statements():
    make_evaluation(suite=make_suite(runnable=6), state=EvaluationState.LAUNCHING)
    token, following, counts = session_of(django_settings.WORKER_TOKEN), lease(lease_request()), []
    for _ in range(2):
        body = last(following)
        with CaptureQueriesContext(connection) as captured:
            following = finish(following, body, token=token).json()["next"]
        counts.append(len(statements(captured)))
    # The first one of a worker also says what it runs on.
    assert counts == [10, 9], statements(captured)
    assert TaskResult.objects.filter(outcome="scored").count() == 4


def test_results_log_provenance_end_and_next_lease_are_one_call(evaluation):
    told = lease(lease_request())
    body = last(told)
    answer = finish(told, body)
    assert answer.status_code == 200, answer.content
    following = answer.json()["next"]
    assert (told["tasks"], following["tasks"]) == (["0", "1"], ["2", "3"])
    assert following["token"] == body["next"]["token"]
    assert Attempt.objects.get(pk=told["attempt"]).state == AttemptState.COMPLETED
    assert TaskResult.objects.filter(outcome="scored").count() == 2
    assert [line[2] for chunk in LogChunk.objects.all() for line in chunk.lines] == ["line 0", "line 1", "line 2"]
    evaluation.refresh_from_db()
    assert evaluation.provenance["workers"] == [{"device": "cpu"}]
    assert finish(following, last(following)).json() == {"next": None}
    reconcile(evaluation.pk)
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED


def test_sent_again_it_changes_nothing_and_gets_the_same_answer(evaluation):
    told = lease(lease_request())
    body = last(told)
    first = finish(told, body).json()
    before = everything()
    assert finish(told, body).json() == first
    assert finish(told, body).json() == first
    assert everything() == before


def test_a_process_that_died_between_the_end_and_the_lease_costs_only_the_second_call(evaluation):
    told = lease(lease_request())
    body = last(told)
    assert finish(told, {**body, "next": None}).json() == {"next": None}
    following = finish(told, body).json()["next"]
    assert following["tasks"] == ["2", "3"]
    assert TaskResult.objects.filter(outcome="scored").count() == 2
    assert LogChunk.objects.count() == 1


def test_a_lease_whose_answer_was_lost_is_given_again_to_who_asks_for_it():
    make_evaluation(suite=make_suite(runnable=2), state=EvaluationState.LAUNCHING)
    wanted = lease_request()
    first = lease(wanted)
    # It is the only shard: to everybody else there is nothing to do.
    assert worker_client().post("worker/lease/", lease_request()).status_code == 204
    assert lease(wanted) == first
    assert Attempt.objects.count() == 1


def test_a_lease_that_is_over_is_not_given_again(evaluation):
    wanted = lease_request()
    first = lease(wanted)
    Attempt.objects.update(expires_at=Attempt.objects.get().leased_at)
    reconcile(evaluation.pk)
    again = lease(wanted)
    assert again["attempt"] != first["attempt"]
    assert again["token"] != wanted["token"]
    assert finish(again, last(again)).status_code == 200


def test_an_attempt_that_was_lost_gets_409_and_no_lease(evaluation):
    lost = make_lease(evaluation)
    expire(lost)
    reconcile(evaluation.pk)
    before = everything()
    told = {"attempt": lost.attempt.pk, "token": lost.token, "suite": evaluation.suite.slug, "tasks": lost.tasks}
    answer = finish(told, last(told))
    assert (answer.status_code, answer.json()["code"]) == (409, "lost")
    assert everything() == before


def test_an_attempt_with_open_tasks_does_not_end_and_keeps_nothing(evaluation):
    told = lease(lease_request())
    before = everything()
    answer = finish(told, last({**told, "tasks": ["0"]}))
    assert (answer.status_code, answer.json()["code"], answer.json()["missing"]) == (409, "incomplete", ["1"])
    assert everything() == before


def test_artefacts_that_are_not_there_are_named(evaluation):
    told = lease(lease_request())
    artefact = encode("an answer")
    reference = ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)
    sample = SampleResult(index=0, score=0.5, inputs={}, reference=None, answer=reference, steps=[])
    records = [
        make_record(task, suite=told["suite"]).model_copy(update={"samples": [sample]}) for task in told["tasks"]
    ]
    body = last(told, results=[record.model_dump(mode="json") for record in records])
    before = everything()
    answer = finish(told, body)
    assert (answer.status_code, answer.json()["missing"]) == (409, [artefact.digest])
    assert everything() == before
    worker, path = ApiClient(told["token"]), f"worker/attempts/{told['attempt']}/objects/{artefact.digest}/"
    assert worker.put(path, artefact.data, artefact.media_type).status_code == 204
    assert finish(told, body).status_code == 200


def test_what_is_malformed_is_400_and_named(evaluation):
    for token in ("", "short", "ä" * 43, "x" * 201):
        answer = worker_client().post("worker/lease/", lease_request(token=token))
        assert (answer.status_code, list(answer.json()["errors"])) == (400, ["token"])
    assert not Attempt.objects.exists()
    told = lease(lease_request())
    before = everything()
    for change, field in (
        ({"results": None}, "results"),
        ({"results": [{"suite": 3}]}, "results.0.suite"),
        ({"provenance": []}, "provenance"),
        ({"next": "x"}, "next"),
        ({"next": {"token": "x" * 43}}, "next.worker"),
        ({"next": lease_request(suites=["no slug"])}, "next.suites.0"),
    ):
        answer = finish(told, last(told, **change))
        assert (answer.status_code, next(iter(answer.json()["errors"]))) == (400, field)
        assert everything() == before


def test_a_log_that_cannot_be_kept_is_no_reason_to_lose_the_work():
    make_evaluation(suite=make_suite(runnable=12), state=EvaluationState.LAUNCHING)
    told = lease(lease_request())
    for log in (
        None,
        "x",
        {"first": -1, "lines": []},
        {"first": 0, "lines": [{"at": 1e300, "level": "INFO", "text": "x"}]},
        {"first": 7, "lines": [{"at": 1.0, "level": "INFO", "text": "after a gap"}]},
    ):
        told = finish(told, last(told, log=log)).json()["next"]
    assert TaskResult.objects.filter(outcome="scored").count() == 10
    assert not LogChunk.objects.exists()


def test_who_may_not_lease_any_more_still_finishes():
    make_evaluation(suite=make_suite(runnable=6), state=EvaluationState.LAUNCHING)
    for token in ("", "wrong", "not the operator's"):
        told = lease(lease_request())
        assert finish(told, last(told), token=token).json() == {"next": None}
        assert Attempt.objects.get(pk=told["attempt"]).state == AttemptState.COMPLETED
