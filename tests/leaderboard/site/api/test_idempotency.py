"""`Idempotency-Key`: a pipeline that asks again submits once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations.models import IdempotencyKey, Submission
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.site.api.helpers import client_of
from tests.leaderboard.threads import in_threads

KEY = {"Idempotency-Key": "build-17"}


def body(suite, **planner) -> dict:
    return {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold", **planner}, "suites": [suite.slug]}


@pytest.mark.django_db
class TestOneAfterTheOther:
    def test_the_same_request_gives_the_first_submission_and_charges_nothing(self):
        client, suite = client_of(make_user()), make_suite()
        first = client.post("submissions/", body(suite), **KEY)
        again = client.post("submissions/", body(suite), **KEY)
        assert (first.status_code, again.status_code) == (201, 201)
        assert again.json() == first.json()
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["Idempotent-Replayed"] == "true"
        assert Submission.objects.count() == QuotaEntry.objects.count() == 1

    def test_another_request_with_the_key_is_422_while_another_key_user_or_day_submits(self):
        client, suite = client_of(make_user()), make_suite()
        client.post("submissions/", body(suite), **KEY)
        other = client.post("submissions/", body(suite, name="another"), **KEY)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
        assert client.post("submissions/", body(suite), **{"Idempotency-Key": "build-18"}).status_code == 201
        assert client.post("submissions/", body(suite)).status_code == 201
        assert Submission.objects.count() == 3
        assert client_of(make_user()).post("submissions/", body(suite), **KEY).status_code == 201, "each has its own"
        IdempotencyKey.objects.update(created=timezone.now() - timedelta(hours=25))
        assert client.post("submissions/", body(suite, name="another"), **KEY).status_code == 201, "a day later"
        for key in ("", "x" * 256, "schlüssel"):
            answer = client.post("submissions/", body(suite), **{"Idempotency-Key": key})
            assert answer.status_code == 400
            assert "printable ASCII" in answer.json()["errors"]["Idempotency-Key"][0]

    def test_a_request_that_was_refused_may_come_again_corrected(self, settings):
        settings.QUOTA_PER_DAY = 1
        client, suite = client_of(make_user()), make_suite()
        assert client.post("submissions/", body(suite, bundled_name="no such"), **KEY).status_code == 400
        client.post("submissions/", body(suite))
        assert client.post("submissions/", body(suite), **KEY).status_code == 429
        assert not IdempotencyKey.objects.exists()
        settings.QUOTA_PER_DAY = 2
        assert client.post("submissions/", body(suite), **KEY).status_code == 201

    def test_a_rerun_is_made_once_and_its_key_is_no_submission_s(self):
        evaluation = make_evaluation()
        services.cancel(evaluation)
        client = client_of(evaluation.submission.submitted_by)
        path = f"evaluations/{evaluation.pk}/rerun/"
        first, again = client.post(path, **KEY), client.post(path, **KEY)
        assert first.status_code == again.status_code == 201
        assert first.json()["id"] == again.json()["id"]
        assert client.post("submissions/", body(evaluation.suite), **KEY).status_code == 422
        assert evaluation.reruns.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_requests_that_arrive_at_once_one_submits_and_all_get_its_answer():
    user, suite = make_user(), make_suite()
    client_token = client_of(user)
    answers = []

    def ask() -> None:
        answers.append(client_token.post("submissions/", body(suite), **KEY))

    assert in_threads(ask, count=5) == []
    assert [answer.status_code for answer in answers] == [201] * 5
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 4
    assert Submission.objects.count() == 1
