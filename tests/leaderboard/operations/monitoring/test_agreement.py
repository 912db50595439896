"""Whatever is wrong with a site, status page, API, probe, metrics, alerts and reasons of waiting evaluations agree."""

import json
from datetime import timedelta

import pytest
import yaml
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from leaderboard.evaluations.models import Attempt, Evaluation, Shard
from leaderboard.evaluations.web.gathering import progress
from leaderboard.messages.models import OutboxMessage
from leaderboard.operations.models import Moment
from leaderboard.operations.monitoring import facts
from leaderboard.operations.monitoring.figures import DatabaseFigures
from leaderboard.operations.monitoring.status import site_status, verdict
from leaderboard.operations.web.monitoring import views
from leaderboard.platform.health import Code, Facts, Tone, Work, health, is_ready
from leaderboard.queue.estimates import queue_now
from leaderboard.submissions.services import mark
from tests.k8s.chart import CHART
from tests.leaderboard.factories import make_evaluation, make_lease
from tests.leaderboard.platform.test_probes import database_away
from tests.rings import usual
from tests.silent import AWAY

ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
TOKEN = "the-token-of-these-tests"
LONG_AGO = timedelta(minutes=20)
REFUSING = "refusing"


@pytest.fixture
def waiting(settings, monkeypatch, own_store, file_broker):
    """An evaluation that waits on a site with nothing wrong."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(views, "_FIGURES", DatabaseFigures(cache_seconds=0))
    monkeypatch.setattr(facts, "_STARTED", facts.time.monotonic())
    evaluation = make_evaluation(state="queued")
    Shard.objects.create(evaluation=evaluation, number=99, task_keys=["0"], available_at=timezone.now(), state="done")
    for name in settings.CELERY_BEAT_SCHEDULE:
        Moment.objects.create(name=f"task:{name}", at=timezone.now())
    return evaluation


def said(evaluation=None):
    """What each place says: code of the API, codes of the metrics, whether page and reason have the sentence."""
    findings = health(facts.site_facts())
    sentence = findings[0].sentence if findings else "All systems operational."
    reader = Client()
    reader.cookies["sessionid"] = "of-somebody-who-is-signed-in"
    page = reader.get("/status/")
    api = Client().get("/api/v1/status/").json()
    ready = Client().get("/health/ready")
    metrics = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert metrics.status_code == 200
    families = {one.name: one for one in text_string_to_metric_families(metrics.content.decode())}
    found = {one.labels["finding"]: one.value for one in families["planarena_health"].samples}
    assert set(found) == set(Code)
    return {
        "api": api["code"],
        "metrics": [code for code, value in found.items() if value],
        "page": sentence.replace("'", "&#x27;") in page.content.decode(),
        "status": (page.status_code, ready.status_code),
        "ready": ready.content.decode().partition(":")[0].strip(),
        "reason": evaluation and progress(evaluation)["waiting"],
        "sentence": sentence,
    }


def is_alerted(code):
    return [rule for rule in ALERTS if f'planarena_health{{finding="{code}"}}' in rule["expr"]]


@pytest.mark.django_db
def test_with_nothing_wrong_all_say_so(waiting):
    Evaluation.objects.filter(pk=waiting.pk).update(state="completed", summary={})
    found = said()
    assert (found["api"], found["metrics"], found["page"], found["status"]) == ("idle", [], True, (200, 200))


@pytest.mark.django_db
@pytest.mark.parametrize("how", usual(AWAY, of=[REFUSING]))
def test_database_away(waiting, monkeypatch, how):
    with database_away(monkeypatch, how):
        found = said()
    assert (found["api"], found["metrics"]) == ("database_down", ["database_down"])
    assert found["page"]
    assert found["status"] == (503, 503)
    assert found["ready"] == "no database"
    assert is_alerted("database_down")


@pytest.mark.django_db
@pytest.mark.full
@pytest.mark.parametrize("how", AWAY)
def test_broker_away_with_zero_workers_is_not_operational(waiting, broker, how):
    with AWAY[how]() as port:
        broker(f"redis://127.0.0.1:{port}/0")
        found = said(waiting)
        assert (found["api"], found["metrics"]) == ("broker_down", ["broker_down", "no_workers"])
        assert found["page"]
        assert found["status"] == (200, 200), "pages do not need the broker"
        Moment.objects.update(at=timezone.now() - LONG_AGO)
        found = said(waiting)
        assert (found["api"], found["metrics"][0]) == ("queue_stopped", "queue_stopped")
        assert "Their broker does not answer." in found["sentence"]
        assert found["reason"] == found["sentence"]
    assert is_alerted("broker_down")
    assert is_alerted("queue_stopped")


@pytest.mark.django_db
def test_an_old_sweep_since_the_scheduler_is_dead(waiting, monkeypatch):
    Moment.objects.filter(name="task:sweep").update(at=timezone.now() - LONG_AGO)
    found = said(waiting)
    assert (found["api"], found["page"]) == ("queue_stopped", True)
    assert "have not completed a sweep for 20 minutes. No messages wait for them" in found["sentence"]
    assert found["reason"] == found["sentence"]
    Moment.objects.all().delete()
    assert "queue_stopped" not in said()["metrics"], "one that never was counts from the start of the process"
    monkeypatch.setattr(facts, "_STARTED", facts.time.monotonic() - 1200)
    assert said(waiting)["api"] == "queue_stopped"


@pytest.mark.django_db
def test_no_workers(waiting):
    found = said(waiting)
    assert (found["api"], found["metrics"], found["page"]) == ("no_workers", ["no_workers"], True)
    assert found["reason"] == "Next in the queue. Waiting for a worker; none is active."
    other = make_evaluation(state="queued", suite=waiting.suite)
    assert progress(other)["waiting"].endswith(found["sentence"]), "those behind it read it, too"
    assert is_alerted("no_workers")


@pytest.mark.django_db
class TestThePage:
    def test_it_tells_what_waits_and_who_works(self, launcher):
        make_evaluation()
        working = make_evaluation(state="launching")
        make_lease(working)
        found = site_status()
        assert {each.state: each.evaluations for each in found.standing} == {"queued": 1, "running": 1}
        assert (found.workers, found.queue.leased) == (1, 1)
        assert found.queue == queue_now()
        assert found.queue.evaluations == 2
        page = Client().get("/status/").content.decode()
        assert "1 active in the last ten minutes" in page
        assert json.loads(Client().get("/api/v1/status/").content)["code"] == "running"

    def test_what_is_past_its_deadline_is_found(self, launcher):
        late = make_evaluation()
        Evaluation.objects.filter(pk=late.pk).update(state_deadline=timezone.now() - timedelta(minutes=20))
        assert verdict(site_status()).code == "queue_stopped"
        # Waiting for a worker is not late, however long it lasts.
        Evaluation.objects.update(state="launching", state_since=timezone.now() - timedelta(days=2))
        assert verdict(site_status()).code == "no_workers"

    def test_messages_that_should_have_gone_are_found(self):
        OutboxMessage.objects.create(kind="mail", payload={}, available_at=timezone.now() - timedelta(hours=1))
        assert verdict(site_status()).code == "messages_late"
        OutboxMessage.objects.update(available_at=timezone.now() + timedelta(hours=1))
        assert verdict(site_status()).code == "idle"

    def test_own_workers_are_none_of_the_sites(self, launcher):
        own = make_evaluation(state="launching")
        make_lease(own)
        mark(own.submission)
        assert Attempt.objects.count() == 1
        assert (site_status().workers, site_status().queue.shards) == (0, 0)


MINUTE = timedelta(minutes=1)
INTERVALS = {"sweep": timedelta(seconds=15), "prune": timedelta(hours=1)}
FRESH = {"sweep": timedelta(seconds=20), "prune": 30 * MINUTE}


def work(**changed):
    return Work(**{"tasks": FRESH, "intervals": INTERVALS, **changed})


def codes(**facts):
    return [finding.code for finding in health(Facts(**{"work": work(), **facts}))]


CASES = [
    ({}, []),
    ({"database_problem": "OperationalError", "work": None}, [Code.DATABASE_DOWN]),
    ({"full_disks": ["store"]}, [Code.DISK_FULL]),
    ({"store_problem": "it refuses"}, [Code.STORE_UNAVAILABLE]),
    ({"broker_problem": "ConnectionError"}, [Code.BROKER_DOWN]),
    ({"waiting_messages": 5, "oldest_message": timedelta(seconds=3)}, []),
    ({"waiting_messages": 5, "oldest_message": 6 * MINUTE}, [Code.MESSAGES_UNREAD]),
    ({"waiting_messages": 1001}, [Code.MESSAGES_UNREAD]),
    ({"work": work(tasks=FRESH | {"sweep": 5 * MINUTE})}, []),
    ({"work": work(tasks=FRESH | {"sweep": 6 * MINUTE})}, [Code.QUEUE_STOPPED]),
    ({"work": work(tasks=FRESH | {"prune": 185 * MINUTE})}, []),
    ({"work": work(tasks=FRESH | {"prune": 186 * MINUTE})}, [Code.TASKS_LATE]),
    ({"work": work(late_for=4 * MINUTE)}, []),
    ({"work": work(late_for=6 * MINUTE)}, [Code.QUEUE_STOPPED]),
    ({"work": work(late_for=-60 * MINUTE)}, []),
    ({"work": work(unsent_for=6 * MINUTE)}, [Code.MESSAGES_LATE]),
    ({"work": work(paused=["openagi"])}, [Code.PAUSED]),
    ({"work": work(shards=3, leased=1)}, []),
    ({"work": work(shards=3, since_lease=MINUTE)}, []),
    ({"work": work(shards=3, since_lease=6 * MINUTE)}, [Code.NO_WORKERS]),
    ({"work": work(shards=3)}, [Code.NO_WORKERS]),
    ({"work": work(since_lease=60 * MINUTE)}, []),
]


def test_each_fact_has_its_finding():
    assert [codes(**facts) for facts, _ in CASES] == [expected for _, expected in CASES]


def test_the_worst_is_said_first_and_nothing_is_left_out():
    everything = {
        "database_problem": "OperationalError", "full_disks": ["store"], "store_problem": "it refuses",
        "broker_problem": "ConnectionError", "waiting_messages": 2000, "work": work(
            tasks={"sweep": FRESH["sweep"], "prune": 600 * MINUTE}, late_for=6 * MINUTE, unsent_for=6 * MINUTE,
            paused=["a"], shards=1,
        ),
    }  # fmt: skip
    assert codes(**everything) == list(Code)
    assert [finding.tone for finding in health(Facts(**everything))][:4] == [Tone.ERROR] * 4


def test_only_what_keeps_a_process_from_answering_takes_it_away():
    def ready(disks, **facts):
        return is_ready(health(Facts(**facts)), disks=disks)

    assert ready(True)
    assert not ready(False, database_problem="x")
    assert (ready(True, full_disks=["store"]), ready(False, full_disks=["store"])) == (False, True)
    assert (ready(True, store_problem="x"), ready(False, store_problem="x")) == (False, True)
    stopped = work(tasks=FRESH | {"sweep": 60 * MINUTE}, shards=5)
    assert ready(True, broker_problem="x", work=stopped), "the queue's processes are others"
