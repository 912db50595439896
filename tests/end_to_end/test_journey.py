"""A researcher in a real browser: sign up, submit an endpoint, watch it finish, read why a task was lost."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.arena import Arena, runnable_count
from tests.end_to_end.endpoints import example, serving

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]
PASS_PHRASE = "an analytical engine"
LOST = "5"


WRONG = {
    "steps": [
        {"id": "s1", "tool": "Image Classification", "inputs": {"image": "$image"}, "outputs": {"text": "s1.text"}},
        {"id": "s2", "tool": "Colorization", "inputs": {"image": "s1.text"}, "outputs": {"image": "s2.image"}},
    ],
    "answers": ["s2.image"],
}
"""Classifies an image and colours the answer."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The repository's example, but for one task."""
    module = example()
    right = module.make_plan
    module.make_plan = lambda request: WRONG if request["task"]["id"] == LOST else right(request)
    with serving(module.Handler) as url:
        yield url


def sign_up(page: Page, arena: Arena, name: str) -> None:
    page.goto(f"{arena.url}/accounts/signup/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASS_PHRASE)
    page.get_by_label("Password (again)").fill(PASS_PHRASE)
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("link", name="Sign out")).to_be_visible()


def sign_in(page: Page, arena: Arena, name: str) -> None:
    page.goto(f"{arena.url}/accounts/logout/")
    page.get_by_role("main").get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Login").fill(name)
    page.get_by_label("Password").fill(PASS_PHRASE)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Sign out")).to_be_visible()


def test_sign_up_submit_an_endpoint_watch_it_finish_and_read_why_a_task_was_lost(arena, page, endpoint):
    sign_up(page, arena, "ada")
    sign_in(page, arena, "ada")

    page.goto(f"{arena.url}/submit/")
    page.get_by_role("link", name="An HTTP endpoint").click()
    page.get_by_label("Address").fill(endpoint)
    page.get_by_label("Name on the board").fill("word-reader")
    page.get_by_role("checkbox", name=re.compile(r"^OpenAGI \(released list\)(?!, step by step)")).check()
    page.get_by_role("main").get_by_role("button", name="Submit").click()

    expect(page).to_have_url(re.compile(r"/evaluations/[0-9a-f-]{36}/"))
    expect(page.get_by_role("heading", level=1)).to_have_text("word-reader")
    # Nothing is reloaded by hand: the page follows the evaluation by server-sent events.
    expect(page.locator("[data-live='state']")).to_have_text("Completed", timeout=180_000)
    expect(page.locator("#results tbody tr").first).to_be_visible()
    evaluation = page.url

    page.get_by_role("link", name=re.compile(r"^25\b")).first.click()
    expect(page.get_by_text("Given noisy blurry grayscale image").first).to_be_visible()
    images = page.locator("main img")
    expect(images.first).to_be_visible()
    assert images.count() >= 2 * 4
    # Images below the fold load late; `decode` waits for each, and rejects one that cannot be shown.
    images.evaluate_all("found => Promise.all(found.map(image => { image.loading = 'eager'; return image.decode(); }))")

    page.goto(evaluation)
    page.get_by_role("region", name="Why below gold").get_by_role("link", name=f"Task {LOST}", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(rf"Task {LOST}\b"))
    expect(page.get_by_text('input "image" is text').first).to_be_visible()
    graph = page.get_by_role("region", name="The plan as a graph")
    expect(graph.locator(".node.failing")).to_contain_text("Colorization")
    expect(page.get_by_role("region", name="The gold plan as a graph")).to_be_visible()

    page.goto(f"{arena.url}/boards/openagi/")
    expect(page.get_by_role("link", name="word-reader", exact=True).first).to_be_visible()
    expect(page.get_by_text(f"{runnable_count()} of 185").first).to_be_visible()
    assert page.problems == []
