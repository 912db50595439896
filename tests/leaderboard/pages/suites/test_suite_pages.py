"""The page of a suite."""

import re

import pytest
from django.test import Client
from django.utils.html import escape

from evaluator.suites.hidden import HIDDEN
from evaluator.suites.registry import suite_of
from leaderboard.boards.services import publish
from leaderboard.pages.suites.data_shown import MOST_TASKS, examples
from tests.leaderboard.executed import make_executed_evaluation
from tests.leaderboard.pages.factories import make_suite, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
ADDRESS = "/suites/openagi/"


def read(client: Client, address: str = ADDRESS, **query: str) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


def shown_keys(html: str) -> list[str]:
    return re.findall(r'<td class="task-key">(?:<a[^>]*>)?([^<]+)<', html)


def test_a_suite_without_a_board_shows_tasks_tools_metrics_and_datasheet(client: Client):
    suite = make_suite()
    html = read(client)
    assert shown_keys(html) == [str(number) for number in range(25)]
    assert "(image: image) → text: text" in html
    for column in suite.shown_columns:
        assert f"<dt>{escape(column.label)}</dt>" in html
    assert "<h3>Collection process</h3>" in html
    assert "@misc{ge2023openagi" in html
    assert "Solved by" not in html


def test_tasks_are_searched_filtered_and_paged(client: Client):
    suite = make_suite()
    wanted = [task.key for task in suite.tasks.order_by("position") if "german" in task.text.lower()]
    html = read(client, q="GERMAN")
    assert shown_keys(html) == wanted[:25]
    assert f"{len(wanted)} of 185 shown" in html
    assert shown_keys(read(client, q="#12")) == ["12"]
    assert shown_keys(read(client, metric="CLIP")) == [
        task.key for task in suite.tasks.filter(metric="CLIP").order_by("position")
    ]
    assert shown_keys(read(client, page="2"))[0] == "25"
    assert "No task matches." in read(client, q="no such words")


def test_a_published_run_gives_difficulty_and_pictures(client: Client):
    evaluation = make_executed_evaluation(user=make_user())
    publish(evaluation)
    html = read(client, "/suites/toolworld/")
    assert f'href="/evaluations/{evaluation.pk}/tasks/image_detection/0"' in html.replace("/0/", "/0")
    assert re.search(r"1 of 1</span>", html)
    assert re.search(r'<img src="/objects/[0-9a-f]{64}"', html)
    hardest = shown_keys(read(client, "/suites/toolworld/", sort="difficulty"))[0]
    assert hardest != "image_detection/0"
    unsolved = shown_keys(read(client, "/suites/toolworld/", difficulty="none"))
    assert "image_detection/0" not in unsolved
    assert hardest in unsolved


def test_of_a_hidden_split_the_page_tells_nothing(client: Client, settings):
    evaluation = make_executed_evaluation(user=make_user())
    evaluation.split = HIDDEN
    evaluation.save()
    settings.SPLIT = HIDDEN
    publish(evaluation)
    html = read(client, "/suites/toolworld/")
    assert str(evaluation.pk) not in html
    assert "Solved by" not in html
    assert "/objects/" not in html
    assert "/hidden-objects/" not in html


def test_examples_are_given_different_things():
    chosen = examples(suite_of("openagi"))
    kinds = [" ".join(sorted(map(str, task.resources.values()))) for task in chosen]
    assert 1 < len(set(kinds)) == len(kinds) <= MOST_TASKS
