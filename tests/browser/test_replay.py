"""A browser replays the newest executed task, and goes on to the next one while the evaluation runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.asgi import get_asgi_application
from playwright.sync_api import Page, expect, sync_playwright

from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation
from tests.browser.test_following import FLAGS, PATIENCE, at_the_database, make_running
from tests.leaderboard.evaluations.web.factories import make_result
from tests.leaderboard.serving import server
from tests.run import find_browser

__all__ = ["at_the_database"]
pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]
STEPS = ".watched-steps li"


@pytest.fixture
def evaluation(settings, tmp_path: Path) -> Evaluation:
    settings.STORE_DIR = tmp_path / "store"
    running = make_running()
    end_task(running, place=0)
    return running


def end_task(evaluation: Evaluation, *, place: int) -> None:
    """A result with a record, of one of the tasks whose plans have one step."""
    tasks = [task for task in Task.objects.filter(suite=evaluation.suite, metric="ViT") if len(task.gold["steps"]) == 1]
    make_result(evaluation=evaluation, task=tasks[place])


@pytest.fixture
def page(settings, tmp_path: Path, evaluation) -> Iterator[Page]:
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()
    settings.WHITENOISE_USE_FINDERS = True
    with server(get_asgi_application()) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield browser.new_context(base_url=url).new_page()
        browser.close()


def test_the_graph_fills_in_and_can_be_stopped_and_played_again(page):
    page.goto("/watch/")
    button = page.locator("[data-watch=toggle]")
    button.click()
    expect(button).to_have_text("Play")
    expect(page.locator(".node.answer")).to_have_attribute("data-state", "waiting")
    button.click()
    expect(button).to_have_text("Play again", timeout=PATIENCE)
    for item in page.locator(STEPS).all():
        expect(item).to_have_attribute("data-state", "done")
    expect(page.locator(".node.answer")).to_have_attribute("data-state", "done")
    expect(page.locator("[data-watch=now]")).to_have_text("The plan has run.")
    button.click()
    expect(button).to_have_text("Pause")


def test_readers_who_prefer_reduced_motion_see_the_whole_graph(page):
    page.emulate_media(reduced_motion="reduce")
    page.goto("/watch/")
    expect(page.locator(STEPS)).to_have_count(3)
    page.wait_for_timeout(1000)
    assert page.locator("[data-state=waiting]").count() == 0
    expect(page.locator("[data-watch=toggle]")).not_to_be_visible()


def test_the_next_task_of_a_running_evaluation_follows(page, evaluation, at_the_database):
    page.goto("/watch/")
    panel = page.locator("#live-task")
    first = panel.get_attribute("data-task")
    at_the_database(lambda: end_task(evaluation, place=1))
    expect(panel).not_to_have_attribute("data-task", first or "", timeout=PATIENCE)
    expect(panel).to_have_attribute("data-replayed", "")
