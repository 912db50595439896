"""A browser follows an evaluation: by events, and by asking where these are refused, break or never come."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.asgi import get_asgi_application
from django.db import connection
from playwright.sync_api import Page, Route, expect, sync_playwright

from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.states import NewResult, announce
from leaderboard.queue.shards import add_shards
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user
from tests.leaderboard.serving import server
from tests.run import find_browser

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 30_000
"""Milliseconds: a page asks every four seconds, and after fifteen seconds of silence."""
_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifted += entry.value; })
  .observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture
def page(settings, tmp_path: Path) -> Iterator[Page]:
    """A page of a browser on a site that is served for real."""
    settings.STATIC_ROOT = tmp_path
    settings.WHITENOISE_USE_FINDERS = True
    # Playwright runs an event loop in this thread, in which Django would not ask the database.
    with server(get_asgi_application()) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        shown = browser.new_context(base_url=url).new_page()
        shown.add_init_script(_SHIFTS)
        yield shown
        browser.close()


@pytest.fixture
def at_the_database() -> Iterator[Callable[..., object]]:
    """Calls a function in another thread, which may ask the database, and waits for it."""

    def closing(do: Callable[[], object]) -> object:
        try:
            return do()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as pool:
        yield lambda do: pool.submit(closing, do).result()


def make_running() -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state="running")


def end_tasks(evaluation: Evaluation, *keys: str) -> None:
    """Results as a worker's call leaves them."""
    for task in Task.objects.filter(suite=evaluation.suite, key__in=keys):
        TaskResult.objects.create(
            evaluation=evaluation, task=task, outcome="scored", score=0.5, seconds=1.0, plan_summary="Image Denoising"
        )
    announce(evaluation_id=evaluation.pk, results=[NewResult(task=key, outcome="scored", score=0.5) for key in keys])


def refuse(route: Route) -> None:
    route.fulfill(status=503, body="")


def break_off(route: Route) -> None:
    route.fulfill(status=200, headers={"Content-Type": "text/event-stream"}, body=": gone\n\n")


def cut_the_line(route: Route) -> None:
    route.abort()


@pytest.mark.parametrize(
    "harm", [None, refuse, break_off, cut_the_line], ids=lambda harm: getattr(harm, "__name__", "")
)
def test_counters_bar_and_the_last_tasks_follow_whatever_becomes_of_the_stream(page: Page, at_the_database, harm):
    running = at_the_database(make_running)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/progress/") else None)
    if harm is not None:
        page.route("**/events/", harm)
    page.goto(f"/evaluations/{running.pk}/")
    at_the_database(lambda: end_tasks(running, "0", "1"))
    expect(page.locator("[data-live=done]")).to_have_text("2", timeout=PATIENCE)
    expect(page.locator("[data-live=latest] li").first).to_contain_text("Task 1", timeout=PATIENCE)
    expect(page.locator("[data-live-outcome=scored]")).to_have_text("2")
    assert page.locator("#live progress").evaluate("bar => bar.value") == 2
    expect(page.locator("#results tbody tr").first).to_contain_text("Scored", timeout=PATIENCE)
    assert (not asked) == (harm is None), "who has the events asks for nothing"
    assert page.evaluate("window.shifted") < 0.05


def test_an_end_that_is_only_learned_by_asking_shows_the_whole_page_anew(page: Page, at_the_database):
    running = at_the_database(make_running)
    page.route("**/events/", refuse)
    page.clock.install()
    page.goto(f"/evaluations/{running.pk}/")
    expect(page.locator("[data-live=state]")).to_have_text("Running")
    at_the_database(lambda: Evaluation.objects.filter(pk=running.pk).update(state="on_hold"))
    expect(page.locator("[data-live=state]")).to_have_text("On hold", timeout=PATIENCE)
    expect(page.locator("#live[data-progress]")).to_have_count(0)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(2):
        page.clock.fast_forward(60_000)
    page.evaluate("fetch('/health/live')")
    assert [url.partition("/health")[1] for url in asked] == ["/health"], "what has ended is not followed"


def test_a_site_that_cannot_be_reached_is_said_until_it_can(page: Page, at_the_database):
    running = at_the_database(make_running)
    page.goto(f"/evaluations/{running.pk}/")
    page.route("**/events/", cut_the_line)
    page.route("**/progress/", cut_the_line)
    page.reload()
    said = page.locator("[data-live=interrupted]")
    expect(said).to_contain_text("cannot reach the site", timeout=PATIENCE)
    page.unroute("**/progress/")
    expect(said).to_be_empty(timeout=PATIENCE)


def test_a_quarter_is_read_out_and_single_tasks_are_not(page: Page, at_the_database):
    running = at_the_database(make_running)
    page.goto(f"/evaluations/{running.pk}/")
    said = page.locator("[data-live=said]")
    at_the_database(lambda: end_tasks(running, "0"))
    expect(page.locator("[data-live=done]")).to_have_text("1", timeout=PATIENCE)
    expect(said).to_be_empty()
    at_the_database(lambda: end_tasks(running, *map(str, range(1, 60))))
    expect(said).to_have_text("A quarter of the tasks has ended.", timeout=PATIENCE)


def test_a_place_in_the_queue_is_not_shown_beside_running(page: Page, at_the_database):
    def wait_in_queue() -> Evaluation:
        evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state="launching")
        add_shards(evaluation=evaluation, shards=[["0"]])
        return evaluation

    def run(evaluation: Evaluation) -> None:
        Evaluation.objects.filter(pk=evaluation.pk).update(state="running")
        announce(evaluation_id=evaluation.pk)

    waiting = at_the_database(wait_in_queue)
    page.goto(f"/evaluations/{waiting.pk}/")
    expect(page.locator("[data-live=waiting]")).to_contain_text("Next in the queue.")
    at_the_database(lambda: run(waiting))
    expect(page.locator("[data-live=state]")).to_have_text("Running", timeout=PATIENCE)
    expect(page.locator("[data-live=waiting]")).to_be_empty(timeout=1_000)


def test_who_cancels_sees_which_tasks_had_ended(page: Page, at_the_database):
    running = at_the_database(make_running)
    at_the_database(lambda: end_tasks(running, "0", "1"))
    page.goto("/accounts/login/")
    page.get_by_label("Login").fill("ada")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"/evaluations/{running.pk}/")
    page.locator("summary", has_text="Cancel").click()
    page.locator("details[open]").get_by_role("button").click()
    expect(page.locator("[data-live=state]")).to_have_text("Cancelled", timeout=PATIENCE)
    expect(page.locator("[data-live=done]")).to_have_text("2")
    expect(page.locator("[data-live-outcome=cancelled]")).to_have_text("183")
    expect(page.locator("#results tbody tr").nth(2)).to_contain_text("Cancelled")
    expect(page.locator("#results").get_by_text("Waiting")).to_have_count(0)
