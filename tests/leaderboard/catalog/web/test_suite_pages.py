"""The page of a suite, and how many planners solve a task."""

import re

import numpy as np
import pytest
from django.test import Client
from django.utils.html import escape

from evaluator.core.suites.audits import Audit, AuditedAttack, AuditedFlaw
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import suite_of
from evaluator.studies.validity.executed_plans import GOOD
from leaderboard.boards.services import publish
from leaderboard.catalog import audits
from leaderboard.catalog.models import Task
from leaderboard.catalog.web.task_list import NO_DIFFICULTY, Difficulty, count_solved, difficulties, task_means
from leaderboard.catalog.web.views import MOST_TASKS, examples
from leaderboard.evaluations.models import TaskResult
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user, read
from tests.leaderboard.executed import make_executed_evaluation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
ADDRESS = "/suites/openagi/"


def shown_keys(html: str) -> list[str]:
    return re.findall(r'<td class="task-key">(?:<a[^>]*>)?([^<]+)<', html)


def test_a_suite_without_a_board_shows_tasks_tools_metrics_and_datasheet(client: Client):
    suite = make_suite()
    html = read(client, ADDRESS)
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
    html = read(client, ADDRESS, q="GERMAN")
    assert shown_keys(html) == wanted[:25]
    assert f"{len(wanted)} of 185 shown" in html
    assert shown_keys(read(client, ADDRESS, q="#12")) == ["12"]
    assert shown_keys(read(client, ADDRESS, metric="CLIP")) == [
        task.key for task in suite.tasks.filter(metric="CLIP").order_by("position")
    ]
    assert shown_keys(read(client, ADDRESS, page="2"))[0] == "25"
    assert "No task matches." in read(client, ADDRESS, q="no such words")


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


def test_the_audit_of_this_version_is_shown_on_the_page_and_in_the_api(client: Client, monkeypatch):
    audit = an_audit(digest=make_suite().digest)
    monkeypatch.setattr(audits, "audit_of", lambda _: audit)
    html = " ".join(read(client, ADDRESS).split())
    assert "What is scored without solving" in html
    assert "Gaps in the scores" in html
    assert "two &lt;b&gt;guesses&lt;/b&gt;" in html
    assert ">1.3</td>" in html
    assert "Lists: 80.0 points. The list is published." in html
    assert "No attack applies." in html
    shown = client.get(f"/api/v1{ADDRESS}").json()["audit"]
    assert [(flaw["name"], flaw["attacks"], flaw["points"]) for flaw in shown["flaws"]] == [
        ("scoring-gaps", 2, 1.25), ("permissions", 0, None),
    ]  # fmt: skip
    assert (shown["flaws"][0]["best"], shown["flaws"][0]["floor"], shown["gold"]) == (
        "two <b>guesses</b>",
        "no-op",
        1.0,
    )


def test_the_audit_of_another_version_is_not_shown(client: Client, monkeypatch):
    make_suite()
    monkeypatch.setattr(audits, "audit_of", lambda _: an_audit(digest="0" * 64))
    assert "What is scored without solving" not in read(client, ADDRESS)
    assert client.get(f"/api/v1{ADDRESS}").json()["audit"] is None


def an_audit(*, digest: str) -> Audit:
    guesses = AuditedAttack(
        name="two <b>guesses</b>", description="It guesses.", knows="request", score=0.0125, floor="no-op", points=1.25
    )
    lists = guesses.model_copy(
        update={"name": "lists", "score": 0.8, "points": 80.0, "inherent": "The list is published."}
    )
    return Audit(
        suite="openagi", suite_version="1", digest=digest, rules="0", column="SE", split="hidden",
        tasks=120, samples=1, gold=1.0,
        floors=(),
        flaws=(
            AuditedFlaw(
                name="scoring-gaps", title="Gaps in the scores", description="Do guesses pay?", attacks=(guesses, lists)
            ),
            AuditedFlaw(name="permissions", title="Permissions", description="May it?", attacks=()),
        ),
    )  # fmt: skip


def test_examples_are_given_different_things():
    chosen = examples(suite_of("openagi"))
    kinds = [" ".join(sorted(map(str, task.resources.values()))) for task in chosen]
    assert 1 < len(set(kinds)) == len(kinds) <= MOST_TASKS


NAN = float("nan")


def test_means_leave_out_samples_that_do_not_count():
    table = np.array([[1.0, 0.5], [NAN, 0.5], [NAN, NAN]], dtype=np.float32)
    assert task_means(table).tolist()[:2] == [0.75, 0.5]
    assert np.isnan(task_means(table)[2])


def test_a_task_is_solved_from_the_threshold_on_and_never_by_zero():
    means = [np.array([0.9, 0.0, NAN, 0.6]), np.array([0.8999999, 0.5, NAN, 0.59])]
    solved, measured = count_solved(means, threshold=np.array([0.9, 0.0, 0.5, 0.6]))
    assert solved.tolist() == [2, 1, 0, 1]
    assert measured.tolist() == [2, 2, 0, 2]
    assert (NO_DIFFICULTY.share, Difficulty(solved=1, planners=4).share) == (None, 0.25)


@pytest.mark.django_db
def test_the_gold_planner_sets_the_threshold_and_is_not_counted():
    suite = make_suite()
    task, other = Task.objects.filter(suite=suite).order_by("position")[:2]
    scores = {"gold": 0.8, "word-overlap": 0.8 * GOOD, "random-valid": 0.8 * GOOD - 0.05}
    for name, score in scores.items():
        planner = make_planner(owner=make_user(name), name=name, bundled_name=name)
        evaluation = make_evaluation(planner=planner, suite=suite, samples=2)
        TaskResult.objects.create(
            evaluation=evaluation, task=task, outcome="scored", score=score, sample_scores=[score, score]
        )
        newest = publish(evaluation)
    assert newest is not None
    found = difficulties(suite=suite, snapshot=newest)
    assert found[task.pk] == Difficulty(solved=1, planners=2)
    assert found[other.pk] == NO_DIFFICULTY
