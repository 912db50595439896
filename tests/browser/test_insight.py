"""What a reader finds out: why tasks are below the gold score, what a suite measures, and how to go on in the docs."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import NARROW, WIDE, Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]
LOADED = """image => {
  image.loading = "eager";
  return image.decode().then(() => image.naturalWidth > 0);
}"""
INSIDE = "block => block.scrollWidth > block.clientWidth && getComputedStyle(block).overflowX === 'auto'"


@pytest.fixture
def looker(lookers: tuple[Looker, Looker]) -> Looker:
    return lookers[0]


def opened(looker: Looker, address: str, *, width: int = WIDE) -> Page:
    assert not looker.open(address, session=None, width=width)
    return looker.page


def test_a_bar_of_an_evaluation_leads_to_its_tasks_and_each_says_why(looker: Looker, site: Site):
    page = opened(looker, f"/evaluations/{site.things['on_hold']}/")
    bar = page.locator(".cause-bars a", has_text="Type conflict")
    expect(bar).to_contain_text("2 tasks")
    bar.click()
    expect(page).to_have_url(re.compile(r"\?why=type_conflict#results$"))
    tasks = page.locator("#results tbody tr")
    expect(tasks).to_have_count(2)
    tasks.first.get_by_role("link").first.click()
    why = page.get_by_role("region", name="Why below the gold score")
    expect(why.get_by_role("link", name="Type conflict")).to_be_visible()
    expect(why.get_by_text("Colorization takes image")).to_be_visible()


def test_a_board_compares_the_causes_of_its_planners(looker: Looker, site: Site):
    page = opened(looker, "/boards/toolmini/")
    page.get_by_role("link", name="Causes", exact=True).click()
    first = page.get_by_role("region", name="Planners by cause").locator("tbody tr").first
    expect(first).to_contain_text("3 of 120")
    first.locator("td a").first.click()
    expect(page).to_have_url(re.compile(rf"/evaluations/{site.things['clumsy']}/\?why=\w+#results$"))
    expect(page.locator("#results tbody tr")).to_have_count(1)


def test_an_empty_board_leads_to_what_its_suite_measures(looker: Looker):
    page = opened(looker, "/boards/tool100/")
    page.get_by_role("link", name="About the suite").click()
    expect(page.get_by_role("heading", name="What it measures")).to_be_visible()


def test_a_suite_shows_its_tasks_tools_data_and_datasheet(looker: Looker):
    page = opened(looker, "/boards/toolworld/")
    page.get_by_role("link", name="About the suite").click()
    expect(page.locator("dl.pairs dt").first).to_have_text("Score")
    page.get_by_role("searchbox", name="Search tasks").fill("pink circle")
    page.get_by_role("searchbox", name="Search tasks").press("Enter")
    expect(page).to_have_url(re.compile(r"q=pink(\+|%20)circle"))
    expect(page.locator("#results tbody tr").first).to_contain_text("pink circle")
    page.goto(f"{looker.origin}/suites/toolworld/")
    page.get_by_role("link", name=re.compile(r"^unsolved by all \d+$")).click()
    expect(page.locator("#results tbody tr").first).to_contain_text("0 of 1")
    expect(page.get_by_text("(text: text) → title: title")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("sample 1$")).first).to_be_visible()
    page.get_by_text("Motivation, composition, collection").click()
    expect(page.get_by_role("heading", name="Collection process")).to_be_visible()


def test_a_score_is_the_same_on_a_board_on_the_page_of_its_evaluation_and_in_json(looker: Looker):
    page = opened(looker, "/boards/toolmini/")
    rows = page.request.get(f"{looker.origin}/api/v1/boards/toolmini/").json()["content"]["rows"]
    names = page.locator("table.data tbody:not(.reported) .planner-name")
    scores = page.locator("table.data tbody:not(.reported) .primary-column .value").all_inner_texts()
    addresses = [name.get_attribute("href") for name in names.all()]
    assert scores == [f"{row['metrics']['SE']['mean']:.3f}" for row in rows]
    for address, score in zip(addresses, scores, strict=True):
        page.goto(f"{looker.origin}{address}")
        expect(page.locator(".metric-card.is-primary")).to_contain_text(score)


def test_the_documentation_leads_from_a_first_evaluation_to_a_runbook(looker: Looker):
    page = opened(looker, "/docs/")
    menu = page.get_by_role("navigation", name="Documentation")
    menu.get_by_role("link", name="First evaluation").click()
    pictures = page.locator("main img")
    assert pictures.count() >= 1
    assert all(image.evaluate(LOADED) for image in pictures.all())
    for chapter, heading in (
        ("Concepts", "What is evaluated"),
        ("Troubleshooting", "Troubleshooting"),
        ("The command line", "planarena submit"),
        ("Why a score is below the top", "Why a score is below the top"),
    ):
        menu.get_by_role("link", name=chapter, exact=True).click()
        expect(page.get_by_role("heading", name=heading).first).to_be_visible()
    menu.get_by_role("link", name="Runbook", exact=True).click()
    expect(page.get_by_role("heading", level=2).first).to_be_visible()


def test_code_is_coloured_and_scrolls_inside_its_box_on_a_phone(looker: Looker):
    page = opened(looker, "/docs/ci/", width=NARROW)
    assert page.locator(".code-block span[class]").count() > 0
    assert any(block.evaluate(INSIDE) for block in page.locator(".code-block pre").all())
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
