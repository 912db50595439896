"""How much an own worker may send to be kept: it may send anything, and what it sends is served."""

import pytest

from evaluator.values import encode
from gpu_jobs import bundles
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.results.objects import server_store
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.queue.test_tokens import launching, lease, own_evaluation, token_of
from tests.leaderboard.site.api.helpers import ApiClient, worker_client, worker_with

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_settings(own_store, settings):
    settings.MAX_OWN_WORKER_BYTES = 100


def leased_by(client: ApiClient) -> tuple[ApiClient, str]:
    told = lease(client).json()
    return ApiClient(told["token"]), f"worker/attempts/{told['attempt']}/objects/"


def an_own_worker() -> tuple[ApiClient, str]:
    ada = make_user("ada")
    own_evaluation(ada)
    return leased_by(worker_with(token_of(ada)["token"]))


def send(client: ApiClient, path: str, *texts: str):
    return client.post_bytes(path, bundles.pack(encode(text) for text in texts), bundles.CONTENT_TYPE)


def test_an_own_worker_sends_so_much_for_one_evaluation_and_no_more():
    client, path = an_own_worker()
    assert send(client, path, "a" * 50, "b" * 40).json() == {"kept": 2, "refused": {}}
    answer = send(client, path, "c" * 5, "d" * 6)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "at most 100 bytes" in answer.json()["detail"]
    assert not server_store(split="public").has(encode("c" * 5).digest)
    alone = encode("e" * 11)
    assert client.put(f"{path}{alone.digest}/", alone.data, alone.media_type).status_code == 413
    assert send(client, path, "f" * 10).json()["kept"] == 1
    assert OwnWorkerRun.objects.get().uploaded_bytes == 100


def test_what_the_site_has_is_not_counted_again():
    client, path = an_own_worker()
    for _ in range(3):
        assert send(client, path, "a" * 90).json() == {"kept": 1, "refused": {}}
    assert OwnWorkerRun.objects.get().uploaded_bytes == 90


def test_workers_of_the_site_send_what_they_make():
    launching(make_submission().evaluations.get())
    client, path = leased_by(worker_client())
    assert send(client, path, "a" * 500).json() == {"kept": 1, "refused": {}}
