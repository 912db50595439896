"""Rewards through the API: what may be asked, what it costs, and the real thing in a process of its own."""

import pytest
from django.core.cache import cache

from evaluator.limited_process import Exceeded, LimitExceededError
from leaderboard.planners.places import Places
from leaderboard.quotas.models import REWARDS, QuotaBalance
from leaderboard.rewards import services
from leaderboard.site.api.throttling import Throttle
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.site.api.helpers import client_of

pytestmark = pytest.mark.django_db
PLANS = [{"task": "0", "completion": "Colorization"}, {"task": "1", "completion": ""}]


@pytest.fixture
def api(settings):
    settings.REWARDS_PER_DAY = 5
    make_suite(slug="openagi")
    return client_of(make_user("ada"))


def used():
    return list(QuotaBalance.objects.filter(suite=REWARDS).values_list("used", flat=True))


def ask(api, plans=PLANS, suite="openagi"):
    return api.post("rewards/", {"suite": suite, "plans": plans})


def test_plans_are_scored_in_their_order_and_counted(api):
    answer = ask(api)
    assert answer.status_code == 200
    assert answer.json() == {"suite": "openagi", "split": "validation", "samples": 4, "rewards": [1.0, 0.0]}
    assert used() == [2]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"suite": "nothing"}, "suite"),
        ({"plans": []}, "plans"),
        ({"plans": PLANS * 33}, "plans"),
        ({"plans": [{"task": "x1", "completion": ""}]}, "plans"),
        ({"plans": [{"task": "0", "completion": "a" * 10_001}]}, "plans"),
        ({"plans": [{"task": "0"}]}, "plans"),
    ],
)
def test_what_cannot_be_rewarded_is_refused_and_costs_nothing(api, change, field):
    answer = api.post("rewards/", {"suite": "openagi", "plans": PLANS, **change})
    assert answer.status_code == 400
    assert any(name.startswith(field) for name in answer.json()["errors"])
    assert used() == []


def test_the_quota_is_of_plans(api):
    assert [ask(api).status_code for _ in range(3)] == [200, 200, 429]
    refused = ask(api)
    assert refused.json()["code"] == "quota_exceeded"
    assert int(refused["Retry-After"]) > 0
    assert used() == [4]
    assert ask(api, plans=PLANS[:1]).status_code == 200
    assert ask(client_of(make_user("bob"))).status_code == 200


def test_what_gave_no_rewards_is_refunded(api, monkeypatch):
    def failing(self, **_):
        raise LimitExceededError(Exceeded.TIME)

    monkeypatch.setattr(FakeEvaluator, "rewards", failing)
    for _ in range(7):
        answer = ask(api)
        assert (answer.status_code, answer.json()["code"]) == (503, "too_costly")
        assert used() == [0]
    # Three times the quota of five: what always fails cannot be tried without end.
    assert ask(api).status_code == 429


def test_few_run_at_once_and_a_refused_call_costs_nothing(api, monkeypatch):
    places = Places(at_once=1, waiting=0, wait_seconds=0.1)
    monkeypatch.setattr(services, "_places", places)
    with places.taken():
        answer = ask(api)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer["Retry-After"]
    assert used() == [0]
    assert ask(api).status_code == 200


def test_calls_are_limited(api, monkeypatch):
    cache.clear()
    monkeypatch.setattr(Throttle, "THROTTLE_RATES", {**Throttle.THROTTLE_RATES, "rewards": "1/min"})
    assert [ask(api, plans=PLANS[:1]).status_code for _ in range(2)] == [200, 429]


class TestTheRealThing:
    @pytest.fixture(autouse=True)
    def _real(self, settings):
        settings.EVALUATOR = "leaderboard.catalog.library.Library"
        settings.PROFILE = "lilliput"

    @pytest.mark.timeout(180)
    def test_plans_are_executed_in_a_process_of_their_own(self, api):
        found = ask(api, plans=[{"task": "155", "completion": plan} for plan in ("Text Summarization", "I cannot")])
        assert found.status_code == 200, found.content
        right, wrong = found.json()["rewards"]
        assert 0 < right <= 1
        assert wrong == 0

    def test_a_suite_that_executes_nothing_is_refused(self, api):
        make_suite(slug="toolmini")
        answer = ask(api, suite="toolmini")
        assert answer.status_code == 400
        assert "no split that planners may learn from" in answer.json()["errors"]["suite"][0]

    def test_a_task_that_does_not_exist_is_named(self, api):
        answer = ask(api, plans=[{"task": "nothing", "completion": "Colorization"}])
        assert "has no task 'nothing'" in answer.json()["errors"]["plans"][0]

    def test_a_site_without_torch_says_so(self, api, monkeypatch):
        monkeypatch.setattr("leaderboard.catalog.library.find_spec", lambda name: None)
        answer = ask(api)
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert used() == []
