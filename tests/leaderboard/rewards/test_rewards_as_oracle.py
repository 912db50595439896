"""An attacker asks the API of rewards about the requests of an open season, in every way and many times: whatever is
asked, the answer depends on nothing but the names of the suite, and nothing is executed or charged."""

import pytest

from evaluator.core.suites.hidden import HIDDEN, asked_name
from evaluator.core.suites.registry import suite_names, suite_of
from leaderboard.catalog.models import Season, Suite
from leaderboard.queue.models import Job
from leaderboard.quotas.models import REWARDS as REWARDS_BALANCE
from leaderboard.quotas.models import QuotaBalance
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_season, make_suite, make_user
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.job_helpers import ended

pytestmark = pytest.mark.django_db
GUESSES = ("", "Colorization", "Image Denoising, Colorization", '{"steps": [], "answers": []}', "x" * 10_000)


@pytest.fixture
def api(settings, monkeypatch):
    settings.SPLIT, settings.REWARD_SECONDS_PER_DAY = HIDDEN, 0
    monkeypatch.setattr(FakeEvaluator, "rewards", refused)
    return client_of(make_user("mallory"))


def refused(self, **_):
    raise AssertionError("a plan was executed for an attacker")


def hidden_suites() -> list[Suite]:
    return [
        make_suite(slug=slug)
        for slug in suite_names()
        if suite_of(slug).hidden_requests is not None and suite_of(slug).training_splits
    ]


def names_of(suite: Suite) -> list[str]:
    """What an attacker may call hidden requests: public keys, and ids as planners receive them."""
    keys = [task.key for task in suite_of(suite.slug).tasks[:2]]
    return [*keys, *(asked_name(key, suite=suite.slug, seed="a" * 64) for key in keys), "nothing"]


def test_many_questions_about_an_open_season_have_one_answer(api):
    suites = hidden_suites()
    make_season()
    assert len(suites) > 3
    for suite in suites:
        answers = set()
        for task in names_of(suite):
            for guess in GUESSES:
                answer = api.post("rewards/", {"suite": suite.slug, "plans": [{"task": task, "completion": guess}]})
                assert answer.status_code == 400, suite.slug
                answers.add(str(answer.json()["errors"]))
        assert len(answers) == 1, f"{suite.slug}: the answer depends on the task or the plan"
        assert "withheld" in answers.pop()
    assert not Job.objects.exists()
    assert not QuotaBalance.objects.filter(suite=REWARDS_BALANCE).exists()


def test_while_the_site_evaluates_hidden_data_neither_a_closed_season_nor_none_opens_them(api):
    suite = make_suite(slug="openagi")
    ask = {"suite": suite.slug, "plans": [{"task": "0", "completion": "Colorization"}]}
    assert api.post("rewards/", ask).status_code == 400
    make_season()
    Season.objects.update(closed="2026-01-01T00:00Z")
    assert api.post("rewards/", ask).status_code == 400


def test_rewards_of_a_site_with_open_data_are_those_of_the_training_split_only(api, settings, monkeypatch):
    settings.SPLIT = "public"
    asked = []
    monkeypatch.setattr(FakeEvaluator, "rewards", lambda self, **request: asked.append(request) or [0.5])
    suite = make_suite(slug="openagi")
    body = {"suite": suite.slug, "plans": [{"task": "0", "completion": "Colorization"}]}
    assert ended(api, api.post("rewards/", body))["result"]["split"] in suite_of("openagi").training_splits
    assert [api.post("rewards/", {**body, "split": split}).status_code for split in ("hidden", "public")] == [400, 400]
    assert len(asked) == 1
    assert "split" not in asked[0]
