"""Forms of planners in a real browser: checked as one types, without losing the focus or moving anything."""

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from evaluator.planners.language_models.chat.trial_server import ServerSettings, serving
from tests.end_to_end.arena import Arena
from tests.leaderboard.planners.servers import TOKEN, guarded

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]
WATCH_SHIFTS = """() => { window.shifts = 0; new PerformanceObserver(
    list => { for (const entry of list.getEntries()) window.shifts += entry.value; }
  ).observe({type: "layout-shift", buffered: false}); }"""


@pytest.fixture
def form(arena: Arena, page: Page) -> Page:
    page.goto(f"{arena.url}/accounts/signup/?next=/submit/")
    page.get_by_label("Username").fill(f"typist-{secrets.token_hex(4)}")
    page.get_by_label("Password", exact=True).fill("an analytical engine")
    page.get_by_label("Password (again)").fill("an analytical engine")
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("link", name="Sign out")).to_be_visible()
    page.goto(f"{arena.url}/submit/")
    page.get_by_role("link", name="An HTTP endpoint").click()
    return page


def test_the_form_is_checked_as_one_types_and_an_endpoint_is_tested_before_it_is_submitted(form: Page):
    form.evaluate(WATCH_SHIFTS)
    address = form.get_by_label("Address")
    below = form.get_by_label("Name on the board")
    before = below.bounding_box()
    address.click()
    form.keyboard.type("ftp://example.org/", delay=30)
    told = form.locator("#id_endpoint_url_status")
    expect(told).to_have_text("The address must begin with http:// or https://.")
    expect(address).to_be_focused()
    expect(address).to_have_value("ftp://example.org/")
    expect(address).to_have_attribute("aria-invalid", "true")
    assert below.bounding_box() == before, "nothing moves when a message comes"
    assert form.evaluate("window.shifts") == 0

    with guarded() as asked:
        address.fill(asked.url)
        expect(told).to_contain_text("Allowed; checked again at each call.")
        expect(address).not_to_have_attribute("aria-invalid", "true")
        form.get_by_role("button", name="Test the endpoint").click()
        trial = form.locator("#endpoint-test")
        expect(trial).to_contain_text("HTTP 401")
        form.get_by_text("Timeout and secret header").click()
        form.get_by_label("Name of the header").fill("Authorization")
        form.get_by_label("Value of the header").fill(TOKEN)
        form.get_by_role("button", name="Test the endpoint").click()
        expect(trial).to_contain_text("Correct: the reference plan of this task.")
        expect(trial).to_contain_text("Parsed as a plan with 1 step")
        assert TOKEN.split()[1] not in form.content()
    assert form.url.endswith("/submit/endpoint/")
    assert form.problems == []


def open_form(page: Page, arena: Arena, kind: str) -> None:
    """From the page of kinds, which `kind` names."""
    page.goto(f"{arena.url}/submit/")
    page.get_by_role("link", name=kind).click()


def submit_as(page: Page, name: str) -> None:
    page.get_by_label("Name on the board").fill(name)
    page.get_by_role("main").get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(re.compile(r"/evaluations/[0-9a-f-]{36}/"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_chat_endpoint_is_tested_and_submitted(arena: Arena, form: Page):
    open_form(form, arena, "A chat endpoint")
    with serving(ServerSettings(latency_seconds=0.0, answer="[]")) as url:
        form.get_by_label("Address of the endpoint").fill(url)
        form.get_by_label("Model", exact=True).fill("my-model")
        form.get_by_label("Strategy", exact=True).select_option("openagi/zero-shot")
        form.get_by_role("button", name="Test the endpoint").click()
        trial = form.locator("#endpoint-test")
        # The strategy is asked in a process of its own, which takes a while to start on a busy machine.
        expect(trial).to_contain_text("Empty plan: the endpoint answers, but its plan has no steps.", timeout=30_000)
        submit_as(form, "talker")
    assert form.problems == []
