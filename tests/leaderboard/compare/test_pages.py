"""The comparison page, what it refuses, and the same through the API."""

import re
from uuid import UUID, uuid4

import pytest
from django.test import Client

from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.factories import make_season
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_result, make_suite, make_user
from tests.leaderboard.site.api.helpers import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def suite() -> Suite:
    """OpenAGI."""
    return make_suite()


def make_scored(
    suite: Suite, name: str, scores: dict[str, float], *, scenes: int = 32, spread: float = 0.0, **fields: object
) -> Evaluation:
    """An evaluation of a planner with this name whose tasks have these scores, `spread` more on every other scene and
    less on the rest; the other tasks have no result."""
    owner = make_user(f"owner of {name}"[:30])
    evaluation = make_evaluation(planner=make_planner(owner=owner, name=name), suite=suite, **fields)
    for task in Task.objects.filter(suite=suite, key__in=scores):
        make_result(evaluation=evaluation, task=task, samples=0)
        TaskResult.objects.filter(evaluation=evaluation, task=task).update(
            score=scores[task.key], sample_scores=[scores[task.key] + spread * (-1) ** scene for scene in range(scenes)]
        )
    return evaluation


KEYS = [str(number) for number in range(20)]
LOW, HIGH = dict.fromkeys(KEYS, 0.4), {key: 0.5 if number < 15 else 0.4 for number, key in enumerate(KEYS)}


def read(client: Client, *evaluations: object, status: int = 200, **query: str) -> str:
    ids = [getattr(one, "pk", one) for one in evaluations]
    response = client.get("/compare/", {"e": ids, **query})
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


def shown_tasks(html: str) -> list[str]:
    return re.findall(r'<th scope="row" class="task-key"><a\s[^>]*>([\w/]+)<', html)


class TestPage:
    def test_the_sentence_says_who_is_better_by_how_much_and_how_sure_that_is(self, client: Client, suite: Suite):
        html = read(client, make_scored(suite, "low", LOW), make_scored(suite, "high", HIGH))
        assert "B (high) scores higher than A (low) in Overall by 0.075 (" in html
        assert "p &lt; 0.0001, over 20 tasks." in html
        assert "20 tasks: 15 better, 0 worse, 5 equal" in html
        assert "165 tasks are left out (165 no result)" in html

    def test_a_difference_that_may_be_chance_is_called_so(self, client: Client, suite: Suite):
        html = read(
            client,
            make_scored(suite, "one", {"0": 0.4, "1": 0.5}, spread=0.3),
            make_scored(suite, "two", {"0": 0.6, "1": 0.4}, spread=-0.3),
        )
        assert "A difference of this size may be due to chance." in html

    def test_tasks_differ_most_first_with_links_to_both(self, client: Client, suite: Suite):
        low = make_scored(suite, "low", LOW)
        high = make_scored(suite, "high", {**HIGH, "7": 0.9})
        html = read(client, low, high)
        assert shown_tasks(html)[:2] == ["7", "0"]
        for evaluation in (low, high):
            assert f"/evaluations/{evaluation.pk}/tasks/7/" in html
        assert "Image" in html, "the plans are summarised"

    def test_filters_combine_and_keep_what_is_compared(self, client: Client, suite: Suite):
        low, high = make_scored(suite, "low", LOW), make_scored(suite, "high", HIGH)
        assert shown_tasks(read(client, low, high, winner="A")) == []
        assert len(shown_tasks(read(client, low, high, winner="B"))) == 15
        html = read(client, low, high, winner="B", degradation="noise")
        wanted = [
            task.key
            for task in Task.objects.filter(suite=suite, key__in=KEYS[:15]).order_by("position")
            if "noise" in task.attributes["degradations"]
        ]
        assert shown_tasks(html) == wanted
        assert f"e={low.pk}&amp;e={high.pk}&amp;degradation=noise" in html, "taking the winner away keeps the rest"

    def test_of_a_hidden_split_no_input_is_shown(self, client: Client, suite: Suite):
        evaluations = [make_scored(suite, name, LOW, split="hidden") for name in ("one", "two")]
        html = read(client, *evaluations)
        assert "/hidden-objects/" not in html
        assert "<img" not in html


class TestRefusing:
    def test_other_conditions_are_named(self, client: Client, suite: Suite):
        one, other = make_scored(suite, "one", LOW), make_scored(suite, "two", LOW, samples=4, split="hidden")
        html = read(client, one, other, status=400)
        assert "They differ in the split (A: public, B: hidden)." in html
        assert "They differ in the number of samples per task (A: 8, B: 4)." in html

    def test_other_seasons_are_named(self, client: Client, suite: Suite):
        seasons = [make_season(name) for name in ("2026-a", "2026-b")]
        pair = [
            make_scored(suite, season.name, LOW, split="hidden", season=season, data_digest=letter * 64)
            for season, letter in zip(seasons, "cd", strict=True)
        ]
        html = read(client, *pair, status=400)
        assert "They differ in the season (A: 2026-a, B: 2026-b)." in html
        assert "They differ in the digest of the data (A: cccccccccccc, B: dddddddddddd)." in html

    def test_what_has_not_ended_is_named(self, client: Client, suite: Suite):
        running = make_scored(suite, "slow", {}, state="running")
        html = read(client, make_scored(suite, "one", LOW), running, status=400)
        assert "The evaluation of slow has not ended (running)" in html

    @pytest.mark.parametrize(
        ("given", "said"), [("x", "“x” is not the id"), (str(UUID(int=1)), "There is no evaluation")]
    )
    def test_an_id_that_is_none_is_named(self, client: Client, suite: Suite, given: str, said: str):
        assert said in read(client, make_scored(suite, "one", LOW), given, status=400)

    def test_more_than_six_are_too_many(self, client: Client):
        assert "at most 6" in read(client, *[uuid4() for _ in range(7)], status=400)

    def test_none_and_one_lead_on(self, client: Client, suite: Suite):
        assert "No evaluations selected" in read(client)
        one = make_scored(suite, "one", LOW)
        assert "nothing to compare yet" in read(client, one)
        assert "nothing to compare yet" in read(client, one, one), "twice the same is one"

    def test_one_is_offered_the_best_of_its_board(self, client: Client, suite: Suite):
        from leaderboard.boards.services import publish

        one, two = make_scored(suite, "one", LOW), make_scored(suite, "two", HIGH)
        publish(two)
        html = read(client, one)
        assert f'value="{two.pk}"' in html
        assert f'type="checkbox" id="e-1" name="e" value="{one.pk}"' not in html


class TestApi:
    def test_it_gives_what_the_page_shows(self, suite: Suite):
        low, high = make_scored(suite, "low", LOW), make_scored(suite, "high", HIGH)
        body = ApiClient().get("compare/", e=[str(low.pk), str(high.pk)]).json()
        assert body["evaluations"] == [str(low.pk), str(high.pk)]
        (pair,) = body["comparisons"]
        overall = pair["metrics"][0]
        assert overall["difference"] == pytest.approx(0.075)
        assert overall["low"] <= overall["difference"] <= overall["high"]
        assert (overall["wins"], overall["losses"], overall["ties"], overall["tasks"]) == (15, 0, 5, 20)
        assert overall["p_value"] == overall["p_adjusted"] == 2**-31
        assert pair["left_out"] == {"pending": 165}
        assert {group["facet"] for group in pair["groups"]} >= {"base", "degradation"}
        assert body["differing"] == len(body["tasks"]) == 15

    def test_bad_questions_are_400_and_name_the_field(self, suite: Suite):
        one, two = make_scored(suite, "one", LOW), make_scored(suite, "two", LOW)
        api = ApiClient()
        for query, field in (
            ({}, "e"),
            ({"e": ["x"]}, "e"),
            ({"e": [str(one.pk)]}, "e"),
            ({"e": [str(one.pk), str(two.pk)], "metric": "odd"}, "metric"),
        ):
            response = api.get("compare/", **query)
            assert response.status_code == 400
            assert list(response.json()["errors"]) == [field]
