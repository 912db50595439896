"""A bucket that refuses or does not answer: a reason that everybody reads, and nothing is lost."""

import json
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client

from evaluator.core.values import encode
from leaderboard.evaluations.models import Attempt, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.operations.monitoring.figures import damage_figures
from leaderboard.platform.health import STORE_UNAVAILABLE
from leaderboard.platform.storage import bucket as site_bucket
from tests.fakes.s3.server import Fault
from tests.leaderboard.platform.storage.test_disk_full import TEXT, Case
from tests.rings import usual

pytestmark = pytest.mark.django_db
FAULTS = {
    Fault.REFUSED: "(403 AccessDenied)",
    Fault.BUSY: "(503 SlowDown)",
    Fault.FULL: "(400 XMinioAdminBucketQuotaExceeded)",
    Fault.RESET: "(ConnectionClosedError)",
}


@pytest.fixture(autouse=True)
def probe(monkeypatch):
    """A process that has not looked yet, and looks each time."""
    site_bucket._bucket.cache_clear()
    monkeypatch.setattr(site_bucket, "_PROBE_SECONDS", 0.0)
    monkeypatch.setattr(site_bucket, "_probe", site_bucket._Probe())
    yield
    site_bucket._bucket.cache_clear()


@pytest.mark.parametrize("fault", usual(FAULTS, of=[Fault.REFUSED, Fault.RESET]))
def test_what_the_bucket_does_not_take_is_refused_and_taken_once_it_does(bucket, fault):
    case = Case()
    Attempt.objects.update(stalls_at=Now() + timedelta(seconds=1))
    # Only writes: results are refused at their last step, when the site stores their records.
    bucket.fault = lambda method, _name: fault if method == "PUT" else None
    for answer in (case.send(TEXT), case.deliver()):
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable"), answer.content
        assert answer.headers["Retry-After"] == "15"
    assert bucket.names("/objects/") == []
    assert not TaskResult.objects.exists()
    assert Attempt.objects.filter(stalls_at__gt=Now() + timedelta(seconds=60)).exists(), "it does not stall"
    bucket.fault = lambda _method, _name: None
    assert case.send(TEXT).json()["kept"] == 1
    assert case.deliver().status_code == 200
    assert server_store(split="public").get(encode(TEXT).digest).data == TEXT.encode()
    assert TaskResult.objects.count() == len(case.lease["tasks"])


def test_an_answer_that_breaks_off_is_read_again_and_never_taken_for_damage(bucket):
    digest = server_store(split="public").put(encode(TEXT))
    cut = iter([Fault.CUT, Fault.CUT])
    bucket.fault = lambda method, _name: next(cut, None) if method == "GET" else None
    assert Client().get(f"/objects/{digest}").content == TEXT.encode()
    bucket.fault = lambda method, _name: Fault.CUT if method == "GET" else None
    answer = Client(raise_request_exception=False).get(f"/objects/{digest}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "15")
    assert b"The site&#x27;s object store does not answer" in answer.content
    assert bucket.names("/quarantine/") == []


@pytest.mark.parametrize("fault", usual(FAULTS, of=[Fault.FULL]))
def test_owner_operator_and_probe_read_why(bucket, fault):
    case, reason = Case(), FAULTS[fault]
    assert (Client().get("/health/ready").status_code, case.waiting()) == (200, "")
    bucket.fault = lambda method, _name: fault if method == "PUT" else None
    ready = Client().get("/health/ready?now")
    assert ready.status_code == 503
    assert ready.content.startswith(b"store: the bucket ")
    assert reason in ready.content.decode()
    assert Client().get("/health/live").status_code == 200
    assert Client().get("/health/ready?disks=0").status_code == 200, "for probes that decide who gets requests"
    assert case.waiting().startswith(f"{STORE_UNAVAILABLE} Reason: the bucket ")
    page = Client().get("/status/").content.decode()
    assert reason in page
    assert bucket.url not in page
    assert json.loads(Client().get("/api/v1/status/").content)["code"] == "store_unavailable"
    bucket.fault = lambda _method, _name: None
    assert Client().get("/health/ready?again").status_code == 200
    assert case.waiting() == ""


def test_metrics_say_that_the_bucket_is_away_and_no_wrong_number_of_losses(bucket):
    def shown():
        return {metric.name: [one.value for one in metric.samples] for metric in damage_figures()}

    assert shown() == {
        "planarena_store_available": [1.0], "planarena_store_quarantined": [0, 0, 0], "planarena_store_lost": [0, 0, 0],
    }  # fmt: skip
    bucket.fault = lambda _method, _name: Fault.REFUSED
    assert shown() == {"planarena_store_available": [0.0]}
