"""The submit form in a real browser: checked as one types, without losing the focus or moving anything."""

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.arena import Arena
from tests.leaderboard.planners.servers import TOKEN, guarded

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
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
        expect(told).to_contain_text("This address is allowed.")
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
    assert form.url.endswith("/submit/")
    assert form.problems == []


def test_only_the_fields_of_the_chosen_kind_are_seen_and_a_strategy_that_does_not_fit_is_told(form: Page):
    for kind, field in {
        "A Hugging Face model": "Model",
        "A checkpoint of mine": "Checkpoint",
        "A file with plans": "Plans file",
    }.items():
        form.get_by_label(kind).check()
        expect(form.get_by_label(field, exact=True)).to_be_visible()
        expect(form.get_by_label("Address")).to_be_hidden()
    form.get_by_label("A chat endpoint").check()
    for field in ("Address of the endpoint", "Model", "Strategy"):
        expect(form.get_by_label(field, exact=True)).to_be_visible()
    expect(form.get_by_role("button", name="Test the endpoint")).to_be_visible()
    form.get_by_label("Strategy", exact=True).select_option("openagi/constrained")
    expect(form.locator("#id_strategy_status")).to_contain_text("needs the probabilities of tokens")
    form.get_by_label("A planner that comes with PlanArena").check()
    form.get_by_label(re.compile("^controlllm/adaptive")).check()
    expect(form.locator("#id_suites_status")).to_contain_text("does not support requests of openagi")
    assert form.problems == []


def test_without_scripts_a_kind_is_chosen_and_its_errors_lead_to_their_fields(browser, arena: Arena, form: Page):
    context = browser.new_context(java_script_enabled=False, storage_state=form.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{arena.url}/submit/?kind=plans")
    plain.get_by_role("button", name="Submit", exact=True).click()
    expect(plain.locator("#id_plans_file_status")).to_have_text("Choose the file with your plans.")
    plain.get_by_role("alert").get_by_role("link", name="Plans file").click()
    assert plain.url.endswith("#id_plans_file")
    context.close()
