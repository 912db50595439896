"""Researchers' own workers: whose token leases what, how much they may send, and what becomes of the results."""

import hashlib

import pytest
from django.conf import settings as site_settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluator.core.values import encode
from gpu_jobs import bundles
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Submission
from leaderboard.evaluations.results.objects import server_store
from leaderboard.queue import reconcile
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptToken, OwnWorkerRun, WorkerToken
from leaderboard.queue.workers.tokens import revoke_worker_token
from leaderboard.submissions.services import SubmissionData, submit_for_own_worker, validate
from tests.fakes.launcher import FakeLauncher
from tests.leaderboard.factories import make_season, make_submission, make_suite, make_user, planner_data
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, worker_client, worker_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


def own_evaluation(user, *, suite=None) -> Evaluation:
    """An evaluation that the user runs on their own worker, launching."""
    data = SubmissionData(planner=planner_data(), suites=[(suite or make_suite()).slug])
    return launching(submit_for_own_worker(validate(user=user, data=data)).evaluations.get())


def launching(evaluation: Evaluation) -> Evaluation:
    evaluation.state = EvaluationState.LAUNCHING
    evaluation.save(update_fields=["state"])
    return evaluation


def token_of(user, name: str = "my desktop") -> dict:
    response = client_of(user).post("worker-tokens/", {"name": name})
    assert response.status_code == 201, response.content
    return response.json()


def lease(client: ApiClient, worker: str = "w"):
    return client.post("worker/lease/", lease_request(worker=worker))


def leased(client: ApiClient, worker: str = "w") -> str | None:
    """The evaluation of the next lease."""
    response = lease(client, worker)
    assert response.status_code in {200, 204}, response.content
    return response.json()["evaluation"] if response.status_code == 200 else None


def test_a_token_is_shown_once_and_only_its_hash_is_kept():
    ada = make_user("ada")
    made = token_of(ada)
    assert made["token"].startswith("paw_")
    assert WorkerToken.objects.get().token_hash == hashlib.sha256(made["token"].encode()).hexdigest()
    listed = client_of(ada).get("worker-tokens/")
    assert [row["name"] for row in listed.json()] == ["my desktop"]
    assert made["token"] not in listed.content.decode()
    assert client_of(make_user("eve")).get("worker-tokens/").json() == []
    assert ApiClient().get("worker-tokens/").status_code == 401
    # It is good for leasing and for nothing else.
    assert ApiClient(made["token"]).get("worker-tokens/").status_code == 401


def test_names_and_numbers_of_tokens_are_bounded(monkeypatch):
    ada = client_of(make_user("ada"))
    assert list(ada.post("worker-tokens/", {"name": "x" * 81}).json()["errors"]) == ["name"]
    assert list(ada.post("worker-tokens/", {"name": " "}).json()["errors"]) == ["name"]
    monkeypatch.setattr("leaderboard.queue.workers.tokens.MOST_TOKENS", 1)
    assert ada.post("worker-tokens/", {"name": "one"}).status_code == 201
    assert "the maximum" in str(ada.post("worker-tokens/", {"name": "two"}).json())


def test_each_token_leases_what_it_may_and_nothing_else():
    ada, eve = make_user("ada"), make_user("eve")
    own, site_s = own_evaluation(ada), launching(make_submission(user=ada).evaluations.get())
    eve_s = own_evaluation(eve)
    assert leased(worker_with(token_of(ada)["token"])) == str(own.pk)
    assert leased(worker_with(token_of(ada)["token"])) is None
    assert leased(worker_client()) == str(site_s.pk)
    assert leased(worker_client()) is None
    assert leased(worker_with(token_of(eve)["token"])) == str(eve_s.pk)


def test_naming_another_s_evaluation_gives_nothing():
    ada, eve = make_user("ada"), make_user("eve")
    evaluations = [own_evaluation(ada), launching(make_submission(user=eve).evaluations.get())]
    for evaluation in evaluations:
        body = lease_request(evaluation=str(evaluation.pk))
        response = worker_with(token_of(eve)["token"]).post("worker/lease/", body)
        assert (response.status_code, response.headers["X-Work-Left"]) == (204, "0"), "not even whether it has shards"
    body = lease_request(evaluation=str(evaluations[0].pk))
    assert worker_client().post("worker/lease/", body).status_code == 204


def test_an_attempt_records_the_token_and_the_worker_s_name_passes_for_no_launched_one():
    ada = make_user("ada")
    own_evaluation(ada)
    made = token_of(ada)
    lease(worker_with(made["token"]), worker="local-1234")
    recorded = AttemptToken.objects.get()
    assert (str(recorded.token_id), recorded.attempt.worker) == (made["id"], "own:local-1234")
    assert WorkerToken.objects.get().last_used is not None


def test_a_revoked_token_leases_nothing_and_its_attempts_are_lost():
    ada = make_user("ada")
    own_evaluation(ada)
    made = token_of(ada)
    worker = worker_with(made["token"])
    told = lease(worker).json()
    assert client_of(make_user("eve")).delete(f"worker-tokens/{made['id']}/").status_code == 404
    assert client_of(ada).delete(f"worker-tokens/{made['id']}/").status_code == 204
    assert client_of(ada).delete(f"worker-tokens/{made['id']}/").status_code == 404
    assert lease(worker).json()["code"] == "session_over"
    assert ApiClient(made["token"]).post("worker/session/").json()["code"] == "enrolment_refused"
    assert Attempt.objects.get().state == AttemptState.LOST
    late = ApiClient(told["token"]).post(f"worker/attempts/{told['attempt']}/heartbeat/")
    assert (late.status_code, late.json()["code"]) == (409, "lost")
    assert client_of(ada).get("worker-tokens/").json() == []


def test_a_token_that_is_revoked_while_it_leases_leaves_no_lease_behind(monkeypatch):
    ada = make_user("ada")
    evaluation = own_evaluation(ada)
    made = token_of(ada)
    real = leases.lease

    def revoked_meanwhile(**asked):
        found = real(**asked)
        assert revoke_worker_token(owner=ada, token_id=made["id"])
        return found

    monkeypatch.setattr(leases, "lease", revoked_meanwhile)
    assert lease(worker_with(made["token"])).status_code == 204
    assert Attempt.objects.get().state == AttemptState.LOST
    assert evaluation.shards.filter(state="leased").count() == 0


@pytest.mark.django_db(transaction=True)
def test_tokens_that_are_revoked_at_one_moment_wait_for_no_locks_of_each_other(settings):
    settings.TASKS_PER_SHARD = 2
    ada = make_user("ada")
    evaluations = [own_evaluation(ada) for _ in range(2)]
    made = [token_of(ada) for _ in range(2)]
    for each in made:
        for evaluation in evaluations:
            body = lease_request(evaluation=str(evaluation.pk))
            assert worker_with(each["token"]).post("worker/lease/", body).status_code == 200
    locks = CaptureQueriesContext(connection)
    with locks:
        assert revoke_worker_token(owner=ada, token_id=made[0]["id"])
    told = [query["sql"] for query in locks.captured_queries]
    wanted = 'FOR NO KEY UPDATE OF "evaluations_evaluation"'
    first, second = (number for number, sql in enumerate(told) if wanted in sql)
    assert "COMMIT" in told[first:second], "the locks of both evaluations would be held together"


def test_the_token_of_a_closed_account_leases_nothing():
    ada = make_user("ada")
    own_evaluation(ada)
    made = token_of(ada)
    worker = worker_with(made["token"])
    ada.is_active = False
    ada.save()
    assert lease(worker).status_code == 403
    assert ApiClient(made["token"]).post("worker/session/").status_code == 403


def test_no_worker_is_launched_for_it_and_its_owner_reads_what_is_awaited(launcher: FakeLauncher):
    evaluation = own_evaluation(make_user("ada"))
    reconcile.reconcile(evaluation.pk)
    evaluation.refresh_from_db()
    assert evaluation.reason == "waiting_for_own_worker"
    assert "planarena worker" in evaluation.reason_text
    assert launcher.ensured == []


def test_submitting_for_an_own_worker_through_the_api(settings):
    ada = client_of(make_user("ada"))
    body = {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold"}, "suites": [make_suite().slug]}
    made = ada.post("submissions/", {**body, "own_worker": True})
    assert made.status_code == 201, made.content
    assert [one["own_worker"] for one in made.json()["evaluations"]] == [True]
    assert [one["own_worker"] for one in ada.post("submissions/", body).json()["evaluations"]] == [False]
    before = Submission.objects.count()
    settings.SPLIT = "hidden"
    make_season()
    refused = ada.post("submissions/", {**body, "own_worker": True})
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["own_worker"])
    assert Submission.objects.count() == before


def test_the_operator_makes_and_revokes_tokens_of_their_own(capsys):
    call_command("worker_token", "cluster")
    token = capsys.readouterr().out.strip()
    site_s = launching(make_submission().evaluations.get())
    own_evaluation(make_user("ada"))
    worker = worker_with(token)
    assert leased(worker) == str(site_s.pk)
    assert AttemptToken.objects.get().attempt.worker == "w"
    assert leased(worker) is None
    call_command("worker_token", "cluster", "--revoke")
    assert lease(worker).status_code == 403
    with pytest.raises(CommandError, match="no operator's worker token"):
        call_command("worker_token", "cluster", "--revoke")


def test_no_token_is_written_to_the_log(caplog):
    caplog.set_level("DEBUG")
    ada = make_user("ada")
    evaluation = own_evaluation(ada)
    made = token_of(ada)
    told = lease(worker_with(made["token"])).json()
    ApiClient("wrong").post(f"worker/attempts/{told['attempt']}/heartbeat/")
    ApiClient(told["token"]).post(f"worker/attempts/{told['attempt']}/finish/", {"results": []})
    ApiClient(told["token"]).post(f"worker/attempts/{told['attempt']}/results/", {"results": "x"})
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.CANCELLED)
    for secret in (made["token"], told["token"], site_settings.WORKER_TOKEN):
        assert secret not in caplog.text


def test_an_own_worker_sends_so_much_for_one_evaluation_and_no_more(settings):
    """It may send anything, and what it sends is served. Workers of the site send what they make."""
    settings.MAX_OWN_WORKER_BYTES = 100
    ada = make_user("ada")
    own_evaluation(ada)

    def leased_by(worker: ApiClient) -> tuple[ApiClient, str]:
        told = lease(worker).json()
        return ApiClient(told["token"]), f"worker/attempts/{told['attempt']}/objects/"

    def send(*texts: str):
        return client.post_bytes(path, bundles.pack(encode(text) for text in texts), bundles.CONTENT_TYPE)

    client, path = leased_by(worker_with(token_of(ada)["token"]))
    for _ in range(3):
        assert send("a" * 50, "b" * 40).json() == {"kept": 2, "refused": {}}
    assert OwnWorkerRun.objects.get().uploaded_bytes == 90, "what the site has is not counted again"
    answer = send("c" * 5, "d" * 6)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "at most 100 bytes" in answer.json()["detail"]
    assert not server_store(split="public").has(encode("c" * 5).digest)
    alone = encode("e" * 11)
    assert client.put(f"{path}{alone.digest}/", alone.data, alone.media_type).status_code == 413
    assert send("f" * 10).json()["kept"] == 1
    assert OwnWorkerRun.objects.get().uploaded_bytes == 100
    launching(make_submission().evaluations.get())
    client, path = leased_by(worker_client())
    assert send("a" * 500).json() == {"kept": 1, "refused": {}}
