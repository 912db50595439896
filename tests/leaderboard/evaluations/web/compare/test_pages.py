"""The comparison page, what it refuses, and the same through the API."""

import re
from uuid import UUID, uuid4

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.web.compare.comparing import cause_table
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_user,
)
from tests.leaderboard.factories import make_season
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.platform.api.helpers import ApiClient

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


@pytest.fixture
def pair(suite: Suite) -> list[Evaluation]:
    """The second is better on 15 of 20 tasks."""
    return [make_scored(suite, "low", LOW), make_scored(suite, "high", HIGH)]


def test_the_sentence_says_who_is_better_by_how_much_and_how_sure_that_is(client: Client, suite: Suite, pair):
    html = read(client, *pair)
    assert "B (high) scores higher than A (low) in Overall by 0.075 (" in html
    assert "p &lt; 0.0001, over 20 tasks." in html
    assert "20 tasks: 15 better, 0 worse, 5 equal" in html
    assert "165 tasks are left out (165 no result)" in html
    one = make_scored(suite, "one", {"0": 0.4, "1": 0.5}, spread=0.3)
    html = read(client, one, make_scored(suite, "two", {"0": 0.6, "1": 0.4}, spread=-0.3))
    assert "A difference of this size may be due to chance." in html


def test_tasks_differ_most_first_and_are_filtered_while_the_pair_is_kept(client: Client, suite: Suite, pair):
    low, high = pair
    TaskResult.objects.filter(evaluation=high, task__key="7").update(score=0.9, sample_scores=[0.9] * 32)
    html = read(client, low, high)
    assert shown_tasks(html)[:2] == ["7", "0"]
    for evaluation in pair:
        assert f"/evaluations/{evaluation.pk}/tasks/7/" in html
    assert shown_tasks(read(client, low, high, winner="A")) == []
    html = read(client, low, high, winner="B", degradation="noise")
    wanted = [
        task.key
        for task in Task.objects.filter(suite=suite, key__in=KEYS[:15]).order_by("position")
        if "noise" in task.attributes["degradations"]
    ]
    assert sorted(shown_tasks(html), key=int) == wanted
    assert f"e={low.pk}&amp;e={high.pk}&amp;degradation=noise" in html, "taking the winner away keeps the rest"


def test_of_a_hidden_split_no_input_is_shown(client: Client, suite: Suite):
    html = read(client, *(make_scored(suite, name, LOW, split="hidden") for name in ("one", "two")))
    assert "/hidden-objects/" not in html
    assert "<img" not in html


def test_what_cannot_be_compared_is_named_with_its_reason(client: Client, suite: Suite, pair):
    one = pair[0]
    other = make_scored(suite, "two", LOW, samples=4, split="hidden")
    seasons = [make_season(name) for name in ("2026-a", "2026-b")]
    first, second = (
        make_scored(suite, season.name, LOW, split="hidden", season=season, data_digest=letter * 64)
        for season, letter in zip(seasons, "cd", strict=True)
    )
    running = make_scored(suite, "slow", {}, state="running")
    for compared, sentences in (
        ([one, other], ["the split (A: public, B: hidden).", "the number of samples per task (A: 8, B: 4)."]),
        ([first, second], ["the season (A: 2026-a, B: 2026-b).",
                           "the digest of the data (A: cccccccccccc, B: dddddddddddd)."]),
        ([one, running], ["The evaluation of slow has not ended (running)"]),
        ([one, "x"], ["“x” is not the id"]),
        ([one, UUID(int=1)], ["There is no evaluation"]),
        ([uuid4() for _ in range(7)], ["at most 6"]),
    ):  # fmt: skip
        html = read(client, *compared, status=400)
        for sentence in sentences:
            assert sentence in html


def test_none_and_one_lead_on_to_the_best_of_the_board(client: Client, pair):
    assert "No evaluations selected" in read(client)
    one, two = pair
    for compared in ([one], [one, one]):
        assert "nothing to compare yet" in read(client, *compared), "twice the same is one"
    publish(two)
    html = read(client, one)
    assert f'value="{two.pk}"' in html
    assert f'type="checkbox" id="e-1" name="e" value="{one.pk}"' not in html


def test_the_api_gives_what_the_page_shows_and_names_the_field_of_bad_questions(pair):
    ids = [str(one.pk) for one in pair]
    body = ApiClient().get("compare/", e=ids).json()
    assert body["evaluations"] == ids
    (found,) = body["comparisons"]
    overall = found["metrics"][0]
    assert overall["difference"] == pytest.approx(0.075)
    assert overall["low"] <= overall["difference"] <= overall["high"]
    assert (overall["wins"], overall["losses"], overall["ties"], overall["tasks"]) == (15, 0, 5, 20)
    assert overall["p_value"] == overall["p_adjusted"] == 2**-31
    assert found["left_out"] == {"pending": 165}
    assert {group["facet"] for group in found["groups"]} >= {"base", "degradation"}
    assert body["differing"] == len(body["tasks"]) == 15
    for query, field in (
        ({}, "e"),
        ({"e": ["x"]}, "e"),
        ({"e": ids[:1]}, "e"),
        ({"e": ids, "metric": "odd"}, "metric"),
    ):
        response = ApiClient().get("compare/", **query)
        assert (response.status_code, list(response.json()["errors"])) == (400, [field])


def test_causes_are_counted_over_the_tasks_for_which_both_are_known():
    first = [("wrong_tool",), ("wrong_tool", "missing_step"), (), None, ("timeout",)]
    other = [("wrong_tool",), ("missing_step",), ("extra_step",), ("extra_step",), None]
    table = cause_table([first, other])
    assert table.common == (3,)
    rows = {row.cause: row.counts[0] for row in table.rows}
    assert list(rows) == ["missing_step", "extra_step", "wrong_tool"]
    assert [(one.first, one.tasks, one.both, one.difference, one.shown) for one in rows.values()] == [
        (1, 1, 1, 0, "0"),
        (0, 1, 0, 1, "+1"),
        (2, 1, 1, -1, "\N{MINUS SIGN}1"),
    ]
    assert (rows["wrong_tool"].fewer, rows["wrong_tool"].more) == (1, 0)


def test_every_evaluation_is_counted_against_the_first():
    table = cause_table([[("timeout",)], [()], [("timeout",)]])
    assert [count.difference for count in table.rows[0].counts] == [-1, 0]


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store")
def test_page_and_api_have_a_table_whose_causes_filter_the_tasks(client: Client, settings):
    settings.EVALUATOR = REAL
    one = make_clumsy_evaluation(user=make_user("one"))
    mistakes = {"image_detection/0": "nothing", "QA/0": "nothing"}
    ids = [str(one.pk), str(make_clumsy_evaluation(user=make_user("two"), mistakes=mistakes).pk)]
    html = client.get("/compare/", {"e": ids}).content.decode()
    assert "Abstained" in html[html.index('id="causes"') : html.index('id="results"')]
    filtered = client.get("/compare/", {"e": ids, "why": "unreadable"}).content.decode()
    assert filtered.count('class="task-key"') == 1
    assert "count_object/0" in filtered
    (pair,) = ApiClient().get("compare/", e=ids).json()["comparisons"]
    found = {one["cause"]: (one["first"], one["tasks"], one["both"], one["difference"]) for one in pair["causes"]}
    assert found == {"invented_resource": (1, 0, 0, -1), "abstained": (1, 2, 1, 1), "unreadable": (1, 0, 0, -1)}
