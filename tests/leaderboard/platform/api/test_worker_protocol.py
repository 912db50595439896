"""The worker's protocol over HTTP."""

import hashlib
from uuid import uuid4

import pytest

from evaluator.core.values import Artefact, MediaType, encode
from gpu_jobs import bundles
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_record, make_submission
from tests.leaderboard.platform.api.helpers import ApiClient, lease_request, worker_client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


def lease(**planner) -> dict:
    """A lease, as a worker gets it."""
    evaluation = make_submission(**planner).evaluations.get()
    evaluation.state = EvaluationState.LAUNCHING
    evaluation.save()
    response = worker_client().post("worker/lease/", lease_request())
    assert response.status_code == 200, response.content
    return response.json()


def calls(lease: dict) -> tuple[ApiClient, str]:
    return ApiClient(lease["token"]), f"worker/attempts/{lease['attempt']}/"


def records(lease: dict) -> dict:
    return {"results": [make_record(task, suite=lease["suite"]).model_dump(mode="json") for task in lease["tasks"]]}


def test_a_lease_tells_all_that_a_worker_needs():
    told = lease()
    assert told["planner"] == {"kind": "bundled", "name": "gold"}
    assert told["tasks"] == ["0", "1", "2", "3"]
    assert told["expires_in"] > 2 * told["heartbeat_seconds"]
    assert told["profile_digest"] == "f" * 64
    assert told["data_digest"] == Evaluation.objects.get().data_digest != ""
    assert (told["season"], told["commitment"]) == ("", "")
    assert Attempt.objects.get().token_hash == hashlib.sha256(told["token"].encode()).hexdigest()


def test_the_server_says_how_often_a_worker_says_that_it_lives(settings):
    """The worker of a submitted planner does so oftener: it learns soon that its slice is over."""
    for lease_seconds, heartbeat in ((60, 10), (20, 5), (3, 1), (600, 10)):
        settings.LEASE_SECONDS = lease_seconds
        assert lease()["heartbeat_seconds"] == heartbeat
    for slice_seconds, heartbeat in ((10, 2), (40, 5), (3, 1), (0, 5)):
        settings.LEASE_SECONDS, settings.SLICE_SECONDS = 20, slice_seconds
        told = lease(kind="endpoint", bundled_name="", endpoint_url=f"https://{slice_seconds}.example.org/plan")
        assert told["heartbeat_seconds"] == heartbeat


def test_an_endpoint_s_address_and_limits_are_told_to_the_worker():
    url = "https://planner.example.org/plan"
    told = lease(kind="endpoint", bundled_name="", endpoint_url=url, timeout_seconds=7)
    assert told["planner"] == {
        "kind": "endpoint",
        "url": url,
        "timeout_seconds": 7,
        "allow_private": False,
        "has_header": False,
    }


def test_what_is_wrong_with_a_request_is_named_with_what_would_be_right():
    wrong = {"worker": 3, "suites": "openagi", "evaluation": "x", "token": "a-guessable-token"}
    answer = worker_client().post("worker/lease/", wrong)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    errors = answer.json()["errors"]
    assert worker_client().post("worker/lease/", {}).json()["errors"] == {
        "worker": ["This field is required."], "token": ["This field is required."],
    }  # fmt: skip
    assert list(errors) == ["worker", "suites", "evaluation", "token"]
    assert errors["worker"] == ["Input should be a valid string."]
    assert "should match pattern" in errors["token"][0]
    assert "a-guessable-token" not in answer.content.decode(), "it is a credential"
    assert worker_client().post("worker/lease/", []).json()["detail"] == "A JSON object is expected here."


def work_left(evaluation, **more) -> str | None:
    response = worker_client().post("worker/lease/", lease_request(evaluation=str(evaluation), **more))
    assert response.status_code == 204
    return response.headers.get("X-Work-Left")


def test_a_worker_of_one_evaluation_is_told_whether_shards_of_it_are_left():
    told = lease()
    worker, path = calls(told)
    assert work_left(told["evaluation"]) == "1", "another worker holds the last shard and may lose it"
    assert work_left(told["evaluation"], suites=["another"]) == "0"
    worker.post(f"{path}finish/", records(told))
    assert work_left(told["evaluation"]) == "0"
    assert work_left(uuid4()) == "0"
    assert "X-Work-Left" not in worker_client().post("worker/lease/", lease_request()).headers


def test_shards_that_wait_for_the_canary_or_another_try_are_left_and_those_of_ended_evaluations_are_not():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    Evaluation.objects.filter(pk=evaluation.pk).update(leasable_shards=0)
    assert work_left(evaluation.pk) == "1"
    services.cancel(evaluation=evaluation)
    assert work_left(evaluation.pk) == "0"


def test_a_shard_from_artefacts_to_completion():
    told = lease()
    worker, path = calls(told)
    assert worker.post(f"{path}heartbeat/").status_code == 204
    artefact = encode("an answer")
    assert worker.post(f"{path}objects/missing/", {"digests": [artefact.digest]}).json() == {
        "missing": [artefact.digest], "takes_uploads": False,
    }  # fmt: skip
    assert worker.put(f"{path}objects/{artefact.digest}/", artefact.data, artefact.media_type).status_code == 204
    assert worker.post(f"{path}objects/missing/", {"digests": [artefact.digest]}).json()["missing"] == []
    assert worker.post(f"{path}results/", records(told)).json() == {"new": 4}
    assert worker.post(f"{path}results/", records(told)).json() == {"new": 0}
    rest = {"results": [], "provenance": {"device": "cpu"}}
    for _ in range(2):
        assert worker.post(f"{path}finish/", rest).json() == {"next": None}
    assert worker.post(f"{path}heartbeat/").json()["code"] == "completed"
    attempt = Attempt.objects.get()
    assert attempt.shard.evaluation.provenance["workers"] == [{"device": "cpu"}]


def test_an_artefact_that_is_too_large_or_not_what_it_says_is_refused(settings):
    worker, path = calls(lease())
    for digest, content_type, status, field in (
        ("0" * 64, "text/plain; charset=utf-8", 400, "digest"),
        (encode("x").digest, "text/html", 400, "media_type"),
        (encode("x").digest, "image/svg+xml", 400, "media_type"),
        ("..", "text/plain; charset=utf-8", 404, None),
    ):
        response = worker.put(f"{path}objects/{digest}/", b"x", content_type)
        assert response.status_code == status
        assert field is None or list(response.json()["errors"]) == [field]
    settings.MAX_OBJECT_BYTES = 10
    artefact = encode("more than ten bytes")
    assert worker.put(f"{path}objects/{artefact.digest}/", artefact.data, artefact.media_type).status_code == 413


def send(told: dict, data: bytes, content_type: str = bundles.CONTENT_TYPE):
    return ApiClient(told["token"]).post_bytes(f"worker/attempts/{told['attempt']}/objects/", data, content_type)


def missing(told: dict, *artefacts: Artefact) -> list[str]:
    worker, path = calls(told)
    return worker.post(f"{path}objects/missing/", {"digests": [a.digest for a in artefacts]}).json()["missing"]


def test_many_artefacts_come_in_one_body_and_again_without_harm():
    told = lease()
    artefacts = [encode(f"answer {number}") for number in range(30)]
    assert len(missing(told, *artefacts)) == 30
    for _ in range(2):
        response = send(told, bundles.pack(artefacts))
        assert (response.status_code, response.json()) == (200, {"kept": 30, "refused": {}})
    assert missing(told, *artefacts) == []


def test_of_a_bundle_the_good_are_kept_and_each_bad_one_is_named(settings):
    settings.MAX_OBJECT_BYTES = 20
    told = lease()
    good, large = encode("good"), encode("more than twenty bytes of text")
    wrong = bundles.pack([encode("right")]).replace(b"right", b"wrong")
    odd = bundles.pack([encode("odd")]).replace(MediaType.TEXT.encode(), b"text/html")
    refused = send(told, wrong + bundles.pack([good, large]) + odd).json()
    assert refused["kept"] == 1
    assert list(refused["refused"]) == [encode("right").digest, large.digest, encode("odd").digest]
    assert "have the SHA-256" in refused["refused"][encode("right").digest]
    assert missing(told, good, large, encode("wrong"), encode("right"), encode("odd")) == [
        large.digest, encode("wrong").digest, encode("right").digest, encode("odd").digest,
    ]  # fmt: skip


def test_a_bundle_that_is_cut_or_too_large_changes_nothing(monkeypatch):
    told = lease()
    artefacts = [encode("one"), encode("two")]
    response = send(told, bundles.pack(artefacts)[:-1])
    assert (response.status_code, list(response.json()["errors"])) == (400, ["bundle"])
    assert send(told, bundles.pack(artefacts), "application/octet-stream").status_code == 400
    monkeypatch.setattr(bundles, "MOST_BYTES", 100)
    assert send(told, bundles.pack(artefacts)).status_code == 413
    assert len(missing(told, *artefacts)) == 2


def test_after_a_cancellation_every_call_is_409_with_the_reason():
    told = lease()
    worker, path = calls(told)
    services.cancel(Attempt.objects.get().shard.evaluation)
    for call, body in [
        ("heartbeat/", {}),
        ("results/", records(told)),
        ("finish/", {"results": []}),
        ("fail/", {"reason": "x"}),
    ]:
        response = worker.post(f"{path}{call}", body)
        assert (response.status_code, response.json()["code"]) == (409, "cancelled")
    response = send(told, bundles.pack([encode("late")]))
    assert (response.status_code, response.json()["code"]) == (409, "cancelled")
    assert not server_store(split="public").has(encode("late").digest)
    assert not TaskResult.objects.filter(outcome="scored").exists()


def test_giving_up_needs_a_reason():
    worker, path = calls(lease())
    assert list(worker.post(f"{path}fail/", {"how": "odd"}).json()["errors"]) == ["how", "reason"]
    assert worker.post(f"{path}fail/", {"how": "failed", "reason": "out of memory"}).status_code == 204
    assert Attempt.objects.get().reason == "failed: out of memory"
