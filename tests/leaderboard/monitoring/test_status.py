"""What everybody may know of how the site is doing."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.monitoring.status import site_status, verdict
from leaderboard.notifications.models import OutboxMessage
from leaderboard.submissions.own_workers import mark
from tests.leaderboard.factories import make_evaluation, make_lease


@pytest.mark.django_db
class TestThePage:
    def test_it_tells_what_waits_and_who_works(self, launcher):
        make_evaluation()
        working = make_evaluation(state="launching")
        make_lease(working)
        found = site_status()
        assert {each.state: each.evaluations for each in found.standing} == {"queued": 1, "running": 1}
        assert (found.workers, found.queue.leased) == (1, 1)
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
