"""Rewards through the API: what may be asked, what it costs, and the real thing in a process of its own."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db.models import F
from django.db.models.functions import Now

from evaluator.sandbox.limited_process import Exceeded, LimitExceededError
from leaderboard.platform.api.throttling import Throttle
from leaderboard.queue.jobs import claim
from leaderboard.queue.models import Job
from leaderboard.quotas.models import REWARDS as REWARDS_BALANCE
from leaderboard.quotas.models import QuotaBalance
from leaderboard.quotas.services import CHARGES_PER_QUOTA
from leaderboard.rewards.services import LONGEST_SECONDS, REWARDS
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.job_helpers import ended

pytestmark = pytest.mark.django_db
PLANS = [{"task": "0", "completion": "Colorization"}, {"task": "1", "completion": ""}]


@pytest.fixture
def api(settings):
    settings.REWARD_SECONDS_PER_DAY = 3600
    make_suite(slug="openagi")
    return client_of(make_user("ada"))


def used():
    return list(QuotaBalance.objects.filter(suite=REWARDS_BALANCE).values_list("used", flat=True))


def charged():
    return list(QuotaBalance.objects.filter(suite=REWARDS_BALANCE).values_list("charged", flat=True))


def ask(api, plans=PLANS, suite="openagi"):
    return api.post("rewards/", {"suite": suite, "plans": plans})


def rewarded(api, plans=PLANS, suite="openagi"):
    return ended(api, ask(api, plans=plans, suite=suite))


def lasting(monkeypatch, seconds, *, error=None):
    """Executing plans takes so long, by the database's clock."""

    def rewards(self, *, proposals, **_):
        Job.objects.filter(state="running").update(started=F("started") - timedelta(seconds=seconds - 0.5))
        if error is not None:
            raise error
        return [1.0 for _ in proposals]

    monkeypatch.setattr(FakeEvaluator, "rewards", rewards)


def test_plans_are_scored_in_their_order(api):
    job = rewarded(api)
    assert job["result"] == {"suite": "openagi", "split": "validation", "samples": 4, "rewards": [1.0, 0.0]}
    assert job["seconds"] == 1
    assert used() == [1]


def test_what_cannot_be_rewarded_is_refused_and_costs_nothing(api):
    for change, field in (
        ({"suite": "nothing"}, "suite"),
        ({"plans": []}, "plans"),
        ({"plans": PLANS * 33}, "plans"),
        ({"plans": [{"task": "x1", "completion": ""}]}, "plans"),
        ({"plans": [{"task": "0", "completion": "a" * 10_001}]}, "plans"),
        ({"plans": [{"task": "0"}]}, "plans"),
    ):
        answer = api.post("rewards/", {"suite": "openagi", "plans": PLANS, **change})
        assert answer.status_code == 400, change
        assert any(name.startswith(field) for name in answer.json()["errors"]), change
    assert used() == []


def test_a_call_is_charged_its_longest_when_accepted_and_its_seconds_when_it_ended(api, monkeypatch):
    lasting(monkeypatch, 17)
    accepted = ask(api)
    assert used() == [LONGEST_SECONDS]
    assert accepted.json()["seconds"] is None
    assert ended(api, accepted)["seconds"] == 17
    assert used() == charged() == [17]


def test_plans_that_take_too_long_are_charged_like_others(api, monkeypatch):
    lasting(monkeypatch, 62, error=LimitExceededError(Exceeded.TIME))
    job = rewarded(api)
    assert (job["state"], job["problem"]["code"], job["seconds"]) == ("failed", "too_costly", LONGEST_SECONDS)
    assert used() == [LONGEST_SECONDS]


def test_the_quota_is_of_seconds_and_each_user_has_one(api, settings, monkeypatch):
    settings.REWARD_SECONDS_PER_DAY = 2 * LONGEST_SECONDS
    lasting(monkeypatch, LONGEST_SECONDS)
    waiting = [ask(api) for _ in range(3)]
    assert [one.status_code for one in waiting] == [202, 202, 429], "charged when accepted"
    assert [ended(api, one)["state"] for one in waiting[:2]] == ["done", "done"]
    refused = ask(api)
    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    assert int(refused["Retry-After"]) > 0
    assert used() == [2 * LONGEST_SECONDS]
    assert ask(client_of(make_user("bob"))).status_code == 202


@pytest.mark.parametrize("abandoned", ["waiting", "running"])
def test_what_the_site_did_not_finish_is_refunded_but_not_without_end(api, settings, abandoned):
    settings.REWARD_SECONDS_PER_DAY = LONGEST_SECONDS
    for _ in range(CHARGES_PER_QUOTA):
        accepted = ask(api)
        assert accepted.status_code == 202
        if abandoned == "running":
            claim(REWARDS)
        Job.objects.filter(state=abandoned).update(deadline=Now())
        job = api.get(accepted["Location"].removeprefix("/api/v1/")).json()
        assert (job["problem"]["code"], job["seconds"]) == ("interrupted", 0)
        assert used() == [0]
    assert ask(api).status_code == 429


def test_a_defect_is_refunded(api, monkeypatch):
    lasting(monkeypatch, 5, error=RuntimeError("a defect"))
    assert rewarded(api)["problem"]["code"] == "internal_error"
    assert used() == [0]


def test_a_user_has_few_unfinished_calls_and_a_refused_one_is_not_charged(api):
    answers = [ask(api) for _ in range(REWARDS.unfinished + 1)]
    assert [answer.status_code for answer in answers] == [202] * REWARDS.unfinished + [429]
    assert answers[-1].json()["code"] == "too_many_jobs"
    assert used() == [REWARDS.unfinished * LONGEST_SECONDS]


def test_calls_are_limited(api, monkeypatch):
    cache.clear()
    monkeypatch.setattr(Throttle, "THROTTLE_RATES", {**Throttle.THROTTLE_RATES, "rewards": "1/min"})
    assert [ask(api, plans=PLANS[:1]).status_code for _ in range(2)] == [202, 429]


class TestTheRealThing:
    @pytest.fixture(autouse=True)
    def _real(self, settings):
        settings.EVALUATOR = "leaderboard.catalog.library.Library"
        settings.PROFILE = "lilliput"

    @pytest.mark.full
    @pytest.mark.timeout(180)
    def test_plans_are_executed_in_a_process_of_their_own(self, api):
        job = rewarded(api, plans=[{"task": "155", "completion": plan} for plan in ("Text Summarization", "I cannot")])
        assert job["state"] == "done", job
        right, wrong = job["result"]["rewards"]
        assert 0 < right <= 1
        assert wrong == 0

    def test_a_suite_that_executes_nothing_and_a_task_that_does_not_exist_are_named(self, api):
        make_suite(slug="toolmini")
        errors = ask(api, suite="toolmini").json()["errors"]
        assert "no split that planners may learn from" in errors["suite"][0]
        errors = ask(api, plans=[{"task": "nothing", "completion": "Colorization"}]).json()["errors"]
        assert "has no task 'nothing'" in errors["plans"][0]

    def test_a_site_without_torch_says_so(self, api, monkeypatch):
        monkeypatch.setattr("leaderboard.catalog.library.find_spec", lambda name: None)
        answer = ask(api)
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert used() == []
