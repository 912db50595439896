"""The history of the status: checks by the hour, gaps, outages and their retention."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from leaderboard.operations.models import Moment, Outage, Part, StatusHour
from leaderboard.operations.monitoring import history
from leaderboard.operations.monitoring.history import Minutes, check_status, part_histories, record
from leaderboard.operations.web.monitoring.history import part_row, span, uptime_words
from leaderboard.platform.health import Facts, Work
from tests.leaderboard.platform.api.helpers import ApiClient

pytestmark = pytest.mark.django_db
FINE = Facts(work=Work())
FULL = Facts(work=Work(), full_disks=["store"])


def hours_of(part):
    return [(row.checks, row.degraded, row.down) for row in StatusHour.objects.filter(part=part).order_by("hour")]


def test_checks_of_an_hour_are_one_row_for_each_part():
    for facts in (FINE, FULL, Facts(work=Work(paused=("openagi",)))):
        record(facts, serves_pages=True)
    assert hours_of(Part.STORE) == [(3, 0, 1)]
    assert hours_of(Part.SUITES) == [(3, 1, 0)]
    assert hours_of(Part.PAGES) == [(3, 0, 0)]
    assert StatusHour.objects.count() == len(Part)


def test_a_check_of_the_queue_says_nothing_about_pages():
    record(FINE, serves_pages=False)
    assert hours_of(Part.PAGES) == []
    assert hours_of(Part.QUEUE) == [(1, 0, 0)]


def test_one_process_checks_at_a_time_and_the_queue_only_without_a_web_process(monkeypatch):
    monkeypatch.setattr(history, "site_facts", lambda: FINE)
    assert check_status(serves_pages=True)
    assert not check_status(serves_pages=True)
    Moment.objects.filter(name="status-check").update(at=timezone.now() - timedelta(seconds=70))
    assert not check_status(serves_pages=False)
    assert check_status(serves_pages=True)
    Moment.objects.filter(name="status-check").update(at=timezone.now() - timedelta(seconds=170))
    assert check_status(serves_pages=False)
    assert hours_of(Part.QUEUE)[0][0] == 3
    assert hours_of(Part.PAGES)[0][0] == 2


def test_without_a_database_nothing_is_written(monkeypatch):
    monkeypatch.setattr(history, "site_facts", lambda: Facts(database_problem="no answer"))
    assert not check_status(serves_pages=True)
    assert not StatusHour.objects.exists()


def test_time_without_checks_is_unknown_and_not_up():
    now = timezone.now()
    yesterday = (now - timedelta(days=1)).replace(hour=5, minute=0, second=0, microsecond=0)
    StatusHour.objects.create(part=Part.QUEUE, hour=yesterday, checks=60, down=6, degraded=3)
    (queue,) = [part for part in part_histories(now=timezone.now()) if part.part == Part.QUEUE]
    assert len(queue.days) == 90
    day = queue.days[-2]
    assert day.minutes == Minutes(up=51, degraded=3, down=6, unknown=1380)
    assert (day.state, queue.days[-5].state) == ("down", "unknown")
    assert queue.days[-5].minutes == Minutes(unknown=1440)
    assert queue.total.uptime == 0.9
    row = part_row(queue)
    assert row.uptime == "90.00 %"
    assert row.bars[-5].words.endswith(": not measured")
    assert "6 min down, 3 min impaired" in row.note
    assert [bar.words[-33:] for bar in row.exceptions] == ["6 min down, 3 min impaired, 23 h not measured"[-33:]]


def test_an_hour_with_more_checks_than_minutes_has_sixty():
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=30)
    StatusHour.objects.create(part=Part.QUEUE, hour=hour, checks=600, down=1)
    (queue,) = [part for part in part_histories(now=timezone.now()) if part.part == Part.QUEUE]
    assert (queue.total.known, queue.total.down) == (60, 1)


def test_uptime_is_never_rounded_up_to_all_of_it():
    assert uptime_words(Minutes(up=100_000, down=1)) == "99.99 %"
    assert uptime_words(Minutes(up=10)) == "100 %"
    assert uptime_words(Minutes(unknown=10)) == "not measured"
    assert [span(minutes) for minutes in (5, 125, 60, 2880, 3060)] == [
        "5 min",
        "2 h 5 min",
        "1 h",
        "2 days",
        "2 days 3 h",
    ]


def test_an_outage_begins_goes_on_and_ends():
    record(FULL, serves_pages=True)
    record(Facts(work=Work(), full_disks=["uploads"]), serves_pages=True)
    (outage,) = Outage.objects.all()
    assert (outage.part, outage.code, outage.is_down, outage.ended) == (Part.STORE, "disk_full", True, None)
    assert outage.affected == "store, uploads"
    record(FINE, serves_pages=True)
    outage.refresh_from_db()
    assert outage.ended is not None
    assert outage.is_end_known
    record(FULL, serves_pages=True)
    assert Outage.objects.count() == 2


def test_an_outage_of_which_checks_were_missing_has_an_unknown_end():
    record(FULL, serves_pages=True)
    long_ago = timezone.now() - timedelta(hours=3)
    Outage.objects.update(began=long_ago, seen=long_ago)
    record(FULL, serves_pages=True)
    old, new = Outage.objects.order_by("pk")
    assert (old.ended, old.is_end_known, new.ended) == (long_ago, False, None)


def test_nothing_is_kept_for_longer_than_90_days():
    old = timezone.now() - timedelta(days=91)
    StatusHour.objects.create(part=Part.QUEUE, hour=old, checks=1)
    Outage.objects.create(part=Part.QUEUE, code="queue_stopped", is_down=True, began=old, seen=old, ended=old)
    record(FINE, serves_pages=True)
    assert not StatusHour.objects.filter(hour=old).exists()
    assert not Outage.objects.exists()


def test_page_and_api_show_the_same_history(client):
    record(FULL, serves_pages=True)
    page = client.get(reverse("status")).content.decode()
    assert "A disk was full; workers kept their results: <span" in page
    assert page.count('data-state="unknown"') >= 89 * len(Part)
    answer = ApiClient().get("status/history/").json()
    assert [part["part"] for part in answer["parts"]] == Part.values
    (storage,) = [part for part in answer["parts"] if part["part"] == "store"]
    assert (storage["uptime"], storage["days"][-1]["down"], storage["days"][0]["state"]) == (0.0, 1, "unknown")
    (outage,) = answer["outages"]
    assert (outage["code"], outage["affected"], outage["ended"]) == ("disk_full", "store", None)
