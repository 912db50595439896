"""A researcher in a real browser: sign up, submit an endpoint, watch it finish, read why a task was lost."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.arena import Arena, runnable_count
from tests.end_to_end.endpoints import Misbehaving, serving
from tests.processes import ROOT

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]
PICTURES = ROOT / "test-output" / "journeys"
PASS_PHRASE = "an analytical engine"
LOST = "5"


class NearlyRight(Misbehaving):
    """The repository's example, but for one task, whose plan classifies an image and colours the answer."""

    WRONG = {LOST: Misbehaving.WRONG[LOST]}
    LATE = UNAVAILABLE = ""


@pytest.fixture
def endpoint() -> Iterator[str]:
    with serving(NearlyRight) as url:
        yield url


def picture(page: Page, name: str) -> None:
    """Keep a picture of the page in light and dark, for people to look at."""
    Path(PICTURES).mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True, caret="initial")
    page.emulate_media(color_scheme="light")


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
    picture(page, "evaluation")
    evaluation = page.url

    page.get_by_role("link", name=re.compile(r"^25\b")).first.click()
    expect(page.get_by_text("Given noisy blurry grayscale image").first).to_be_visible()
    images = page.locator("main img")
    expect(images.first).to_be_visible()
    assert images.count() >= 2 * 4
    # Images below the fold load late; `decode` waits for each, and rejects one that cannot be shown.
    images.evaluate_all("found => Promise.all(found.map(image => { image.loading = 'eager'; return image.decode(); }))")
    picture(page, "task-won")

    page.goto(evaluation)
    page.get_by_role("region", name="What went wrong").get_by_role("link", name="1 task").click()
    page.locator("#results tbody").get_by_role("link", name=re.compile(rf"^{LOST}\b")).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(rf"Task {LOST}\b"))
    expect(page.get_by_text('input "image" is text').first).to_be_visible()
    graph = page.get_by_role("region", name="The plan as a graph")
    expect(graph.locator(".node.failing")).to_contain_text("Colorization")
    expect(page.get_by_role("region", name="The gold plan as a graph")).to_be_visible()
    picture(page, "task-lost")

    page.goto(f"{arena.url}/boards/openagi/")
    expect(page.get_by_role("link", name="word-reader", exact=True).first).to_be_visible()
    expect(page.get_by_text(f"{runnable_count()} of 185").first).to_be_visible()
    picture(page, "board")
    assert page.problems == []


def test_a_malformed_form_names_the_field_and_keeps_what_was_entered(arena, page):
    sign_up(page, arena, "grace")
    page.goto(f"{arena.url}/submit/")
    page.get_by_role("link", name="An HTTP endpoint").click()
    page.get_by_label("Address").fill("ftp://example.org/")
    page.get_by_label("Name on the board").fill("wrong")
    page.get_by_role("checkbox", name=re.compile(r"^OpenAGI \(released list\)(?!, step by step)")).check()
    with page.expect_response(re.compile("/submit/endpoint/$")) as answered:
        page.get_by_role("main").get_by_role("button", name="Submit").click()
    assert answered.value.status == 400
    expect(page.get_by_text("The address must begin with http:// or https://.")).to_be_visible()
    expect(page.get_by_label("Name on the board")).to_have_value("wrong")
